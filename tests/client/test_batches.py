"""Many jobs at once: cut to size, in order, and what was too busy once more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import (
    BatchError,
    CredentialsError,
    Failure,
    Job,
    JobQueue,
    KeyConflictError,
    LeaseLostError,
    NewJob,
    NoAnswerError,
    QueueBusyError,
    ServerError,
)
from tests.client.fakes import (
    FAILED,
    LOST,
    NOT_SENT,
    THROTTLED,
    UNAVAILABLE,
    Played,
    job,
    problem,
    results,
)

if TYPE_CHECKING:
    from job_retry_client.transports.base import Answer, Request

LAMBDA_BYTES = 6 * 1024 * 1024


def claimed(number: int, token: str | None = "t") -> Job:  # noqa: S107 - of a lease
    """Return a job as a claim brings it."""
    return Job.from_answer(job(id=number, status="running", lease_token=token))


class Echo:
    """A queue that stores whatever it is asked to, and keeps what it was sent."""

    def __init__(self) -> None:
        self.bodies: list[list[dict[str, Any]]] = []
        self.texts: list[str] = []

    def send(self, request: Request) -> Answer:
        """Store a batch; a job's id is its payload's or its own."""
        self.texts.append(request.body or "")
        jobs = json.loads(request.body or "")["jobs"]
        self.bodies.append(jobs)
        stored = [job(id=each["id"] if "id" in each else each["payload"]["n"]) for each in jobs]
        return results(*stored)


def sizes(echo: Echo) -> list[int]:
    """Return how many jobs each request had."""
    return [len(body) for body in echo.bodies]


# -- cut to size -----------------------------------------------------------------------


def test_a_hundred_are_enqueued_at_once_in_order() -> None:
    echo = Echo()
    stored = JobQueue(echo).enqueue_many(NewJob("mail", {"n": n}) for n in range(250))
    assert [each.id for each in stored] == list(range(250))
    assert sizes(echo) == [100, 100, 50]


def test_twenty_five_are_settled_at_once_in_order() -> None:
    echo = Echo()
    outcomes = JobQueue(echo).complete_many((claimed(n), n) for n in range(60))
    assert [each.id for each in outcomes if isinstance(each, Job)] == list(range(60))
    assert sizes(echo) == [25, 25, 10]
    assert echo.bodies[2][9] == {"id": 59, "lease_token": "t", "result": 59}
    echo = Echo()
    JobQueue(echo).fail_many((claimed(n), Failure(f"error {n}")) for n in range(26))
    assert sizes(echo) == [25, 1]
    assert echo.bodies[1][0] == {"id": 25, "lease_token": "t", "error": "error 25", "retry": True}


@pytest.mark.parametrize("text", ["x" * 250_000, '"' * 120_000, "\\" * 120_000, "中" * 40_000])
def test_a_request_fits_into_a_call_of_a_function(text: str) -> None:
    echo = Echo()
    stored = JobQueue(echo).enqueue_many(NewJob("m", {"n": n, "t": text}) for n in range(40))
    assert [each.id for each in stored] == list(range(40))
    assert max(len(json.dumps({"body": body})) for body in echo.texts) < LAMBDA_BYTES - 200_000
    assert len(echo.texts) <= 6


def test_a_job_too_large_for_any_request_goes_alone() -> None:
    echo = Echo()
    JobQueue(echo).enqueue_many(NewJob("m", {"n": n, "t": "x" * 3_000_000}) for n in range(2))
    assert sizes(echo) == [1, 1]


def test_nothing_is_not_asked_for() -> None:
    echo = Echo()
    assert JobQueue(echo).enqueue_many([]) == []
    assert JobQueue(echo).complete_many([]) == []
    assert echo.bodies == []


def test_each_job_has_a_key_of_its_own() -> None:
    echo = Echo()
    JobQueue(echo).enqueue_many(
        [NewJob("m", {"n": 1}), NewJob("m", {"n": 2}), NewJob("m", {"n": 3}, idempotency_key="k")]
    )
    keys = [each["idempotency_key"] for each in echo.bodies[0]]
    assert len(set(keys)) == 3
    assert keys[2] == "k"
    echo = Echo()
    JobQueue(echo, repeat_enqueues=False).enqueue_many([NewJob("m", {"n": 1})])
    assert echo.bodies == [[{"job_type": "m", "payload": {"n": 1}}]]


# -- what was too busy -----------------------------------------------------------------


@pytest.mark.parametrize("busy", [THROTTLED, UNAVAILABLE])
def test_only_what_was_too_busy_is_sent_again(busy: Answer) -> None:
    played = Played(
        results(job(id=1), busy, job(id=3), busy),
        results(busy, job(id=4)),
        results(job(id=2)),
    )
    outcomes = played.queue.complete_many([(claimed(n), n) for n in (1, 2, 3, 4)])
    assert [each.id for each in outcomes if isinstance(each, Job)] == [1, 2, 3, 4]
    asked = [[each["id"] for each in body["jobs"]] for body in played.transport.bodies]
    assert asked == [[1, 2, 3, 4], [2, 4], [2]]
    assert played.pauses == [1, 1]


def test_what_stays_too_busy_is_an_error_in_the_end() -> None:
    played = Played(results(job(id=1), THROTTLED), results(THROTTLED), attempts=3)
    outcomes = played.queue.complete_many([(claimed(1), 1), (claimed(2), 2)])
    assert isinstance(outcomes[0], Job)
    assert isinstance(outcomes[1], QueueBusyError)
    assert len(played.requests) == 3


def test_a_refused_job_is_not_sent_again() -> None:
    played = Played(results(problem(409, "lease_lost"), job(id=2)))
    outcomes = played.queue.fail_many([(claimed(1), Failure("e")), (claimed(2), Failure("e"))])
    assert isinstance(outcomes[0], LeaseLostError)
    assert isinstance(outcomes[1], Job)
    assert len(played.requests) == 1


def test_a_job_that_may_be_stored_is_not_enqueued_again_without_a_key() -> None:
    played = Played(results(UNAVAILABLE, THROTTLED), results(job(id=2)), repeat_enqueues=False)
    with pytest.raises(BatchError) as error:
        played.queue.enqueue_many([NewJob("a"), NewJob("b")])
    assert [each["job_type"] for each in played.transport.bodies[1]["jobs"]] == ["b"]
    assert isinstance(error.value.outcomes[0], QueueBusyError)
    assert isinstance(error.value.outcomes[1], Job)


def test_a_job_without_a_token_is_not_settled_twice() -> None:
    for first in (LOST, UNAVAILABLE, FAILED):
        played = Played(first, results(job(id=1), job(id=2)))
        outcomes = played.queue.complete_many([(claimed(1), 1), (claimed(2, None), 2)])
        assert not any(isinstance(each, Job) for each in outcomes)
        assert len(played.requests) == 1
    played = Played(results(job(id=1), UNAVAILABLE), results(job(id=2)))
    outcomes = played.queue.fail_many(
        [(claimed(1), Failure("e")), (claimed(2, None), Failure("e"))]
    )
    assert isinstance(outcomes[1], QueueBusyError)
    assert len(played.requests) == 1


# -- a request that failed as a whole --------------------------------------------------


@pytest.mark.parametrize("first", [LOST, NOT_SENT, FAILED, UNAVAILABLE, THROTTLED])
def test_a_request_is_repeated_as_it_was(first: Answer | NoAnswerError) -> None:
    played = Played(first, results(job(id=1), job(id=2)))
    played.queue.enqueue_many([NewJob("a"), NewJob("b")])
    assert len(played.requests) == 2
    assert played.requests[0] == played.requests[1]


@pytest.mark.parametrize(
    ("last", "kind"),
    [(LOST, NoAnswerError), (UNAVAILABLE, QueueBusyError), (FAILED, ServerError)],
)
def test_a_request_is_not_repeated_more_often_than_any_other(
    last: Answer | NoAnswerError, kind: type[Exception]
) -> None:
    played = Played(last, attempts=3)
    outcomes = played.queue.complete_many([(claimed(1), 1), (claimed(2), 2)])
    assert [type(each) for each in outcomes] == [kind, kind]
    assert len(played.requests) == 3


def test_one_request_that_failed_leaves_the_others_alone() -> None:
    first = results(*(job(id=n) for n in range(25)))
    played = Played(first, LOST, results(job(id=50)), attempts=1)
    outcomes = played.queue.complete_many([(claimed(n), n) for n in range(51)])
    assert [each.id for each in outcomes[:25] if isinstance(each, Job)] == list(range(25))
    assert {type(each) for each in outcomes[25:50]} == {NoAnswerError}
    assert isinstance(outcomes[50], Job)


# -- what an enqueue says --------------------------------------------------------------


def test_credentials_that_turn_bad_do_not_hide_what_was_stored() -> None:
    class Once(Echo):
        def send(self, request: Request) -> Answer:
            if self.bodies:
                raise CredentialsError("it is none")
            return super().send(request)

    with pytest.raises(BatchError) as error:
        JobQueue(Once()).enqueue_many(NewJob("mail", {"n": n}) for n in range(101))
    *stored, last = error.value.outcomes
    assert len(stored) == 100
    assert isinstance(last, CredentialsError)


def test_a_batch_that_was_not_all_stored_tells_of_each() -> None:
    played = Played(results(job(id=1), problem(409, "key_reused"), job(id=3)))
    with pytest.raises(BatchError, match="1 of 3 jobs were not done: it is key_reused") as error:
        played.queue.enqueue_many([NewJob("a"), NewJob("b"), NewJob("c")])
    first, second, third = error.value.outcomes
    assert isinstance(first, Job)
    assert isinstance(second, KeyConflictError)
    assert isinstance(third, Job)
    assert (first.id, third.id) == (1, 3)


def test_what_came_before_of_the_same_key_is_a_duplicate() -> None:
    played = Played(results(job(id=1) | {"duplicate": True}, job(id=2)))
    stored = played.queue.enqueue_many([NewJob("a"), NewJob("b")])
    assert [each.duplicate for each in stored] == [True, False]
