"""A request's text as a function gets it, and how what is wrong with it is named."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from job_retry import bodies
from job_retry.api import body_text
from job_retry.errors import InvalidFieldError, InvalidJsonError, MediaTypeError
from job_retry.names import readable
from job_retry.schemas.claim import ClaimBody
from job_retry.schemas.lists import ListQuery
from local.events import Request, http_event

JSON = ("Content-Type", "application/json")


def text_of(event: dict[str, Any]) -> str:
    """Return the body that a function reads of an event."""
    app = APIGatewayHttpResolver()
    app.current_event = APIGatewayProxyEventV2(event)
    return body_text(app, 1000)


def event_of(body: bytes, *headers: tuple[str, str]) -> dict[str, Any]:
    """Return what API Gateway makes of a body."""
    return http_event(
        Request(
            method="POST",
            path="/jobs",
            query="",
            headers=list(headers),
            body=body,
            route="POST /jobs",
        )
    )


def length(body: bytes) -> tuple[str, str]:
    """Return the header that tells a body's length."""
    return ("Content-Length", str(len(body)))


# -- what API Gateway mended ---------------------------------------------------------------

# after which comes U+FFFD in their place
NO_UTF8 = [b"a\xffb", b"\xc3", b"\xc3(", b"\xe2\x82", b"\xf0\x9f(", b"\x80\x80", b"\xed\xa0\x80"]


@pytest.mark.parametrize("junk", NO_UTF8, ids=repr)
@pytest.mark.parametrize("around", ['{"a":"%s"}', '{"\ufffd":"%s\ufffdé"}'])
def test_bytes_that_are_no_utf8_are_refused(junk: bytes, around: str) -> None:
    body = around.encode().replace(b"%s", junk)
    event = event_of(body, JSON, length(body))
    assert "\ufffd" in event["body"]
    with pytest.raises(InvalidJsonError, match="not UTF-8"):
        text_of(event)


@pytest.mark.parametrize("text", ['{"a":"\ufffd"}', '{"\ufffdé":["🎉\ufffd"]}'])
def test_a_replacement_character_that_was_sent_is_no_fault(text: str) -> None:
    body = text.encode()
    assert text_of(event_of(body, JSON, length(body))) == text


def test_an_event_made_by_hand_may_have_half_a_character() -> None:
    event = event_of(b"{}", JSON, ("Content-Length", "14")) | {"body": '{"a":"\ufffd\ud800"}'}
    assert text_of(event) == event["body"]
    with pytest.raises(InvalidJsonError, match="not UTF-8"):
        text_of(event | {"headers": {**event["headers"], "content-length": "13"}})


@pytest.mark.parametrize("headers", [[], [("Content-Length", "")], [("Content-Length", "x")]])
def test_without_a_length_nothing_can_be_said(headers: list[tuple[str, str]]) -> None:
    assert text_of(event_of(b'{"a":"\xff"}', JSON, *headers)) == '{"a":"\ufffd"}'


def test_the_length_counts_only_where_something_may_have_been_mended() -> None:
    assert text_of(event_of(b'{"a":"b"}', JSON, ("Content-Length", "5"))) == '{"a":"b"}'


def test_what_came_as_bytes_is_read_as_bytes() -> None:
    event = event_of('{"a":"\ufffd"}'.encode(), ("Content-Length", "5"))
    assert event["isBase64Encoded"]
    assert text_of(event) == '{"a":"\ufffd"}'
    with pytest.raises(InvalidJsonError, match="not UTF-8"):
        text_of({**event, "body": base64.b64encode(b'{"a":"\xff"}').decode()})


def test_another_encoding_is_told_by_its_name() -> None:
    body = b'{"a":"\xe9"}'
    latin = ("Content-Type", "application/json; charset=iso-8859-1")
    with pytest.raises(MediaTypeError):
        text_of(event_of(body, latin, length(body)))


# -- names -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a", "a"),
        ("é🎉", "é🎉"),
        (" ", " "),
        ("", '""'),
        ("\ud800", r'"\ud800"'),
        ("é\udfff", r'"\u00e9\udfff"'),
    ],
)
def test_an_unknown_member_is_named(name: str, shown: str) -> None:
    assert readable(name) == shown
    with pytest.raises(InvalidFieldError) as refused:
        bodies.query_from({name: 1, "x": 1, "max_jobs": 0}, ClaimBody)
    assert {each for each, _ in refused.value.fields} == {shown, "x", "max_jobs"}
    with pytest.raises(InvalidFieldError) as refused:
        bodies.query_from({name: "1"}, ListQuery)
    assert refused.value.field == shown
    assert str(refused.value).startswith(f"{shown}: ")
