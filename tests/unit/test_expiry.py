"""Leases that ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from job_retry.errors import StoreBusyError, StoreUnavailableError
from job_retry.job import Status
from job_retry.memory import MemoryStore
from job_retry.store import ChangedError
from job_retry.transitions import Action
from tests.unit.builders import Queue, run_some

if TYPE_CHECKING:
    from job_retry.decisions import Change
    from job_retry.job import Job
    from job_retry.lanes import Partition
    from job_retry.store import Page, Start


def test_every_ended_lease_is_taken_up_once(queue: Queue) -> None:
    jobs = run_some(queue, 230)
    queue.clock.advance(seconds=10, ms=1)
    assert queue.engine.expire_leases() == 230
    assert queue.engine.expire_leases() == 0
    assert {queue.record(each).status for each in jobs} == {Status.QUEUED}
    assert {len(queue.history(each)) for each in jobs} == {1}


def test_in_all_queues_and_priorities(queue: Queue) -> None:
    run_some(queue, 2, queue="a", priority=9)
    run_some(queue, 2, queue="a", priority=0)
    run_some(queue, 2, queue="b", max_attempts=1)
    queue.clock.advance(seconds=11)
    assert queue.engine.expire_leases() == 6
    told = [(action, job.status) for action, job in queue.seen if action is Action.EXPIRE]
    assert told.count((Action.EXPIRE, Status.QUEUED)) == 4
    assert told.count((Action.EXPIRE, Status.DEAD)) == 2


def test_a_lease_that_holds_is_let_be(queue: Queue) -> None:
    short = run_some(queue, 3, lease_seconds=5)
    long = run_some(queue, 3, lease_seconds=60)
    queue.clock.advance(seconds=6)
    before = [queue.stored(each) for each in long]
    assert queue.engine.expire_leases() == 3
    assert [queue.stored(each) for each in long] == before
    assert {queue.record(each).status for each in short} == {Status.QUEUED}


def test_a_heartbeat_saves_a_lease(queue: Queue) -> None:
    (job,) = run_some(queue, 1)
    queue.clock.advance(seconds=9)
    queue.engine.heartbeat(job)
    queue.clock.advance(seconds=10)
    assert queue.engine.expire_leases() == 0
    queue.clock.advance(ms=1)
    assert queue.engine.expire_leases() == 1


def test_the_backoff_runs_from_when_it_was_noticed(queue: Queue) -> None:
    (job,) = run_some(queue, 1)
    queue.clock.advance(seconds=100)
    queue.engine.expire_leases()
    assert queue.record(job).run_after == queue.clock.now + 30_000
    (attempt,) = queue.history(job)
    assert attempt.ended_at == attempt.started_at + 10_000


def test_it_stops_where_time_runs_out_and_goes_on_the_next_time(queue: Queue) -> None:
    run_some(queue, 250)
    queue.clock.advance(seconds=11)
    answers = iter([True, True, False])
    assert queue.engine.expire_leases(may_go_on=lambda: next(answers)) == 200
    assert queue.engine.expire_leases(may_go_on=lambda: False) == 0
    assert queue.engine.expire_leases() == 50


class CountingStore(MemoryStore):
    """A store that counts how many records it was asked for."""

    reads = 0

    def read(self, job_id: int, *, consistent: bool = False) -> Job | None:
        """Count, and read."""
        self.reads += 1
        return super().read(job_id, consistent=consistent)


def test_no_record_is_read_of_a_lease_that_holds() -> None:
    store = CountingStore()
    queue = Queue(store=store)
    run_some(queue, 2, lease_seconds=1)
    run_some(queue, 5, lease_seconds=60)
    queue.clock.advance(seconds=2)
    store.reads = 0
    assert queue.engine.expire_leases() == 2
    assert store.reads == 2


class FaultyStore(MemoryStore):
    """A store in which one job cannot be dealt with."""

    faulty: int | None = None

    def read(self, job_id: int, *, consistent: bool = False) -> Job | None:
        """Fail, or read."""
        if job_id == self.faulty:
            raise StoreUnavailableError("no answer")
        return super().read(job_id, consistent=consistent)


def test_one_that_fails_keeps_no_other_waiting_and_is_told_in_the_end() -> None:
    store = FaultyStore()
    queue = Queue(store=store)
    jobs = run_some(queue, 120) + run_some(queue, 3, queue="other")
    store.faulty = jobs[0]
    queue.clock.advance(seconds=11)
    with pytest.raises(StoreUnavailableError):
        queue.engine.expire_leases()
    store.faulty = None
    states = [queue.record(each).status for each in jobs]
    assert states == [Status.RUNNING] + [Status.QUEUED] * 122
    assert queue.engine.expire_leases() == 1


class PartlyReadableStore(MemoryStore):
    """A store that does not answer for the rows of one queue."""

    def rows(
        self,
        partition: Partition,
        *,
        limit: int,
        newest_first: bool = False,
        start: Start | None = None,
    ) -> Page:
        """Fail, or read."""
        if partition.queue == "faulty" and partition.status is Status.RUNNING:
            raise StoreUnavailableError("no answer")
        return super().rows(partition, limit=limit, newest_first=newest_first, start=start)


def test_nor_does_a_queue_that_cannot_be_looked_at() -> None:
    queue = Queue(store=PartlyReadableStore())
    queue.enqueue(queue="faulty")
    jobs = run_some(queue, 2, queue="a") + run_some(queue, 2, queue="z")
    queue.clock.advance(seconds=11)
    with pytest.raises(StoreUnavailableError):
        queue.engine.expire_leases()
    assert {queue.record(each).status for each in jobs} == {Status.QUEUED}


def test_an_idle_claim_does_not_tell_of_it() -> None:
    store = FaultyStore()
    queue = Queue(store=store)
    (store.faulty,) = run_some(queue, 1)
    queue.clock.advance(seconds=11)
    assert queue.claim() == []


class BlindStore(MemoryStore):
    """A store that cannot be asked for running jobs."""

    def rows(
        self,
        partition: Partition,
        *,
        limit: int,
        newest_first: bool = False,
        start: Start | None = None,
    ) -> Page:
        """Fail for running jobs."""
        if partition.status is Status.RUNNING:
            raise StoreBusyError("throttled")
        return super().rows(partition, limit=limit, newest_first=newest_first, start=start)


def test_an_idle_claim_does_not_tell_of_what_it_could_not_look_at() -> None:
    queue = Queue(store=BlindStore())
    run_some(queue, 1)
    assert queue.claim() == []


class BeatenStore(MemoryStore):
    """A store in which a heartbeat of the worker comes just before every expiry."""

    def apply(self, change: Change) -> Job:
        """Renew the lease first, where the change would end it."""
        if change.transition.action is Action.EXPIRE:
            job = self._jobs[change.before.id]
            fields = {name: getattr(job, name) for name in type(job).__dataclass_fields__}
            self._jobs[job.id] = type(job)(**fields | {"run_after": job.run_after + 60_000})
        return super().apply(change)


def test_whoever_is_quicker_wins() -> None:
    queue = Queue(store=BeatenStore())
    jobs = run_some(queue, 3)
    queue.clock.advance(seconds=11)
    assert queue.engine.expire_leases() == 0
    assert {queue.record(each).status for each in jobs} == {Status.RUNNING}
    assert not any(queue.history(each) for each in jobs)


class StuckStore(MemoryStore):
    """A store whose index still shows leases that are settled: nothing can be expired."""

    def apply(self, change: Change) -> Job:
        """Refuse every expiry."""
        if change.transition.action is Action.EXPIRE:
            raise ChangedError(None)
        return super().apply(change)


@pytest.mark.parametrize("count", [5, 150])
def test_an_index_that_lags_is_no_endless_loop(count: int) -> None:
    queue = Queue(store=StuckStore())
    run_some(queue, count)
    queue.clock.advance(seconds=11)
    assert queue.engine.expire_leases() == 0
