"""Functions that are invoked: the event they get, and what can come back."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest
from boto3.session import Session

from job_retry_client import (
    JobQueue,
    NoAnswerError,
    NotAllowedError,
    QueueBusyError,
    Retries,
    ServerError,
    TooLargeError,
    operations,
)
from job_retry_client.transports.base import Request
from job_retry_client.transports.invoke import InvokeTransport
from local.workers import InvocationError
from tests.client.endpoint import STACK, lambda_endpoint
from tests.client.fakes import job
from tests.client.server import Received, Reply, ReplyingServer

if TYPE_CHECKING:
    from job_retry_client.transports.base import Answer

GET = Request(operations.GET, {"job_id": "7"})


def transport(url: str) -> InvokeTransport:
    """Return a transport to an endpoint."""
    return InvokeTransport(STACK, session=Session(region_name="eu-north-1"), endpoint_url=url)


def invoked(request: Request, outcome: Any) -> tuple[str, dict[str, Any], Answer]:
    """Return the function that a request calls, its event, and the answer."""
    calls = []

    def invoke(name: str, event: dict[str, Any]) -> Any:
        calls.append((name, event))
        return outcome

    with lambda_endpoint(invoke) as endpoint:
        answer = transport(endpoint.url).send(request)
    ((name, event),) = calls
    return name, event, answer


def refused(status: int, code: str, headers: dict[str, str] | None = None) -> ReplyingServer:
    """Return an endpoint that refuses all calls, as Lambda words it."""
    body = json.dumps({"Type": "User", "message": "no"}).encode()
    return ReplyingServer(Reply(status, body, {"x-amzn-ErrorType": code, **(headers or {})}))


# -- events ----------------------------------------------------------------------------


def test_the_event_is_that_of_an_http_api() -> None:
    request = Request(operations.ENQUEUE, body='{"job_type":"\\ud800é"}', idempotency_key="order 7")
    name, event, _ = invoked(request, {"statusCode": 201, "body": "{}"})
    assert name == "queue-enqueue-job"
    assert event["version"] == "2.0"
    assert event["routeKey"] == "POST /jobs"
    assert event["rawPath"] == event["requestContext"]["http"]["path"] == "/jobs"
    assert event["requestContext"]["http"]["method"] == "POST"
    assert event["requestContext"]["stage"] == "$default"
    assert event["headers"] == {"content-type": "application/json", "idempotency-key": "order 7"}
    assert (event["body"], event["isBase64Encoded"]) == (request.body, False)


def test_path_and_query_come_decoded() -> None:
    _, event, _ = invoked(GET, {"statusCode": 200, "body": "{}"})
    assert event["rawPath"] == "/jobs/7"
    assert event["pathParameters"] == {"job_id": "7"}
    assert event["body"] is None
    query = {"cursor": "a+b=&c", "order": "asc"}
    _, event, _ = invoked(Request(operations.LIST, query=query), {"statusCode": 200})
    assert event["queryStringParameters"] == query
    assert event["rawQueryString"] == "cursor=a%2Bb%3D%26c&order=asc"


# -- answers ---------------------------------------------------------------------------


def test_the_answer_is_the_functions() -> None:
    outcome: dict[str, Any] = {
        "statusCode": 429,
        "body": '{"a":"é"}',
        "headers": {"Retry-After": "1"},
    }
    _, _, answer = invoked(GET, outcome)
    assert (answer.status, answer.body, answer.retry_after_seconds) == (429, '{"a":"é"}', 1)
    for outcome in ({"statusCode": 204}, {"statusCode": 204, "body": None, "headers": None}):
        _, _, answer = invoked(GET, outcome)
        assert (answer.status, answer.body, answer.retry_after_seconds) == (204, "", None)


def test_a_function_that_fails_may_have_done_it() -> None:
    def fail(_name: str, _event: dict[str, Any]) -> Any:
        raise InvocationError("it ran for over 29 s")

    with lambda_endpoint(fail) as endpoint, pytest.raises(NoAnswerError, match="29 s") as error:
        transport(endpoint.url).send(GET)
    assert error.value.was_sent


@pytest.mark.parametrize("outcome", [None, "text", [], {}, {"errorMessage": "x"}])
def test_an_answer_of_another_function_is_none(outcome: Any) -> None:
    with pytest.raises(NoAnswerError) as error:
        invoked(GET, outcome)
    assert error.value.was_sent


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (429, "TooManyRequestsException", QueueBusyError),
        (400, "ThrottlingException", QueueBusyError),
        (409, "SnapStartNotReadyException", QueueBusyError),
        (409, "ResourceConflictException", QueueBusyError),
        (404, "ResourceNotFoundException", NotAllowedError),
        (403, "AccessDeniedException", NotAllowedError),
        (413, "RequestTooLargeException", TooLargeError),
        (500, "ServiceException", ServerError),
        (502, "EC2ThrottledException", ServerError),
    ],
)
def test_lambda_itself_refuses(status: int, code: str, kind: type[Exception]) -> None:
    with refused(status, code) as endpoint:
        queue = JobQueue(transport(endpoint.url), retries=Retries(attempts=1))
        with pytest.raises(kind):
            queue.get(7)
    assert len(endpoint.received) == 1  # the SDK repeats nothing


def test_lambda_says_when_to_come_back() -> None:
    headers = {"Retry-After": "4"}
    with refused(429, "TooManyRequestsException", headers) as endpoint:
        assert transport(endpoint.url).send(GET).retry_after_seconds == 4


def test_what_lambda_throttled_is_asked_again_even_without_a_token() -> None:
    replies = iter(
        [
            Reply(429, b"{}", {"x-amzn-ErrorType": "TooManyRequestsException"}),
            Reply(200, json.dumps({"statusCode": 200, "body": json.dumps(job())}).encode()),
        ]
    )
    with ReplyingServer(lambda _: next(replies)) as endpoint:
        queue = JobQueue(transport(endpoint.url), retries=Retries(sleep=lambda _: None))
        assert queue.requeue(7).id == 7


# -- no answer -------------------------------------------------------------------------


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        with pytest.raises(NoAnswerError) as error:
            transport(f"http://127.0.0.1:{taken.getsockname()[1]}").send(GET)
    assert not error.value.was_sent


@pytest.mark.parametrize(
    "reply",
    [Reply(breaks=True), Reply(body=b'{"statusCode":', length=100, closes=True)],
    ids=["none", "half"],
)
def test_an_answer_that_does_not_come_whole_may_have_been_done(reply: Reply) -> None:
    with ReplyingServer(reply) as endpoint, pytest.raises(NoAnswerError) as error:
        transport(endpoint.url).send(GET)
    assert error.value.was_sent
    assert len(endpoint.received) == 1


def test_without_credentials_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def never(request: Received) -> Reply:
        raise AssertionError(request)

    with ReplyingServer(never) as endpoint, pytest.raises(NoAnswerError) as error:
        transport(endpoint.url).send(GET)
    assert not error.value.was_sent
    assert endpoint.received == []


def test_credentials_that_cannot_be_had_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    transport = InvokeTransport("stack", session=Session("ann", "secret", region_name="eu-north-1"))

    def broken(**_: Any) -> None:
        raise ValueError("Expecting value")  # as of a credential process that prints garbage

    monkeypatch.setattr(transport._client, "invoke", broken)
    with pytest.raises(NoAnswerError, match="Expecting value"):
        transport.send(Request(operations.GET, {"job_id": "7"}))
