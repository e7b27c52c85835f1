"""Signatures: whoever receives the request, and works out the signature anew, gets the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from boto3.session import Session
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import CredentialRetrievalError

from job_retry_client import JobQueueError, NoAnswerError, operations
from job_retry_client.transports.base import Request
from job_retry_client.transports.http import HttpTransport
from job_retry_client.transports.signing import iam_signature
from tests.client.server import Reply, ReplyingServer
from tests.client.signatures import SECRET, signature

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUESTS = [
    Request(operations.ENQUEUE, body='{"job_type":"é"}', idempotency_key="order  7, ~*'()"),
    Request(operations.GET, {"job_id": "7"}),
    Request(operations.CANCEL, {"job_id": "7"}),
    Request(operations.DELETE, {"job_id": "7"}),
    Request(operations.LIST, query={"cursor": "a+b/c==&%~*'é x", "Order": "asc", "a": ""}),
    Request(operations.SET_QUEUE, {"queue": "a b/c:..é"}, body="{}"),
    Request(operations.GET_QUEUE, {"queue": ".."}),
]


@pytest.fixture
def server() -> Iterator[ReplyingServer]:
    """A server that answers all with an empty object."""
    with ReplyingServer(Reply()) as running:
        yield running


def session(token: str | None = None) -> Session:
    """Return a session with credentials that open nothing."""
    return Session("ann", SECRET, token, region_name="eu-north-1")


@pytest.mark.parametrize("path", ["", "/api:job-retry", "/api%3ajob-retry", "/a%20b/"])
@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: each.operation.route)
def test_what_arrives_is_what_was_signed(
    server: ReplyingServer, path: str, request_: Request
) -> None:
    url = server.url + path
    HttpTransport(url, sign=iam_signature(session(), url=url)).send(request_)
    said, given, right = signature(server.received[0])
    assert given == right
    assert (said["key_id"], said["region"], said["service"]) == (
        "ann",
        "eu-north-1",
        "execute-api",
    )
    signed = set(said["signed"].split(";"))
    assert signed >= {"host", "x-amz-date"} | set(request_.headers)


def test_the_token_of_a_session_is_sent_and_signed(server: ReplyingServer) -> None:
    HttpTransport(server.url, sign=iam_signature(session("a/session+token=="))).send(REQUESTS[0])
    (received,) = server.received
    said, given, right = signature(received)
    assert given == right
    assert received.headers["x-amz-security-token"] == "a/session+token=="
    assert "x-amz-security-token" in said["signed"].split(";")


def test_a_host_on_its_usual_port_is_signed_without_it() -> None:
    sign = iam_signature(session())
    with_port = sign("GET", "https://API.example:443/jobs", None, {})
    assert (
        with_port["Authorization"]
        == sign("GET", "https://api.example/jobs", None, {})["Authorization"]
    )


@pytest.mark.parametrize(
    ("url", "region", "expected"),
    [
        ("https://abc123.execute-api.us-east-1.amazonaws.com", None, "us-east-1"),
        ("https://abc123.execute-api.cn-north-1.amazonaws.com.cn/x", None, "cn-north-1"),
        ("https://ABC123.Execute-API.us-gov-west-1.amazonaws.com/", None, "us-gov-west-1"),
        ("https://abc123.execute-api.us-east-1.amazonaws.com", "eu-west-1", "eu-west-1"),
        ("https://jobs.example", None, "eu-north-1"),
        ("https://abc123.execute-api.us-east-1.amazonaws.com.example", None, "eu-north-1"),
        ("https://jobs.example", "eu-west-1", "eu-west-1"),
    ],
)
def test_the_region_is_the_apis(url: str, region: str | None, expected: str) -> None:
    headers = iam_signature(session(), region, url)("GET", f"{url}/jobs", None, {})
    assert f"/{expected}/execute-api/" in headers["Authorization"]


def test_without_a_region_or_credentials_nothing_can_be_signed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(JobQueueError, match="region"):
        iam_signature(Session("ann", SECRET), url="https://jobs.example")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(JobQueueError, match="credentials"):
        iam_signature(Session(), "eu-west-1")


def test_credentials_are_asked_for_at_each_request(server: ReplyingServer) -> None:
    class Renewing:
        def __init__(self) -> None:
            self.names = iter(["first", "second"])

        def get_credentials(self) -> Renewing:
            return self

        def get_frozen_credentials(self) -> ReadOnlyCredentials:
            return ReadOnlyCredentials(next(self.names), SECRET, None)

    transport = HttpTransport(server.url, sign=iam_signature(Renewing(), "eu-west-1"))  # type: ignore[arg-type]
    for name in ("first", "second"):
        transport.send(REQUESTS[1])
        said, given, right = signature(server.received[-1])
        assert (said["key_id"], given) == (name, right)


def test_credentials_that_cannot_be_had_are_no_answer(server: ReplyingServer) -> None:
    class Unwilling:
        def get_credentials(self) -> Unwilling:
            return self

        def get_frozen_credentials(self) -> object:
            raise CredentialRetrievalError(provider="test", error_msg="the door is shut")

    sign = iam_signature(Unwilling(), "eu-west-1")  # type: ignore[arg-type]
    with pytest.raises(NoAnswerError, match="the door is shut") as error:
        HttpTransport(server.url, sign=sign).send(REQUESTS[0])
    assert not error.value.was_sent
    assert server.received == []
