"""What is asked again, how often, and after which pauses."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import (
    InvalidRequestError,
    Job,
    JobNotFoundError,
    JobQueueError,
    NoAnswerError,
    QueueBusyError,
    Retries,
    ServerError,
    WrongStatusError,
)
from job_retry_client.transports.base import Answer
from tests.client.fakes import (
    FAILED,
    LOST,
    NOT_SENT,
    THROTTLED,
    UNAVAILABLE,
    Played,
    answer,
    job,
    problem,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry_client import JobQueue

CLAIMED = Job.from_answer(job(status="running", lease_token="t"))
LISTED = Job.from_answer(job(status="running"))

REPEATABLE: dict[str, Callable[[JobQueue], object]] = {
    "enqueue": lambda queue: queue.enqueue("mail"),
    "complete": lambda queue: queue.complete(CLAIMED),
    "complete by id": lambda queue: queue.complete(7, lease_token="t"),
    "fail": lambda queue: queue.fail(CLAIMED, "e"),
    "heartbeat": lambda queue: queue.heartbeat(CLAIMED),
    "release": lambda queue: queue.release(CLAIMED),
    "cancel": lambda queue: queue.cancel(7),
    "delete": lambda queue: queue.delete(7),
    "get": lambda queue: queue.get(7),
    "queue": lambda queue: queue.queue("q"),
    "set_queue": lambda queue: queue.set_queue("q", lanes=2),
}
ONCE: dict[str, Callable[[JobQueue], object]] = {
    "complete": lambda queue: queue.complete(LISTED),
    "complete by id": lambda queue: queue.complete(7),
    "fail": lambda queue: queue.fail(LISTED, "e"),
    "heartbeat": lambda queue: queue.heartbeat(LISTED),
    "release": lambda queue: queue.release(7),
    "requeue": lambda queue: queue.requeue(7),
}
UNSURE = {"lost": LOST, "500": FAILED, "502": problem(502, ""), "503": UNAVAILABLE}
GONE_ON = answer(job())

repeatable = pytest.mark.parametrize("ask", REPEATABLE.values(), ids=REPEATABLE.keys())
once = pytest.mark.parametrize("ask", ONCE.values(), ids=ONCE.keys())
unsure = pytest.mark.parametrize("first", UNSURE.values(), ids=UNSURE.keys())


@repeatable
@unsure
def test_what_is_safe_to_repeat_is_repeated_as_it_was(
    ask: Callable[[JobQueue], object], first: Answer | NoAnswerError
) -> None:
    played = Played(first, first, GONE_ON)
    ask(played.queue)
    assert len(played.requests) == 3
    assert played.requests[0] == played.requests[1] == played.requests[2]


@once
@unsure
def test_what_is_not_safe_is_asked_once(
    ask: Callable[[JobQueue], object], first: Answer | NoAnswerError
) -> None:
    played = Played(first, GONE_ON)
    with pytest.raises((NoAnswerError, ServerError, QueueBusyError)):
        ask(played.queue)
    assert len(played.requests) == 1
    assert played.pauses == []


@pytest.mark.parametrize("first", [NOT_SENT, THROTTLED], ids=["not sent", "throttled"])
@pytest.mark.parametrize(
    "ask",
    [*REPEATABLE.values(), *ONCE.values()],
    ids=[*REPEATABLE, *(f"{name} without a token" for name in ONCE)],
)
def test_what_was_not_done_is_asked_again_whatever_it_is(
    ask: Callable[[JobQueue], object], first: Answer | NoAnswerError
) -> None:
    played = Played(first, first, GONE_ON)
    ask(played.queue)
    assert len(played.requests) == 3


NO_JOBS = {"claimed": False, "jobs": [], "retry_after_seconds": 1}


@pytest.mark.parametrize(
    ("ask", "body"),
    [
        (lambda queue: queue.claim(), NO_JOBS),
        (lambda queue: queue.list(), {"items": []}),
        (lambda queue: queue.dead_letters(), {"items": []}),
    ],
)
def test_a_claim_and_a_list_are_repeated(
    ask: Callable[[JobQueue], object], body: dict[str, Any]
) -> None:
    played = Played(LOST, answer(body))
    ask(played.queue)
    assert len(played.requests) == 2


# -- enqueue ---------------------------------------------------------------------------


def test_an_enqueue_is_repeated_under_the_key_it_was_first_sent_with() -> None:
    played = Played(LOST, LOST, answer(job(), 201))
    played.queue.enqueue("mail")
    keys = {request.idempotency_key for request in played.requests}
    assert len(keys) == 1
    assert len(keys.pop() or "") == 36


def test_two_enqueues_have_two_keys() -> None:
    played = Played(answer(job(), 201))
    played.queue.enqueue("mail")
    played.queue.enqueue("mail")
    assert len({request.idempotency_key for request in played.requests}) == 2


def test_a_key_of_the_callers_is_taken() -> None:
    played = Played(LOST, answer(job(), 201))
    played.queue.enqueue("mail", idempotency_key="order-7")
    assert [request.idempotency_key for request in played.requests] == ["order-7"] * 2


def test_without_a_key_an_enqueue_is_not_repeated() -> None:
    played = Played(LOST, answer(job(), 201), repeat_enqueues=False)
    with pytest.raises(NoAnswerError) as lost:
        played.queue.enqueue("mail")
    assert lost.value.was_sent
    assert played.request.idempotency_key is None


def test_without_keys_of_its_own_the_client_still_repeats_under_the_callers() -> None:
    played = Played(LOST, answer(job(), 201), repeat_enqueues=False)
    played.queue.enqueue("mail", idempotency_key="order-7")
    assert len(played.requests) == 2


# -- when it may have been done --------------------------------------------------------


@pytest.mark.parametrize("first", [LOST, FAILED, UNAVAILABLE, THROTTLED])
def test_a_cancel_that_was_done_unheard_is_done(first: Answer | NoAnswerError) -> None:
    refusal = problem(409, "not_queued", job_status="cancelled")
    played = Played(first, refusal, answer(job(status="cancelled")))
    assert played.queue.cancel(7).status == "cancelled"
    assert played.requests[-1].operation.method == "GET"


def test_a_cancel_that_came_too_late_is_refused() -> None:
    for script in (
        (LOST, problem(409, "not_queued", job_status="running")),
        (problem(409, "not_queued", job_status="cancelled"),),
        (NOT_SENT, problem(409, "not_queued", job_status="cancelled")),
    ):
        with pytest.raises(WrongStatusError):
            Played(*script, answer(job(status="cancelled"))).queue.cancel(7)


@pytest.mark.parametrize("first", [LOST, FAILED, UNAVAILABLE, THROTTLED])
def test_a_delete_that_was_done_unheard_is_done(first: Answer | NoAnswerError) -> None:
    played = Played(first, problem(404, "not_found"))
    played.queue.delete(7)
    assert len(played.requests) == 2


def test_a_delete_of_what_never_was_is_refused() -> None:
    for script in ((problem(404, "not_found"),), (NOT_SENT, problem(404, "not_found"))):
        with pytest.raises(JobNotFoundError):
            Played(*script).queue.delete(7)


def test_the_error_tells_of_all_attempts_whether_one_was_sent() -> None:
    with pytest.raises(NoAnswerError) as error:
        Played(LOST, NOT_SENT).queue.enqueue("mail")
    assert error.value.was_sent
    with pytest.raises(NoAnswerError) as error:
        Played(NOT_SENT).queue.enqueue("mail")
    assert not error.value.was_sent


# -- how often, and when ---------------------------------------------------------------


@pytest.mark.parametrize(("last", "kind"), [(LOST, NoAnswerError), (UNAVAILABLE, QueueBusyError)])
def test_it_ends_after_so_many_attempts(
    last: Answer | NoAnswerError, kind: type[JobQueueError]
) -> None:
    for attempts in (1, 3):
        played = Played(last, attempts=attempts)
        with pytest.raises(kind):
            played.queue.get(7)
        assert len(played.requests) == attempts
        assert len(played.pauses) == attempts - 1


def test_a_refusal_is_not_argued_with() -> None:
    for status in (400, 403, 404, 409, 413, 422):
        played = Played(problem(status, ""))
        with pytest.raises(JobQueueError):
            played.queue.enqueue("mail")
        assert len(played.requests) == 1


def test_pauses_double_their_range_up_to_the_longest() -> None:
    retries = Retries(attempts=7, first_pause_seconds=1, longest_pause_seconds=10, draw=lambda: 0.5)
    assert list(retries.pauses()) == [0.5, 1, 2, 4, 5, 5]
    assert list(Retries(draw=lambda: 0.0).pauses()) == [0, 0, 0, 0]


def test_a_program_may_try_for_ever() -> None:
    endless = Retries(attempts=10**9, draw=lambda: 1.0)
    assert list(islice(endless.pauses(), 5000))[-1] == endless.longest_pause_seconds
    played = Played(*[LOST] * 2000, GONE_ON, attempts=10**9)
    played.queue.get(7)


def test_each_pause_is_drawn_anew() -> None:
    draws = iter([0.25, 0.75])
    retries = Retries(attempts=3, first_pause_seconds=1, draw=lambda: next(draws))
    assert list(retries.pauses()) == [0.25, 1.5]


def test_the_queue_says_how_long_to_wait_at_least() -> None:
    played = Played(problem(429, "throttled", 3), problem(429, "throttled"), GONE_ON)
    played.queue.get(7)
    assert played.pauses == [3, 0.2]
    played = Played(problem(429, "throttled", 0.001), GONE_ON)
    played.queue.get(7)
    assert played.pauses == [0.1]


def test_no_pause_is_longer_than_the_longest() -> None:
    played = Played(problem(503, "unavailable", 86_400), GONE_ON)
    played.queue.get(7)
    assert played.pauses == [20]


def test_the_error_has_what_the_queue_said() -> None:
    with pytest.raises(QueueBusyError) as busy:
        Played(problem(429, "throttled", 3), attempts=1).queue.get(7)
    assert (busy.value.status, busy.value.code) == (429, "throttled")
    assert busy.value.retry_after_seconds == 3


def test_what_is_no_answer_of_the_queues_is_no_answer() -> None:
    for strange in (
        answer({}, 301),
        answer({}, 307),
        Answer(200, "<html>Welcome to the hotel</html>"),
        Answer(200, "[]"),
        Answer(200, ""),
    ):
        played = Played(strange)
        with pytest.raises(NoAnswerError, match="is the address right") as error:
            played.queue.get(7)
        assert error.value.was_sent


def test_the_pages_of_proxies_are_errors_with_what_they_say() -> None:
    with pytest.raises(ServerError, match="<html>Bad gateway"):
        Played(Answer(502, "<html>Bad gateway</html>"), attempts=1).queue.get(7)
    with pytest.raises(InvalidRequestError, match="Not Found"):
        Played(answer({"message": "Not Found"}, 404)).queue.get(7)
    with pytest.raises(ServerError, match="HTTP status 502"):
        Played(Answer(502, ""), attempts=1).queue.get(7)
