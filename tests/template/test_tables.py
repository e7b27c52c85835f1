"""The tables have the keys that the store relies on, and are kept safe."""

from __future__ import annotations

from typing import Any

import pytest

from tests.template.stack import evaluate, resources

TABLE = "AWS::DynamoDB::Table"


def keys(of: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the key attributes of a table or an index, with their parts."""
    return [(key["AttributeName"], key["KeyType"]) for key in of["KeySchema"]]


def types(table: dict[str, Any]) -> dict[str, str]:
    """Return the types of a table's key attributes."""
    return {
        definition["AttributeName"]: definition["AttributeType"]
        for definition in table["AttributeDefinitions"]
    }


def test_jobs_are_found_by_id_and_part(template: dict[str, Any]) -> None:
    jobs = resources(template, TABLE)["JobsTable"]
    assert keys(jobs) == [("id", "HASH"), ("part", "RANGE")]
    assert types(jobs) == {"id": "N", "part": "S", "status_lane": "S", "run_after": "N"}


def test_one_index_serves_claims_expiry_and_lists(template: dict[str, Any]) -> None:
    [index] = resources(template, TABLE)["JobsTable"]["GlobalSecondaryIndexes"]
    assert index["IndexName"] == "status-run_after-index"
    assert keys(index) == [("status_lane", "HASH"), ("run_after", "RANGE")]
    # Whatever more it held would be written again with each change of a job.
    assert index["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["job_type"]}


def test_the_stream_tells_what_a_job_has_become(template: dict[str, Any]) -> None:
    tables = resources(template, TABLE)
    assert tables["JobsTable"]["StreamSpecification"] == {"StreamViewType": "NEW_IMAGE"}
    assert "StreamSpecification" not in tables["ControlTable"]


def test_control_records_are_found_by_two_strings(template: dict[str, Any]) -> None:
    control = resources(template, TABLE)["ControlTable"]
    assert keys(control) == [("pk", "HASH"), ("sk", "RANGE")]
    assert types(control) == {"pk": "S", "sk": "S"}


@pytest.mark.parametrize("name", ["JobsTable", "ControlTable"])
def test_a_table_costs_nothing_idle_and_is_safe(template: dict[str, Any], name: str) -> None:
    table = resources(template, TABLE)[name]
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["SSESpecification"] == {"SSEEnabled": True}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert table["DeletionProtectionEnabled"] == {"Ref": "DeletionProtection"}
    # A name would keep CloudFormation from replacing it, and two stacks from standing side by side.
    assert "TableName" not in table
    assert template["Resources"][name]["UpdateReplacePolicy"] == "Retain"
    assert template["Resources"][name]["DeletionPolicy"] == "RetainExceptOnCreate"


def test_alarms_tell_the_topic_only_when_there_is_one(template: dict[str, Any]) -> None:
    alarms = resources(template, "AWS::CloudWatch::Alarm")
    assert alarms
    for name, alarm in alarms.items():
        assert "AlarmActions" not in evaluate(template, alarm), name
        told = evaluate(template, alarm, AlarmTopicArn="arn:topic")
        assert told["AlarmActions"] == ["arn:topic"], name


def test_the_alarms_together_stay_within_what_is_free(template: dict[str, Any]) -> None:
    watched = 0
    for alarm in resources(template, "AWS::CloudWatch::Alarm").values():
        metrics = [metric for metric in alarm.get("Metrics", []) if "MetricStat" in metric]
        watched += len(metrics) or 1
    assert watched <= 10
