"""What goes over the wire, and what comes of what does not come back."""

from __future__ import annotations

import json
import socket
import traceback
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, cast

import pytest

from job_retry_client import CredentialsError, JobQueueError, NoAnswerError, operations
from job_retry_client.transports.base import Request, seconds_of
from job_retry_client.transports.http import HttpTransport, bearer_token
from tests.client.server import Received, Reply, ReplyingServer

if TYPE_CHECKING:
    from collections.abc import Iterator

GET = Request(operations.GET, {"job_id": "7"})
ENQUEUE = Request(operations.ENQUEUE, body='{"a":1}', idempotency_key="k")


@pytest.fixture
def server() -> Iterator[ReplyingServer]:
    """A server that answers all with an empty object."""
    with ReplyingServer(Reply()) as running:
        yield running


def test_a_request_arrives_as_it_is(server: ReplyingServer) -> None:
    HttpTransport(server.url).send(ENQUEUE)
    (received,) = server.received
    assert (received.method, received.target, received.body) == ("POST", "/jobs", b'{"a":1}')
    assert received.headers["content-type"] == "application/json"
    assert received.headers["idempotency-key"] == "k"
    assert "authorization" not in received.headers


def test_a_request_without_body_has_none(server: ReplyingServer) -> None:
    transport = HttpTransport(server.url)
    for request in (GET, Request(operations.CANCEL, {"job_id": "7"})):
        transport.send(request)
        received = server.received[-1]
        assert received.body == b""
        assert received.headers.get("content-length", "0") == "0"
        assert "content-type" not in received.headers


def test_every_method_and_route_arrives(server: ReplyingServer) -> None:
    transport = HttpTransport(server.url)
    for name, each in vars(operations).items():
        if name.isupper():
            transport.send(Request(each, {"job_id": "7", "queue": "q"}))
            received = server.received[-1]
            path = each.route.replace("{job_id}", "7").replace("{queue}", "q")
            assert (received.method, received.target) == (each.method, path)


@pytest.mark.parametrize("path", ["", "/", "/api:job-retry", "/api%3ajob-retry/", "/a//"])
def test_an_address_may_have_a_path(server: ReplyingServer, path: str) -> None:
    HttpTransport(server.url + path).send(GET)
    expected = path.rstrip("/").replace("%3a", "%3A") + "/jobs/7"
    assert server.received[0].target == expected


def test_a_query_keeps_every_character(server: ReplyingServer) -> None:
    query = {"status": "dead", "cursor": "a+b/c==&%", "job_type": "é x~"}
    HttpTransport(server.url).send(Request(operations.LIST, query=query))
    assert server.received[0].target == (
        "/jobs?cursor=a%2Bb%2Fc%3D%3D%26%25&job_type=%C3%A9%20x~&status=dead"
    )


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("a/b", "a%2Fb"),
        ("../jobs", "..%2Fjobs"),
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("...", "%2E%2E%2E"),
        ("a.b", "a.b"),
        ("a b?c#d%", "a%20b%3Fc%23d%25"),
    ],
)
def test_a_name_stays_one_part_of_the_path(server: ReplyingServer, name: str, segment: str) -> None:
    HttpTransport(server.url).send(Request(operations.GET_QUEUE, {"queue": name}))
    assert server.received[0].target == f"/queues/{segment}"


def test_an_answer_comes_back_as_it_is() -> None:
    reply = Reply(429, '{"a": "é"}'.encode(), {"Retry-After": "2.5"})
    with ReplyingServer(reply) as server:
        answer = HttpTransport(server.url).send(GET)
    assert (answer.status, answer.body, answer.retry_after_seconds) == (429, '{"a": "é"}', 2.5)
    with ReplyingServer(Reply(204, b"")) as server:
        answer = HttpTransport(server.url).send(Request(operations.DELETE, {"job_id": "7"}))
    assert (answer.status, answer.body, answer.retry_after_seconds) == (204, "", None)
    with ReplyingServer(Reply(502, b"\xff")) as server:
        assert HttpTransport(server.url).send(GET).status == 502


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("3", 3),
        ("0.25", 0.25),
        ("-1", 0),
        ("99999999", 99999999),
        ("1e999", None),
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("Fri, 31 Dec 2030 23:59:59 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_nothing(header: str | None, seconds: float | None) -> None:
    assert seconds_of(header) == seconds


def test_a_redirect_is_not_followed() -> None:
    with ReplyingServer(Reply()) as other:
        reply = Reply(307, b"", {"Location": f"{other.url}/jobs"})
        with ReplyingServer(reply) as server:
            transport = HttpTransport(server.url, sign=bearer_token("secret"))
            assert transport.send(ENQUEUE).status == 307
        assert other.received == []


# -- no answer -------------------------------------------------------------------------


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        transport = HttpTransport(f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(NoAnswerError) as error:
            transport.send(ENQUEUE)
    assert not error.value.was_sent


def test_no_such_host() -> None:
    with pytest.raises(NoAnswerError) as error:
        HttpTransport("http://no-such-host.invalid").send(ENQUEUE)
    assert not error.value.was_sent


@pytest.mark.parametrize(
    "reply",
    [Reply(breaks=True), Reply(body=b'{"id":', length=100, closes=True)],
    ids=["none", "half"],
)
def test_an_answer_that_does_not_come_whole_may_have_been_done(reply: Reply) -> None:
    with ReplyingServer(reply) as server, pytest.raises(NoAnswerError) as error:
        HttpTransport(server.url).send(ENQUEUE)
    assert error.value.was_sent
    assert len(server.received) == 1


# -- connections -----------------------------------------------------------------------


def test_a_connection_is_kept(server: ReplyingServer) -> None:
    transport = HttpTransport(server.url)
    for _ in range(3):
        transport.send(ENQUEUE)
    assert len({each.connection for each in server.received}) == 1


def test_a_connection_that_was_closed_meanwhile_is_no_error() -> None:
    with ReplyingServer(Reply(closes=True)) as server:
        transport = HttpTransport(server.url)
        for _ in range(5):
            transport.send(ENQUEUE)
            assert server.closed.acquire(timeout=10)
        assert len({each.connection for each in server.received}) == 5


def test_many_threads_share_it() -> None:
    def reply(request: Received) -> Reply:
        together.wait(10)  # all at once, or this breaks
        return Reply(body=request.body)

    threads = 16
    together = Barrier(threads)
    with ReplyingServer(reply) as server, ThreadPoolExecutor(threads) as pool:
        transport = HttpTransport(server.url)

        def ask(number: int) -> str:
            return transport.send(Request(operations.ENQUEUE, body=json.dumps([number]))).body

        for _ in range(2):
            assert list(pool.map(ask, range(threads))) == [f"[{n}]" for n in range(threads)]
        assert len({each.connection for each in server.received}) == threads


# -- addresses -------------------------------------------------------------------------


def test_an_address_may_be_of_ipv6() -> None:
    try:
        server = ReplyingServer(Reply(), "::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with server:
        HttpTransport(server.url).send(GET)
    assert server.received[0].headers["host"] == server.url.removeprefix("http://")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host",
        "host",
        "http://",
        "https:///jobs",
        "http://host:port",
        "http://[::1",
        "https://host/?x=1",
        "https://host?",
        "https://host/#top",
        "https://ann:secret@host",
    ],
)
def test_another_address_is_refused(url: str) -> None:
    with pytest.raises(JobQueueError) as error:
        HttpTransport(url)
    assert "secret" not in str(error.value)


# -- tokens ----------------------------------------------------------------------------


def test_a_token_is_sent_along(server: ReplyingServer) -> None:
    HttpTransport(server.url, sign=bearer_token("abc\n")).send(ENQUEUE)
    (received,) = server.received
    assert received.headers["authorization"] == "Bearer abc"
    assert received.headers["idempotency-key"] == "k"


def test_a_function_is_asked_for_the_token_each_time(server: ReplyingServer) -> None:
    tokens = iter(["first", "second"])
    transport = HttpTransport(server.url, sign=bearer_token(lambda: next(tokens)))
    transport.send(GET)
    transport.send(GET)
    sent = [each.headers["authorization"] for each in server.received]
    assert sent == ["Bearer first", "Bearer second"]


NO_TOKENS = ["s3cr3t\nx", "s3cr3t\r\nx", "s3cr3tж", "s3cr3té", "s3cr3t\udcff", "", " "]


@pytest.mark.parametrize("token", NO_TOKENS)
def test_a_text_that_is_no_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(CredentialsError, match="the token is no bearer token") as raised:
        bearer_token(token)
    assert "s3cr3t" not in shown(raised.value)


@pytest.mark.parametrize("token", [*NO_TOKENS, None, b"s3cr3t"])
def test_what_a_function_returns_may_be_no_token(
    server: ReplyingServer, token: str | bytes | None
) -> None:
    transport = HttpTransport(server.url, sign=bearer_token(lambda: cast("str", token)))
    with pytest.raises(CredentialsError, match="what the token function returned") as raised:
        transport.send(GET)
    assert "s3cr3t" not in shown(raised.value)
    assert server.received == []


def test_other_credentials_that_no_header_can_hold_are_not_shown(server: ReplyingServer) -> None:
    transport = HttpTransport(server.url, sign=lambda *_: {"x-amz-security-token": "s3cr3t\n"})
    with pytest.raises(CredentialsError, match="x-amz-security-token") as raised:
        transport.send(GET)
    assert "s3cr3t" not in shown(raised.value)
    assert server.received == []


def shown(error: Exception) -> str:
    """Return an error and all that it came from, as a log has it."""
    lines = traceback.TracebackException.from_exception(error).format_exception_only()
    return "".join(lines) + repr(error.__cause__) + repr(error.__context__)


def test_a_token_that_cannot_be_had_is_no_answer(server: ReplyingServer) -> None:
    def broken() -> str:
        return str(json.loads("<html>"))

    transport = HttpTransport(server.url, sign=bearer_token(broken))
    with pytest.raises(NoAnswerError, match="cannot sign") as raised:
        transport.send(Request(operations.GET, {"job_id": "7"}))
    assert not raised.value.was_sent
    assert server.received == []
