"""The engine: it decides on what it reads, and is right even where that is old."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from job_retry import decisions, ids
from job_retry.errors import (
    InvalidFieldError,
    JobNotFoundError,
    LeaseLostError,
    StoreBusyError,
    WrongStatusError,
)
from job_retry.job import Status
from job_retry.memory import MemoryStore
from job_retry.transitions import Action
from tests.unit.builders import LEASE_MS, T0, LaggingStore, Queue, RestlessStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry.job import Job


# -- a whole life ------------------------------------------------------------------------


def test_total_runs_are_max_attempts(queue: Queue) -> None:
    for most in (1, 2, 5):
        job = queue.enqueue(max_attempts=most)
        for run in range(1, most + 1):
            claimed = queue.claim_one()
            assert (claimed.id, claimed.attempts) == (job.id, run)
            failed = queue.engine.fail(job.id, error=f"error {run}")
            queue.clock.advance(seconds=30 * 2 ** (run - 1))
        assert failed.status is Status.DEAD
        assert queue.claim() == []
        assert [each.error for each in queue.history(job.id)] == [
            f"error {run}" for run in range(1, most + 1)
        ]


def test_a_crash_loop_ends(queue: Queue) -> None:
    job = queue.enqueue(max_attempts=3, backoff_seconds=0)
    for _ in range(3):
        queue.claim_one(worker_id="crashing")
        queue.clock.advance(ms=LEASE_MS + 1)
    assert queue.claim() == []
    dead = queue.record(job.id)
    assert (dead.status, dead.attempts, dead.last_error) == (Status.DEAD, 3, "lease expired")
    assert [(each.number, each.error) for each in queue.history(job.id)] == [
        (number, "lease expired") for number in (1, 2, 3)
    ]


def test_a_requeued_job_has_all_its_attempts_and_its_history(queue: Queue) -> None:
    job = queue.enqueue(max_attempts=2, backoff_seconds=0, priority=4)
    for error in ("one", "two"):
        queue.claim_one()
        queue.engine.fail(job.id, error=error)
    again = queue.engine.requeue(job.id)
    assert (again.status, again.attempts, again.priority) == (Status.QUEUED, 0, 4)
    assert again.created_at == job.created_at
    assert [each.error for each in queue.history(job.id)] == ["one", "two"]
    assert queue.claim_one().attempts == 1
    assert queue.engine.fail(job.id, error="three").status is Status.QUEUED
    assert [(each.number, each.attempt) for each in queue.history(job.id)] == [
        (1, 1),
        (2, 2),
        (3, 1),
    ]


def test_a_snooze_uses_no_attempt(queue: Queue) -> None:
    job = queue.enqueue(max_attempts=2)
    for _ in range(10):
        token = queue.claim_one().lease_token
        released = queue.engine.release(job.id, lease_token=token)
    assert (released.status, released.attempts) == (Status.QUEUED, 0)
    assert queue.history(job.id) == []


def test_a_late_worker_overwrites_nothing(queue: Queue) -> None:
    job = queue.enqueue(backoff_seconds=0)
    late = queue.claim_one(worker_id="a", lease_seconds=2).lease_token
    queue.clock.advance(seconds=2, ms=1)
    now = queue.claim_one(worker_id="b")
    before = queue.stored(job.id)
    engine = queue.engine
    verbs: list[Callable[[], Job]] = [
        lambda: engine.complete(job.id, lease_token=late),
        lambda: engine.fail(job.id, lease_token=late, error="late"),
        lambda: engine.heartbeat(job.id, lease_token=late),
        lambda: engine.release(job.id, lease_token=late),
    ]
    for verb in verbs:
        with pytest.raises(LeaseLostError):
            verb()
        assert queue.stored(job.id) == before
    assert engine.complete(job.id, lease_token=now.lease_token).claimed_by == "b"


def test_a_large_payload_comes_back_whole(queue: Queue) -> None:
    payload, result = f'"{"é" * 5000}"', f'"{"x" * 5000}"'
    job = queue.enqueue(payload=payload)
    assert queue.claim_one().payload.text == payload
    queue.engine.complete(job.id, result=result)
    whole, history = queue.engine.get(job.id)
    assert (whole.payload.text, whole.result and whole.result.text) == (payload, result)
    assert history == []


def test_what_is_not_there_is_not_found(queue: Queue) -> None:
    with pytest.raises(JobNotFoundError, match="there is no job 404"):
        queue.engine.get(404)


# -- asked again -------------------------------------------------------------------------


def test_the_same_request_twice_has_one_effect(queue: Queue) -> None:
    job = queue.enqueue(max_attempts=2)
    token = queue.claim_one().lease_token
    first = queue.engine.fail(job.id, lease_token=token, error="boom")
    queue.clock.advance(seconds=1)
    assert queue.engine.fail(job.id, lease_token=token, error="boom") == first
    assert len(queue.history(job.id)) == 1
    queue.clock.advance(seconds=30)
    token = queue.claim_one().lease_token
    done = queue.engine.complete(job.id, lease_token=token, result="1")
    assert queue.engine.complete(job.id, lease_token=token, result="1") == done
    with pytest.raises(WrongStatusError):
        queue.engine.complete(job.id, lease_token=token, result="2")
    assert [action for action, _ in queue.seen].count(Action.COMPLETE) == 1


def test_a_failure_is_answered_with_its_error_as_the_history_keeps_it(queue: Queue) -> None:
    job = queue.enqueue()
    token = queue.claim_one().lease_token
    answered = queue.engine.fail(job.id, lease_token=token, error="é" * 50_000)
    (attempt,) = queue.history(job.id)
    assert answered.last_error == attempt.error
    kept = queue.record(job.id).last_error
    assert kept is not None
    assert len(kept.encode()) <= 512


# -- tokens ------------------------------------------------------------------------------


def test_a_queue_may_insist_on_the_token() -> None:
    queue = Queue(require_lease_token=True)
    job = queue.enqueue()
    token = queue.claim_one().lease_token
    before = queue.stored(job.id)
    engine = queue.engine
    verbs: list[Callable[[str | None], Job]] = [
        lambda token: engine.heartbeat(job.id, lease_token=token),
        lambda token: engine.complete(job.id, lease_token=token),
        lambda token: engine.fail(job.id, lease_token=token, error="boom"),
        lambda token: engine.release(job.id, lease_token=token),
    ]
    for verb in verbs:
        with pytest.raises(InvalidFieldError, match="is required here") as refused:
            verb(None)
        assert refused.value.field == "lease_token"
        assert queue.stored(job.id) == before
    assert engine.release(job.id, lease_token=token).status is Status.QUEUED


def test_every_claim_makes_a_token_of_its_own(queue: Queue) -> None:
    for _ in range(20):
        queue.enqueue(backoff_seconds=0)
    tokens = [job.lease_token for job in queue.claim(max_jobs=10) + queue.claim(max_jobs=10)]
    assert len(set(tokens)) == 20
    assert all(token is not None and len(token) == 32 for token in tokens)


# -- old first reads ---------------------------------------------------------------------


@pytest.fixture
def lagging() -> Queue:
    return Queue(store=LaggingStore())


def lag(queue: Queue) -> None:
    assert isinstance(queue.store, LaggingStore)
    queue.store.lag_from_here()


def test_a_job_too_new_to_be_seen_is_settled(lagging: Queue) -> None:
    lag(lagging)
    job = lagging.enqueue()
    assert lagging.engine.cancel(job.id).status is Status.CANCELLED


@pytest.mark.parametrize("with_token", [True, False])
@pytest.mark.parametrize("action", [Action.HEARTBEAT, Action.COMPLETE, Action.FAIL, Action.RELEASE])
def test_a_claim_too_new_to_be_seen_is_settled(
    lagging: Queue, action: Action, *, with_token: bool
) -> None:
    job = lagging.enqueue()
    lag(lagging)
    claimed = lagging.claim_one()
    token = claimed.lease_token if with_token else None
    engine = lagging.engine
    after = {
        Action.HEARTBEAT: lambda: engine.heartbeat(job.id, lease_token=token),
        Action.COMPLETE: lambda: engine.complete(job.id, lease_token=token),
        Action.FAIL: lambda: engine.fail(job.id, lease_token=token, error="boom"),
        Action.RELEASE: lambda: engine.release(job.id, lease_token=token),
    }[action]()
    assert lagging.record(job.id) == after
    assert lagging.seen[-1][0] is action


def test_an_earlier_run_is_not_settled_in_place_of_the_present_one(lagging: Queue) -> None:
    job = lagging.enqueue(backoff_seconds=0)
    early = lagging.claim_one(lease_seconds=1).lease_token
    lag(lagging)  # every cheap read shows the first worker's lease
    lagging.clock.advance(seconds=1, ms=1)
    lagging.engine.expire_leases()
    present = lagging.claim_one()
    before = lagging.stored(job.id)
    engine = lagging.engine
    verbs: list[Callable[[], Job]] = [
        lambda: engine.heartbeat(job.id, lease_token=early),
        lambda: engine.complete(job.id, lease_token=early),
        lambda: engine.fail(job.id, lease_token=early, error="late"),
        lambda: engine.release(job.id, lease_token=early),
    ]
    for verb in verbs:
        with pytest.raises(LeaseLostError):
            verb()
        assert lagging.stored(job.id) == before
    assert engine.complete(job.id, lease_token=present.lease_token).attempts == 2


def test_a_settlement_too_new_to_be_seen_is_recognised(lagging: Queue) -> None:
    job = lagging.enqueue()
    token = lagging.claim_one().lease_token
    lag(lagging)
    first = lagging.engine.fail(job.id, lease_token=token, error="boom")
    assert lagging.engine.fail(job.id, lease_token=token, error="boom") == first
    assert len(lagging.history(job.id)) == 1
    with pytest.raises(WrongStatusError):
        lagging.engine.complete(job.id, lease_token=token)


def test_cancel_sees_a_claim(lagging: Queue) -> None:
    job = lagging.enqueue()
    lag(lagging)
    lagging.claim_one()
    with pytest.raises(WrongStatusError) as refused:
        lagging.engine.cancel(job.id)
    assert refused.value.code == "not_queued"
    assert lagging.record(job.id).status is Status.RUNNING


def test_requeue_sees_a_death_and_another_s_requeue(lagging: Queue) -> None:
    job = lagging.enqueue(max_attempts=1)
    lag(lagging)
    lagging.claim_one()
    lagging.engine.fail(job.id, error="boom")
    assert lagging.engine.requeue(job.id).attempts == 0
    with pytest.raises(WrongStatusError) as refused:
        lagging.engine.requeue(job.id)
    assert refused.value.code == "not_dead"
    assert [each.id for each in lagging.claim()] == [job.id]


def test_delete_sees_a_requeue(lagging: Queue) -> None:
    job = lagging.in_state(Status.DEAD)
    lag(lagging)
    lagging.engine.requeue(job.id)
    with pytest.raises(WrongStatusError):
        lagging.engine.delete(job.id)
    assert lagging.record(job.id).status is Status.QUEUED


def test_a_deleted_job_is_not_found_whatever_is_still_seen(lagging: Queue) -> None:
    job = lagging.in_state(Status.DEAD)
    lag(lagging)
    lagging.engine.delete(job.id)
    with pytest.raises(JobNotFoundError):
        lagging.engine.requeue(job.id)
    with pytest.raises(JobNotFoundError):
        lagging.engine.delete(job.id)


def test_expiry_never_trusts_an_old_lease_end(lagging: Queue) -> None:
    job = lagging.enqueue()
    lagging.claim_one(lease_seconds=10)
    lag(lagging)
    lagging.clock.advance(seconds=9)
    lagging.engine.heartbeat(job.id)
    lagging.clock.advance(seconds=9)
    assert lagging.engine.expire_leases() == 0
    assert lagging.record(job.id).status is Status.RUNNING


# -- a job that never stands still -------------------------------------------------------


@pytest.mark.parametrize("status", [Status.QUEUED, Status.DEAD])
def test_a_job_that_others_keep_changing_is_too_busy(status: Status) -> None:
    calm = Queue()
    job = calm.in_state(status)
    restless = RestlessStore()
    restless.__dict__.update(calm.store.__dict__)
    queue = Queue(store=restless, random=Random(2))
    verb: Callable[[int], object] = queue.engine.cancel
    if status is Status.DEAD:
        verb = queue.engine.delete
    with pytest.raises(StoreBusyError, match="others keep changing this job"):
        verb(job.id)
    assert queue.seen == []


def test_what_an_interrupted_delete_left_can_be_deleted_again() -> None:
    class LeftoverStore(MemoryStore):
        """A store with parts of a job that has no record any more."""

        swept = 0

        def sweep(self, job_id: int) -> bool:
            """Remove them, once."""
            assert job_id == old.id
            self.swept += 1
            return self.swept == 1

    store = LeftoverStore()
    queue = Queue(store=store)
    old = queue.in_state(Status.DEAD)
    queue.clock.advance(seconds=61)
    store.delete(decisions.delete(old))
    queue.engine.delete(old.id)
    with pytest.raises(JobNotFoundError):
        queue.engine.delete(old.id)
    assert store.swept == 2


def test_a_job_that_is_just_being_stored_is_no_leftover() -> None:
    # its payload is written before its record
    class HalfStore(MemoryStore):
        """A store in which only a payload stands as yet."""

        def sweep(self, job_id: int) -> bool:
            """Must not be called."""
            raise AssertionError(job_id)

    queue = Queue(store=HalfStore())
    with pytest.raises(JobNotFoundError):
        queue.engine.delete(ids.new_id(T0, Random(1)))


def test_time_is_the_queue_s_own(queue: Queue) -> None:
    job = queue.enqueue()
    assert (job.created_at, job.run_after, job.updated_at) == (T0, T0, T0)
    queue.clock.advance(seconds=5)
    assert queue.claim_one().claimed_at == T0 + 5000
