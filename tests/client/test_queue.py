"""What each verb sends, and what it makes of the answer."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import (
    AnswerError,
    ConflictError,
    Failure,
    InvalidRequestError,
    Job,
    JobNotFoundError,
    JobQueueError,
    KeyConflictError,
    LeaseLostError,
    NewJob,
    NotAllowedError,
    QueueBusyError,
    QueueNotFoundError,
    ServerError,
    TooCostlyError,
    TooLargeError,
    WrongStatusError,
)
from job_retry_client.transports.base import Answer
from tests.client.fakes import Played, answer, job, problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry_client import JobQueue

CLAIMED = Job.from_answer(job(status="running", lease_token="t"))
NOON = datetime(2030, 1, 1, 13, 0, 0, 250_000, timezone(timedelta(hours=1)))
NOON_TEXT = "2030-01-01T12:00:00.250000+00:00"


def sent(ask: Callable[[JobQueue], object], **fields: Any) -> tuple[str, str, Any]:
    """Return method, path and body of what a call sends."""
    played = Played(answer(job(**fields)))
    ask(played.queue)
    request = played.request
    path = request.operation.route
    for name, given in request.parameters.items():
        path = path.replace(f"{{{name}}}", given)
    return request.operation.method, path, played.body


# -- enqueue ---------------------------------------------------------------------------


def test_an_enqueue_sends_what_was_given_and_no_more() -> None:
    assert sent(lambda queue: queue.enqueue("mail")) == ("POST", "/jobs", {"job_type": "mail"})
    assert sent(lambda queue: queue.enqueue("mail", {"a": None}, priority=0, jitter=0.0)) == (
        "POST",
        "/jobs",
        {"job_type": "mail", "payload": {"a": None}, "priority": 0, "jitter": 0.0},
    )


def test_an_enqueue_knows_every_field() -> None:
    fields: dict[str, Any] = {
        "payload": [1],
        "queue": "q",
        "max_attempts": 2,
        "backoff_seconds": 3,
        "run_after": 1_900_000_000_000,
        "priority": 9,
        "lease_seconds": 4,
        "max_backoff_seconds": 5,
        "jitter": 0.5,
        "unique_key": "k",
        "unique_for_seconds": 6,
    }
    played = Played(answer(job(), 201))
    played.queue.enqueue("mail", **fields, idempotency_key="i")
    assert played.body == {"job_type": "mail"} | fields
    assert played.request.headers == {
        "content-type": "application/json",
        "idempotency-key": "i",
    }
    assert set(fields) | {"job_type", "idempotency_key"} == set(NewJob.__dataclass_fields__)


@pytest.mark.parametrize(
    "ask",
    [
        lambda queue: queue.enqueue("mail", run_after=NOON),
        lambda queue: queue.release(CLAIMED, run_after=NOON),
        lambda queue: queue.requeue(7, run_after=NOON),
    ],
)
def test_a_time_goes_out_in_utc(ask: Callable[[JobQueue], object]) -> None:
    assert sent(ask)[2]["run_after"] == NOON_TEXT


def test_a_time_of_an_old_time_zone_goes_out_in_utc() -> None:
    amsterdam = timezone(timedelta(minutes=19, seconds=32))
    moment = datetime(2030, 1, 1, 12, 19, 32, tzinfo=amsterdam)
    assert sent(lambda queue: queue.enqueue("mail", run_after=moment))[2]["run_after"] == (
        "2030-01-01T12:00:00+00:00"
    )


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda queue: queue.enqueue("mail", run_after=datetime(2030, 1, 1)), ValueError),  # noqa: DTZ001
        (lambda queue: queue.enqueue("mail", NOON), TypeError),
        (lambda queue: queue.enqueue("mail", {"at": NOON}), TypeError),
        (lambda queue: queue.enqueue("mail", float("nan")), ValueError),
        (lambda queue: queue.enqueue("mail", [float("inf")]), ValueError),
        (lambda queue: queue.enqueue("mail", b"bytes"), TypeError),
        (lambda queue: queue.complete(CLAIMED, NOON), TypeError),
        (lambda queue: queue.complete_many([(CLAIMED, 1), (CLAIMED, {1})]), TypeError),
        (lambda queue: queue.enqueue_many([NewJob("a"), NewJob("b", {1})]), TypeError),
        (lambda queue: queue.enqueue("mail", idempotency_key="Schlüssel"), ValueError),
        (lambda queue: queue.enqueue("mail", idempotency_key="a\r\nb: c"), ValueError),
        (lambda queue: queue.enqueue("mail", idempotency_key=" a"), ValueError),
        (lambda queue: queue.enqueue_many([NewJob("a", idempotency_key="é")]), ValueError),
    ],
)
def test_what_cannot_be_sent_is_not_sent(
    ask: Callable[[JobQueue], object], kind: type[Exception]
) -> None:
    played = Played(answer(job()))
    with pytest.raises(kind):
        ask(played.queue)
    assert played.requests == []


def test_an_empty_key_is_the_queues_to_refuse() -> None:
    played = Played(problem(422, "invalid_field"))
    with pytest.raises(InvalidRequestError):
        played.queue.enqueue("mail", idempotency_key="")
    assert played.request.idempotency_key == ""


# -- documents -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None,
        0,
        -0.0,
        10**30,
        -(2**53) - 1,
        0.1,
        1e308,
        5e-324,
        "",
        "\ud800 alone, 😀 in two",
        '"\\/\u0000',
        {"": {"nested": [[], {}, [None, True]]}},
        [1.0, 1],
    ],
    ids=repr,
)
def test_a_document_goes_out_and_comes_back_equal(value: Any) -> None:
    played = Played(answer({"claimed": True, "jobs": [job(payload=value)]}))
    claimed = played.queue.claim().job
    assert claimed is not None
    assert repr(claimed.payload) == repr(value)
    played = Played(answer(job()))
    played.queue.enqueue("mail", value)
    assert repr(played.body.get("payload")) == repr(value)


def test_an_integer_of_any_length_can_be_read() -> None:
    digits = "9" * 5000
    text = json.dumps(job(payload=0)).replace('"payload": 0', f'"payload": {digits}')
    payload = Played(Answer(200, text)).queue.get(7).payload
    assert payload == 10**5000 - 1


def test_a_document_five_hundred_deep_can_be_sent_and_read() -> None:
    value: Any = 1
    for _ in range(500):
        value = [value]
    played = Played(answer(job(payload=value)))
    assert played.queue.enqueue("mail", value).payload == value


# -- workers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "path", "body"),
    [
        (lambda queue: queue.complete(CLAIMED), "/jobs/7/complete", {"lease_token": "t"}),
        (
            lambda queue: queue.complete(CLAIMED, {"ok": 1}),
            "/jobs/7/complete",
            {"lease_token": "t", "result": {"ok": 1}},
        ),
        (
            lambda queue: queue.complete(8, 0, lease_token="u"),
            "/jobs/8/complete",
            {"lease_token": "u", "result": 0},
        ),
        (lambda queue: queue.complete(8), "/jobs/8/complete", {}),
        (
            lambda queue: queue.complete(CLAIMED, lease_token=""),
            "/jobs/7/complete",
            {"lease_token": ""},
        ),
        (
            lambda queue: queue.fail(CLAIMED, "boom"),
            "/jobs/7/fail",
            {"lease_token": "t", "error": "boom", "retry": True},
        ),
        (
            lambda queue: queue.fail(CLAIMED, "boom", retry_in_seconds=0),
            "/jobs/7/fail",
            {"lease_token": "t", "error": "boom", "retry": True, "retry_in_seconds": 0},
        ),
        (
            lambda queue: queue.fail(CLAIMED, "boom", retry=False),
            "/jobs/7/fail",
            {"lease_token": "t", "error": "boom", "retry": False},
        ),
        (
            lambda queue: queue.heartbeat(CLAIMED, lease_seconds=5, progress=[]),
            "/jobs/7/heartbeat",
            {"lease_token": "t", "lease_seconds": 5, "progress": []},
        ),
        (
            lambda queue: queue.release(CLAIMED, delay_seconds=5),
            "/jobs/7/release",
            {"lease_token": "t", "delay_seconds": 5},
        ),
        (lambda queue: queue.cancel(CLAIMED), "/jobs/7/cancel", None),
        (lambda queue: queue.requeue(CLAIMED), "/dlq/7/requeue", {}),
        (lambda queue: queue.set_queue("q", lanes=2, lease_seconds=None), None, None),
    ],
)
def test_a_verb_sends_its_token_and_what_was_given(
    ask: Callable[[JobQueue], object], path: str | None, body: Any
) -> None:
    if path is None:
        path, body, method = "/queues/q", {"lanes": 2, "lease_seconds": None}, "PUT"
    else:
        method = "POST"
    assert sent(ask) == (method, path, body)


def test_an_error_is_cut_to_what_the_queue_keeps() -> None:
    text = "é" * 10_000
    assert sent(lambda queue: queue.fail(CLAIMED, text))[2]["error"] == "é" * 4096
    played = Played(answer({"results": [{"status": 200, "job": job()}]}))
    played.queue.fail_many([(CLAIMED, Failure(text))])
    assert played.body["jobs"][0]["error"] == "é" * 4096


def test_a_claim_names_its_queues() -> None:
    empty = answer({"claimed": False, "job": None, "jobs": [], "retry_after_seconds": 2.5})
    played = Played(empty)
    claim = played.queue.claim()
    assert played.body == {"queues": ["default"], "max_jobs": 1}
    assert (bool(claim), len(claim), list(claim), claim.job) == (False, 0, [], None)
    assert claim.retry_after_seconds == 2.5
    assert not claim.lanes_unseen
    played = Played(empty)
    played.queue.claim(("a", "b"), worker_id="w", job_types=("t",), lease_seconds=9, max_jobs=3)
    assert played.body == {
        "queues": ["a", "b"],
        "worker_id": "w",
        "job_types": ["t"],
        "lease_seconds": 9,
        "max_jobs": 3,
    }


def test_a_claim_that_has_not_looked_at_all_lanes_says_so() -> None:
    unseen: dict[str, Any] = {"claimed": False, "job": None, "jobs": [], "retry_after_seconds": 2.5}
    claim = Played(answer(unseen | {"lanes_unseen": True})).queue.claim()
    assert (bool(claim), claim.lanes_unseen) == (False, True)


def test_a_claim_brings_jobs_with_their_tokens() -> None:
    jobs = [job(id=1, lease_token="a"), job(id=2, lease_token="b")]
    claim = Played(answer({"claimed": True, "job": jobs[0], "jobs": jobs})).queue.claim()
    assert [(each.id, each.lease_token) for each in claim] == [(1, "a"), (2, "b")]
    assert claim
    assert claim.job == claim.jobs[0]
    assert claim.retry_after_seconds is None


# -- people ----------------------------------------------------------------------------


def test_a_list_is_asked_for_as_text() -> None:
    page = answer({"items": [job(id=1), job(id=2)], "next_cursor": "c==", "next_page": 2})
    played = Played(page)
    found = played.queue.list(status="dead", queue="q", per_page=2, cursor="a+b=", order="asc")
    assert played.request.query == {
        "status": "dead",
        "queue": "q",
        "per_page": "2",
        "cursor": "a+b=",
        "order": "asc",
    }
    assert ([each.id for each in found], len(found)) == ([1, 2], 2)
    assert (found.next_cursor, found.next_page) == ("c==", 2)
    played = Played(page)
    played.queue.dead_letters(job_type="t")
    assert (played.request.operation.route, played.request.query) == ("/dlq", {"job_type": "t"})


def test_a_walk_goes_from_page_to_page() -> None:
    played = Played(
        answer({"items": [job(id=1), job(id=2)], "next_cursor": "a"}),
        answer({"items": [job(id=3)], "next_cursor": None}),
    )
    assert [each.id for each in played.queue.walk(queue="q", order="asc")] == [1, 2, 3]
    common = {"queue": "q", "order": "asc", "per_page": "100"}
    assert [each.query for each in played.requests] == [common, common | {"cursor": "a"}]


def test_a_walk_goes_on_where_a_page_cost_too_much() -> None:
    played = Played(
        problem(422, "too_costly", items=[job(id=1)], next_cursor="a"),
        problem(422, "too_costly", items=[], next_cursor="b"),
        answer({"items": [job(id=2)], "next_cursor": None}),
    )
    assert [each.id for each in played.queue.walk()] == [1, 2]
    assert [each.query.get("cursor") for each in played.requests] == [None, "a", "b"]


def test_a_walk_that_cannot_go_on_says_so() -> None:
    played = Played(problem(422, "too_costly", items=[], next_cursor=None))
    with pytest.raises(TooCostlyError):
        list(played.queue.walk())
    with pytest.raises(InvalidRequestError):
        list(Played(problem(422, "invalid_field")).queue.walk(status="odd"))


def test_a_walk_reads_no_further_than_it_is_followed() -> None:
    played = Played(answer({"items": [job()], "next_cursor": "a"}))
    next(played.queue.walk())
    assert len(played.requests) == 1


def test_a_queue_that_never_was_is_no_job_that_never_was() -> None:
    played = Played(problem(404, "not_found"))
    with pytest.raises(QueueNotFoundError):
        played.queue.queue("q")
    with pytest.raises(JobNotFoundError):
        played.queue.get(7)


def test_a_delete_returns_nothing() -> None:
    played = Played(Answer(204, ""))
    played.queue.delete(CLAIMED)
    assert (played.request.operation.method, dict(played.request.parameters)) == (
        "DELETE",
        {"job_id": "7"},
    )


def test_a_transaction_takes_another_way_to_the_queue() -> None:
    with pytest.raises(JobQueueError, match="in-process"):
        Played(answer(job())).queue.transact_item(NewJob("mail"))


# -- errors ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_json", InvalidRequestError),
        (401, "", NotAllowedError),
        (403, "", NotAllowedError),
        (404, "not_found", JobNotFoundError),
        (404, "", InvalidRequestError),
        (409, "lease_lost", LeaseLostError),
        (409, "key_reused", KeyConflictError),
        (409, "key_taken", KeyConflictError),
        (409, "not_running", WrongStatusError),
        (409, "not_queued", WrongStatusError),
        (409, "not_dead", WrongStatusError),
        (409, "not_ended", WrongStatusError),
        (409, "of_tomorrow", ConflictError),
        (413, "too_large", TooLargeError),
        (413, "", TooLargeError),
        (415, "unsupported_media_type", InvalidRequestError),
        (418, "", InvalidRequestError),
        (422, "invalid_field", InvalidRequestError),
        (422, "too_costly", TooCostlyError),
        (429, "throttled", QueueBusyError),
        (429, "", QueueBusyError),
        (500, "internal", ServerError),
        (502, "", ServerError),
        (503, "unavailable", QueueBusyError),
        (504, "", ServerError),
    ],
)
def test_each_refusal_has_its_error(status: int, code: str, kind: type[AnswerError]) -> None:
    played = Played(problem(status, code, job_status="dead"), attempts=1)
    with pytest.raises(kind) as error:
        played.queue.get(7)
    assert type(error.value) is kind
    assert (error.value.status, error.value.code) == (status, code)
    assert str(error.value) == f"it is {code}"
    assert error.value.problem["job_status"] == "dead"
    if isinstance(error.value, ConflictError):
        assert error.value.job_status == "dead"


def test_a_conflict_of_a_key_has_no_status() -> None:
    with pytest.raises(KeyConflictError) as error:
        Played(problem(409, "key_reused")).queue.enqueue("mail")
    assert error.value.job_status is None
