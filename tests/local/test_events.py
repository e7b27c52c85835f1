"""Requests as events, and results as responses."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from local.events import Request, http_event, http_response, scheduled_event


def event_of(**changes: Any) -> dict[str, Any]:
    request: dict[str, Any] = {
        "method": "POST",
        "path": "/jobs/7",
        "query": "",
        "headers": [("Content-Type", "application/json")],
        "body": b"",
        "route": "POST /jobs/{job_id}",
    }
    return http_event(Request(**request | changes))


def test_the_parts_of_a_request() -> None:
    event = event_of(path_parameters={"job_id": "7"}, body=b"{}")
    assert event["version"] == "2.0"
    assert event["routeKey"] == event["requestContext"]["routeKey"] == "POST /jobs/{job_id}"
    assert event["rawPath"] == event["requestContext"]["http"]["path"] == "/jobs/7"
    assert event["requestContext"]["http"]["method"] == "POST"
    assert event["requestContext"]["stage"] == "$default"
    assert event["pathParameters"] == {"job_id": "7"}
    assert event["body"] == "{}"
    assert event["isBase64Encoded"] is False


def test_what_a_request_has_not_is_left_out() -> None:
    event = event_of()
    assert not {"body", "cookies", "pathParameters", "queryStringParameters"} & set(event)
    assert event["rawQueryString"] == ""


def test_the_path_comes_decoded() -> None:
    assert event_of(path="/jobs/a%20b%2525")["rawPath"] == "/jobs/a b%25"


def test_a_repeated_query_parameter_is_joined() -> None:
    event = event_of(query="status=a&status=b&q=%C3%A9+1&empty=")
    assert event["rawQueryString"] == "status=a&status=b&q=%C3%A9+1&empty="
    assert event["queryStringParameters"] == {"status": "a,b", "q": "é 1", "empty": ""}


def test_headers_are_lowered_and_joined_and_cookies_stand_apart() -> None:
    event = event_of(headers=[("X-Two", "1"), ("x-two", "2"), ("Cookie", "a=1; b=2")])
    assert event["headers"] == {"x-two": "1,2"}
    assert event["cookies"] == ["a=1", "b=2"]


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/problem+json",
        "application/xml",
        "application/javascript",
        "text/plain",
    ],
)
def test_text_stays_text(content_type: str) -> None:
    event = event_of(headers=[("Content-Type", content_type)], body="é".encode())
    assert (event["body"], event["isBase64Encoded"]) == ("é", False)


@pytest.mark.parametrize(
    "headers", [[], [("Content-Type", "application/x-www-form-urlencoded")]], ids=["none", "form"]
)
def test_everything_else_is_base64(headers: list[tuple[str, str]]) -> None:
    event = event_of(headers=headers, body=b"\xff\x00")
    assert event["isBase64Encoded"] is True
    assert base64.b64decode(event["body"]) == b"\xff\x00"


def test_text_that_is_not_utf_8_is_still_an_event() -> None:
    assert event_of(body=b'{"\xff"')["body"] == '{"�"'


def test_a_full_result() -> None:
    response = http_response(
        {
            "statusCode": 201,
            "headers": {"Content-Type": "text/plain", "X-Number": 1},
            "cookies": ["a=1"],
            "body": "é",
        }
    )
    assert (response.status, response.body) == (201, "é".encode())
    assert response.headers == [
        ("Content-Type", "text/plain"),
        ("X-Number", "1"),
        ("set-cookie", "a=1"),
    ]


def test_a_base64_result() -> None:
    response = http_response({"statusCode": 200, "body": "//8=", "isBase64Encoded": True})
    assert response.body == b"\xff\xff"


@pytest.mark.parametrize(
    ("result", "body"), [({"a": 1}, b'{"a": 1}'), ("text", b"text"), (None, b"null")]
)
def test_any_other_result_is_the_body_of_a_success(result: object, body: bytes) -> None:
    response = http_response(result)
    assert (response.status, response.body) == (200, body)
    assert response.headers == [("content-type", "application/json")]


def test_a_schedule() -> None:
    event = scheduled_event("Often")
    assert (event["source"], event["detail-type"]) == ("aws.events", "Scheduled Event")
