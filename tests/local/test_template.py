"""The template reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from local.template import (
    TemplateError,
    load_template,
    read_functions,
    read_routes,
    read_schedules,
    resolve,
    table_definitions,
    time_to_live,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!Ref X", {"Ref": "X"}),
        ("!GetAtt X.Arn.More", {"Fn::GetAtt": ["X", "Arn.More"]}),
        ("!GetAtt [X, Arn]", {"Fn::GetAtt": ["X", "Arn"]}),
        ("!Sub '${X}'", {"Fn::Sub": "${X}"}),
        ("!If [C, !Ref A, {b: !Ref B}]", {"Fn::If": ["C", {"Ref": "A"}, {"b": {"Ref": "B"}}]}),
        ("!Condition C", {"Condition": "C"}),
        ("2012-10-17", "2012-10-17"),
        ("7", 7),
    ],
)
def test_tags_become_functions(tmp_path: Path, text: str, value: object) -> None:
    (tmp_path / "t.yaml").write_text(f"it: {text}")
    assert load_template(tmp_path / "t.yaml") == {"it": value}


def test_a_file_that_is_no_template_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("- a list")
    with pytest.raises(TemplateError, match="not a CloudFormation template"):
        load_template(tmp_path / "t.yaml")


def test_a_function_has_the_globals_and_its_own(template: dict[str, Any], project: Path) -> None:
    function = read_functions(template, project)["EchoFunction"]
    assert function.source == project / "echo/handler.py"
    assert function.attribute == "lambda_handler"
    assert function.timeout_seconds == 1
    assert function.environment == {
        "GREETING": "true",
        "TABLE": "Jobs",
        "FLAG": "true",
        "OWN": "here",
    }


def test_routes(template: dict[str, Any]) -> None:
    assert [(route.method, route.path, route.function) for route in read_routes(template)] == [
        ("POST", "/jobs/{job_id}", "EchoFunction"),
        ("POST", "/jobs/claim", "EchoFunction"),
        ("GET", "/api:job-retry/jobs", "EchoFunction"),
    ]


def test_schedules(template: dict[str, Any]) -> None:
    assert [(schedule.every_seconds, schedule.input) for schedule in read_schedules(template)] == [
        (300, None),
        (86400, "{}"),
    ]


def test_a_cron_schedule_is_refused(template: dict[str, Any]) -> None:
    events = template["Resources"]["EchoFunction"]["Properties"]["Events"]
    events["Often"]["Properties"]["Schedule"] = "cron(0 0 * * ? *)"
    with pytest.raises(TemplateError, match="rate"):
        read_schedules(template)


def test_tables_have_only_what_create_table_takes(template: dict[str, Any]) -> None:
    assert table_definitions(template) == {
        "Jobs": {
            "TableName": "Jobs",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        }
    }
    assert time_to_live(template) == {"Jobs": {"AttributeName": "expires_at", "Enabled": True}}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"Ref": "EchoFunction"}, "neither a parameter nor a table"),
        ({"Ref": "NoDefault"}, "no Default"),
        ({"Fn::Sub": "${Jobs}"}, "Fn::Sub"),
    ],
)
def test_what_only_a_deployment_knows_is_refused(
    template: dict[str, Any], value: dict[str, str], reason: str
) -> None:
    with pytest.raises(TemplateError, match=reason):
        resolve(template, {"somewhere": [value]})
