"""The samples in events/ are complete events of routes and schedules that the template has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import pytest

from local.template import REPOSITORY, read_functions, read_routes
from tests.template.stack import folder_of, resources

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = sorted((REPOSITORY / "events").glob("*/*.json"))
# Where a sample needs the id or the lease of a job that is there, it has one of these words.
PLACEHOLDERS = {"JOB_ID", "LEASE_TOKEN"}
PARAMETERS = {"job_id": "JOB_ID", "queue": "default"}


def sample_id(path: Path) -> str:
    """Return a sample's function and case."""
    return f"{path.parent.name}-{path.stem}"


def read(path: Path) -> dict[str, Any]:
    """Return a sample."""
    event: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return event


HTTP_EVENTS = [path for path in EVENTS if path.parent.name != "expire_leases"]


def test_every_function_has_a_sample(template: dict[str, Any]) -> None:
    functions = resources(template, "AWS::Serverless::Function").values()
    assert {path.parent.name for path in EVENTS} == {folder_of(one) for one in functions}


def test_both_spellings_are_shown() -> None:
    prefixed = [path for path in HTTP_EVENTS if read(path)["rawPath"].startswith("/api:job-retry/")]
    assert prefixed
    assert len(prefixed) < len(HTTP_EVENTS)


@pytest.mark.parametrize("path", HTTP_EVENTS, ids=sample_id)
def test_a_sample_is_of_a_route_of_its_function(template: dict[str, Any], path: Path) -> None:
    functions = {
        name: function.source.parent.name for name, function in read_functions(template).items()
    }
    routes = {
        f"{route.method} {route.path}"
        for route in read_routes(template)
        if functions[route.function] == path.parent.name
    }
    assert read(path)["routeKey"] in routes


@pytest.mark.parametrize("path", HTTP_EVENTS, ids=sample_id)
def test_a_sample_agrees_with_itself(path: Path) -> None:
    event = read(path)
    method, route = event["routeKey"].split()
    assert event["version"] == "2.0"
    parameters = {name: value for name, value in PARAMETERS.items() if f"{{{name}}}" in route}
    assert event["rawPath"] == route.format(**parameters)
    assert event.get("pathParameters", {}) == parameters
    assert dict(parse_qsl(event["rawQueryString"])) == event.get("queryStringParameters", {})
    context = event["requestContext"]
    assert context["http"]["method"] == method
    assert context["http"]["path"] == event["rawPath"]
    assert context["routeKey"] == event["routeKey"]
    assert context["stage"] == "$default"
    assert event["isBase64Encoded"] is False
    if "body" in event:
        assert json.loads(event["body"].replace("JOB_ID", "1"))
        assert event["headers"]["content-type"] == "application/json"
        assert event["headers"]["content-length"] == str(len(event["body"].encode()))


@pytest.mark.parametrize("path", HTTP_EVENTS, ids=sample_id)
def test_what_must_be_replaced_is_a_known_word(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    words = {word for word in PLACEHOLDERS if word in text}
    event = read(path)
    in_path = "job_id" in event.get("pathParameters", {})
    in_body = event["routeKey"].endswith(("/jobs/complete", "/jobs/fail"))
    assert ("JOB_ID" in words) == (in_path or in_body)
    assert ("LEASE_TOKEN" in words) == ("lease_token" in event.get("body", ""))


def test_the_schedule_sample_is_what_eventbridge_sends() -> None:
    event = read(REPOSITORY / "events/expire_leases/every_minute.json")
    assert event["source"] == "aws.events"
    assert event["detail-type"] == "Scheduled Event"
