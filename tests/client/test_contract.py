"""The same scenarios by each way to a real queue."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import (
    BatchError,
    Failure,
    InvalidRequestError,
    Job,
    JobNotFoundError,
    JobQueue,
    KeyConflictError,
    LeaseLostError,
    NewJob,
    QueueNotFoundError,
    TooLargeError,
    WrongStatusError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.ways import Way
    from tests.http.api import LiveServer


@pytest.fixture
def queue(way: Way) -> JobQueue:
    """The client."""
    return way.queue


def claim(queue: JobQueue, name: str, **more: Any) -> Job:
    """Claim the one job that is due."""
    job = queue.claim(name, **more).job
    assert job is not None
    return job


def dead(queue: JobQueue, name: str, **more: Any) -> Job:
    """Return a job that died."""
    queue.enqueue("mail", queue=name, **more)
    return queue.fail(claim(queue, name), "boom", retry=False)


# -- a life ----------------------------------------------------------------------------


def test_a_job_is_enqueued_claimed_and_completed(queue: JobQueue, name: str) -> None:
    payload = {"user": 42, "é": ["\ud800", 10**30, -0.0, 0.1, None, True]}
    stored = queue.enqueue("mail", payload, queue=name, priority=3)
    assert (stored.status, stored.queue, stored.job_type) == ("queued", name, "mail")
    assert (stored.priority, stored.attempts, stored.duplicate) == (3, 0, False)
    assert repr(stored.payload) == repr(payload)
    assert stored.created_at == stored.run_after
    assert stored.created_at.tzinfo is not None

    claimed = claim(queue, name, worker_id="ann", lease_seconds=60)
    assert claimed.id == stored.id
    assert (claimed.status, claimed.attempts, claimed.claimed_by) == ("running", 1, "ann")
    assert repr(claimed.payload) == repr(payload)
    assert claimed.lease_token
    assert claimed.claimed_at is not None
    assert claimed.lease_expires_at == claimed.claimed_at + timedelta(seconds=60)

    beaten = queue.heartbeat(claimed, progress={"done": 0.5}, lease_seconds=120)
    assert beaten.progress == {"done": 0.5}
    assert beaten.lease_expires_at is not None
    assert beaten.lease_expires_at > claimed.lease_expires_at

    done = queue.complete(claimed, {"ok": True})
    assert (done.status, done.result) == ("completed", {"ok": True})
    assert queue.complete(claimed, {"ok": True}) == done
    assert queue.get(stored).result == {"ok": True}
    assert queue.get(stored.id).completed_at == done.completed_at


def test_the_routes_other_spelling_serves_too(server: LiveServer, name: str) -> None:
    queue = JobQueue.connect(f"{server.url}/api:job-retry/")
    stored = queue.enqueue("mail", queue=name)
    queue.complete(claim(queue, name))
    assert [each.id for each in queue.list(queue=name)] == [stored.id]
    queue.delete(stored)


def test_nothing_is_due(queue: JobQueue, name: str) -> None:
    claimed = queue.claim(name)
    assert not claimed
    assert claimed.retry_after_seconds is not None
    assert claimed.retry_after_seconds > 0


def test_nothing_was_found_but_not_everywhere_looked_for(
    way: Way, queue: JobQueue, name: str
) -> None:
    queue.enqueue("mail", queue=name)
    queue.complete(claim(queue, name))
    assert not queue.claim(name).lanes_unseen
    queue.set_queue(name, lanes=64)
    way.advance(20)
    claimed = queue.claim(name)
    assert (len(claimed), claimed.lanes_unseen) == (0, True)


def test_a_run_that_failed_is_there_again_with_its_history(queue: JobQueue, name: str) -> None:
    queue.enqueue("mail", queue=name, max_attempts=2)
    waiting = queue.fail(
        claim(queue, name, worker_id="ann"), "boom\ud800" * 900, retry_in_seconds=0
    )
    assert (waiting.status, waiting.attempts) == ("queued", 1)
    died = queue.fail(claim(queue, name), "bang")
    assert (died.status, died.last_error) == ("dead", "bang")
    first, second = queue.get(died).history
    assert (first.attempt, first.worker_id, second.error) == (1, "ann", "bang")
    assert first.error.startswith("boom")
    assert len(first.error.encode()) > 4000
    assert first.started_at <= first.ended_at <= second.started_at


def test_a_lease_that_ended_is_lost(way: Way, name: str) -> None:
    way.queue.enqueue("mail", queue=name, backoff_seconds=0)
    late = claim(way.queue, name, lease_seconds=10)
    way.advance(11)
    claim(way.queue, name)
    asks: list[Callable[[], Job]] = [
        lambda: way.queue.complete(late),
        lambda: way.queue.fail(late, "late"),
        lambda: way.queue.heartbeat(late),
        lambda: way.queue.release(late),
    ]
    for ask in asks:
        with pytest.raises(LeaseLostError) as error:
            ask()
        assert (error.value.code, error.value.job_status) == ("lease_lost", "running")


def test_a_job_that_is_given_back_costs_no_attempt(way: Way, name: str) -> None:
    way.queue.enqueue("mail", queue=name)
    released = way.queue.release(claim(way.queue, name), delay_seconds=30)
    assert (released.status, released.attempts) == ("queued", 0)
    assert not way.queue.claim(name)
    way.advance(31)
    assert claim(way.queue, name).attempts == 1


def test_a_token_can_be_given_apart(queue: JobQueue, name: str) -> None:
    queue.enqueue("mail", queue=name)
    claimed = claim(queue, name)
    with pytest.raises(LeaseLostError):
        queue.complete(claimed.id, lease_token="another")
    with pytest.raises(InvalidRequestError):
        queue.complete(claimed, lease_token="")
    assert queue.complete(claimed.id, 1, lease_token=claimed.lease_token).result == 1


def test_a_moment_says_when(queue: JobQueue, name: str) -> None:
    moment = datetime(2100, 1, 1, 3, 0, 0, 123_000, timezone(timedelta(hours=3)))
    for given in (moment, 4_102_444_800_123):
        assert queue.enqueue("mail", queue=name, run_after=given).run_after == moment


# -- people ----------------------------------------------------------------------------


def test_a_dead_job_gets_another_chance(queue: JobQueue, name: str) -> None:
    died = dead(queue, name)
    assert [each.id for each in queue.dead_letters(queue=name)] == [died.id]
    again = queue.requeue(died)
    assert (again.status, again.attempts) == ("queued", 0)
    with pytest.raises(WrongStatusError) as error:
        queue.requeue(died)
    assert (error.value.code, error.value.job_status) == ("not_dead", "queued")
    assert not queue.dead_letters(queue=name).jobs


def test_a_job_is_cancelled_and_dropped(queue: JobQueue, name: str) -> None:
    stored = queue.enqueue("mail", queue=name)
    with pytest.raises(WrongStatusError):
        queue.delete(stored)
    assert queue.cancel(stored).status == "cancelled"
    queue.delete(stored)
    for ask in (queue.get, queue.cancel, queue.delete, queue.requeue):
        with pytest.raises(JobNotFoundError):
            ask(stored)


def test_lists_are_turned_page_by_page(queue: JobQueue, name: str) -> None:
    queue.enqueue_many(NewJob(f"t{n % 2}", {"n": n}, queue=name) for n in range(5))
    page = queue.list(status="queued", queue=name, per_page=2)
    assert (len(page), page.next_page) == (2, 2)
    found = list(page)
    while page.next_cursor is not None:
        page = queue.list(status="queued", queue=name, per_page=2, cursor=page.next_cursor)
        found += page
    assert sorted(each.payload["n"] for each in found) == [0, 1, 2, 3, 4]
    walked = list(queue.walk(status="queued", queue=name, order="asc"))
    assert [each.id for each in walked] == [each.id for each in reversed(found)]
    assert len(list(queue.walk(queue=name, job_type="t0"))) == 3


def test_a_queue_has_settings(queue: JobQueue, name: str) -> None:
    with pytest.raises(QueueNotFoundError):
        queue.queue(name)
    assert queue.set_queue(name, max_attempts=7, lease_seconds=30)["max_attempts"] == 7
    assert queue.set_queue(name, max_attempts=None)["max_attempts"] is None
    assert queue.queue(name)["lease_seconds"] == 30


# -- keys ------------------------------------------------------------------------------


def test_an_idempotency_key_stands_for_one_job(queue: JobQueue, name: str) -> None:
    key = f"order  {name}:7/#%"
    first = queue.enqueue("mail", 1, queue=name, idempotency_key=key)
    again = queue.enqueue("mail", 1, queue=name, idempotency_key=key)
    assert (again.id, again.duplicate) == (first.id, True)
    (batched,) = queue.enqueue_many([NewJob("mail", 1, name, idempotency_key=key)])
    assert (batched.id, batched.duplicate) == (first.id, True)
    with pytest.raises(KeyConflictError) as error:
        queue.enqueue("mail", 2, queue=name, idempotency_key=key)
    assert error.value.code == "key_reused"
    with pytest.raises(InvalidRequestError):
        queue.enqueue("mail", idempotency_key="")


def test_a_unique_key_stands_for_one_waiting_job(queue: JobQueue, name: str) -> None:
    first = queue.enqueue("mail", queue=name, unique_key="k")
    again = queue.enqueue("mail", queue=name, unique_key="k")
    assert (again.id, again.duplicate, first.unique_key) == (first.id, True, "k")
    died = queue.fail(claim(queue, name), "boom", retry=False)
    second = queue.enqueue("mail", queue=name, unique_key="k")
    assert second.id != first.id
    with pytest.raises(KeyConflictError) as error:
        queue.requeue(died)
    assert error.value.code == "key_taken"


# -- batches ---------------------------------------------------------------------------


def test_many_jobs_go_through_at_once(queue: JobQueue, name: str) -> None:
    new = [NewJob("mail", {"n": n}, queue=name) for n in range(130)]
    stored = queue.enqueue_many(new)
    assert [each.payload["n"] for each in stored] == list(range(130))
    claimed: list[Job] = []
    while found := queue.claim(name, max_jobs=25):
        claimed += found
    assert {each.id for each in claimed} == {each.id for each in stored}
    outcomes = queue.complete_many([(each, each.payload["n"]) for each in claimed[:60]])
    assert [each.result for each in outcomes if isinstance(each, Job)] == [
        each.payload["n"] for each in claimed[:60]
    ]
    queue.complete(claimed[60])
    failed = queue.fail_many([(each, Failure("boom")) for each in claimed[60:90]])
    assert isinstance(failed[0], WrongStatusError)
    assert {each.status for each in failed[1:] if isinstance(each, Job)} == {"queued"}
    assert len(failed) == 30


def test_a_batch_tells_which_jobs_were_not_stored(queue: JobQueue, name: str) -> None:
    new = [
        NewJob("mail", queue=name),
        NewJob("mail", queue=name, max_attempts=0),
        NewJob("mail", "x" * 300_000, queue=name),
    ]
    with pytest.raises(BatchError) as error:
        queue.enqueue_many(new)
    first, second, third = error.value.outcomes
    assert isinstance(first, Job)
    assert isinstance(second, InvalidRequestError)
    assert isinstance(third, TooLargeError)


def test_large_jobs_fit_through_every_way(queue: JobQueue, name: str) -> None:
    text = '"' * 120_000  # each is four characters of an event or of its answer
    stored = queue.enqueue_many(NewJob("mail", text, queue=name) for _ in range(24))
    assert len({each.id for each in stored}) == 24
    claimed = queue.claim(name, max_jobs=25)
    assert {each.payload for each in claimed} == {text}
    rest = [claim(queue, name) for _ in range(24 - len(claimed))]
    outcomes = queue.complete_many([(each, text) for each in [*claimed, *rest]])
    assert {each.status for each in outcomes if isinstance(each, Job)} == {"completed"}
    assert len(outcomes) == 24


def test_threads_share_one_client(queue: JobQueue, name: str) -> None:
    def produce(number: int) -> list[int]:
        return [queue.enqueue("mail", number, queue=name).id for _ in range(5)]

    def work(_: int) -> list[int]:
        done = []
        while claimed := queue.claim(name, max_jobs=2):
            done += [queue.complete(each, each.id).id for each in claimed]
        return done

    with ThreadPoolExecutor(8) as pool:
        stored = [each for ids in pool.map(produce, range(8)) for each in ids]
        done = [each for ids in pool.map(work, range(8)) for each in ids]
    assert len(set(stored)) == 40
    assert sorted(done) == sorted(stored)


# -- refusals --------------------------------------------------------------------------


def test_a_field_that_is_not_acceptable_is_named(queue: JobQueue) -> None:
    with pytest.raises(InvalidRequestError) as error:
        queue.enqueue("mail", max_attempts=0)
    assert (error.value.status, error.value.code) == (422, "invalid_field")
    assert error.value.problem["errors"][0]["field"] == "max_attempts"
    with pytest.raises(TooLargeError):
        queue.enqueue("mail", "x" * 300_000)
    with pytest.raises(JobNotFoundError):
        queue.get(77)


@pytest.mark.parametrize("odd", ["a b", "é", "a?b", "a%2Fb", ""])
def test_a_name_that_no_queue_has_is_refused(queue: JobQueue, odd: str) -> None:
    with pytest.raises((InvalidRequestError, QueueNotFoundError)):
        queue.queue(odd)
    with pytest.raises(InvalidRequestError):
        queue.enqueue("mail", queue=odd)


@pytest.mark.parametrize("dots", [".", "..", "..."])
def test_a_name_of_dots_is_a_name(queue: JobQueue, dots: str) -> None:
    queue.set_queue(dots, max_attempts=3)
    assert queue.queue(dots)["queue"] == dots
