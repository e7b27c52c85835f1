"""Claims take up leases that ended, and go on with their jobs."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.job import Job, Status
from job_retry.lanes import Partition
from job_retry.memory import MemoryStore
from job_retry.store import Page, Row
from tests.unit.builders import Queue, run_some


def test_an_idle_claim_takes_up_only_a_few(queue: Queue) -> None:
    jobs = run_some(queue, 25)
    queue.clock.advance(seconds=11)
    assert queue.claim() == []
    assert [queue.record(each).status for each in jobs].count(Status.QUEUED) == 10


def test_a_claim_that_finds_something_takes_some_up_now_and_then(queue: Queue) -> None:
    (running,) = run_some(queue, 1, lease_seconds=1)
    for _ in range(4):
        queue.enqueue()
    queue.clock.advance(seconds=1, ms=999)
    queue.claim_one()  # and looks at no ended leases, having looked less than 2 s ago
    assert queue.record(running).status is Status.RUNNING
    queue.clock.advance(ms=1)
    queue.claim_one()  # and does now
    assert queue.record(running).status is Status.QUEUED


def test_the_first_claim_of_a_process_is_spared_the_look(queue: Queue) -> None:
    (running,) = run_some(queue, 1, lease_seconds=1)
    queue.enqueue()
    queue.clock.advance(seconds=60)
    fresh = Engine(queue.store, clock=queue.clock, random=Random(1))
    assert fresh.claim(ClaimRequest()).jobs
    assert queue.record(running).status is Status.RUNNING


class WatchedStore(MemoryStore):
    """A store that notes which jobs claims were tried on, and hides some from the index."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: list[int] = []
        self.unseen: set[int] = set()
        self.looks = 0

    def claim(self, row: Row, **more: Any) -> Job:
        """Note it."""
        self.tried.append(row.id)
        return super().claim(row, **more)

    def rows(self, partition: Partition, **more: Any) -> Page:
        """Leave out what the index does not show yet."""
        self.looks += 1
        page = super().rows(partition, **more)
        waiting = partition.status is Status.QUEUED
        hidden = self.unseen if waiting else ()
        return Page([row for row in page.rows if row.id not in hidden], page.more)


@pytest.fixture
def backlog() -> Queue:
    """A queue in which much is due, whose claims choose at random."""
    queue = Queue(store=WatchedStore())
    row = Row(0, "t", 0, Partition(Status.QUEUED, "q", 0, 0))
    for _ in range(3):
        queue.engine._claimer._contention.lost(row, 0)
    return queue


def with_an_ended_lease(queue: Queue, /, **more: Any) -> int:
    """Leave a job to a worker that dies, and two hundred behind it."""
    (job,) = run_some(queue, 1, lease_seconds=2, backoff_seconds=0, **more)
    queue.clock.advance(ms=1)
    for _ in range(200):
        queue.enqueue(queue=more.get("queue", "default"))
    queue.clock.advance(seconds=2)
    return job


@pytest.mark.parametrize("index_shows_it", [True, False])
@pytest.mark.parametrize("pressed", [True, False])
def test_who_takes_up_an_ended_lease_goes_on_with_the_job(
    request: pytest.FixtureRequest, *, index_shows_it: bool, pressed: bool
) -> None:
    queue = request.getfixturevalue("backlog") if pressed else Queue(store=WatchedStore())
    store: Any = queue.store
    job = with_an_ended_lease(queue)
    store.unseen = set() if index_shows_it else {job}
    store.tried.clear()
    claimed = queue.claim(max_jobs=5)
    assert claimed[0].id == job
    assert claimed[0].attempts == 2
    assert len({each.id for each in claimed}) == 5
    assert store.tried == [each.id for each in claimed]


def test_so_does_an_idle_claim_before_the_index_shows_it() -> None:
    store = WatchedStore()
    queue = Queue(store=store)
    (job,) = run_some(queue, 1, lease_seconds=2, backoff_seconds=0)
    store.unseen = {job}
    queue.clock.advance(seconds=1)
    assert queue.claim() == []  # and has looked
    queue.clock.advance(seconds=1, ms=1)
    assert queue.claim_one().id == job


@pytest.mark.parametrize("waited", [1, 3])  # since the last look at ended leases
def test_an_idle_claim_overlooks_no_new_priority(waited: int) -> None:
    queue = Queue()
    queue.enqueue()
    queue.claim_one()
    other = Queue(store=queue.store, clock=queue.clock, random=Random(2))
    job = other.enqueue(priority=9)
    queue.clock.advance(seconds=waited)
    assert queue.claim_one().id == job.id


@pytest.mark.parametrize("waited", [1.5, 2, 3])
def test_a_job_that_is_not_due_again_is_not_looked_for(waited: float) -> None:
    store = WatchedStore()
    queue = Queue(store=store)
    run_some(queue, 1, lease_seconds=1, backoff_seconds=9)
    queue.claim()
    queue.clock.advance(seconds=waited)
    store.looks = 0
    assert queue.claim() == []
    assert store.looks == 2  # at what waits and at what runs


def test_no_more_is_taken_than_was_asked_for() -> None:
    queue = Queue()
    jobs = run_some(queue, 3, lease_seconds=2, backoff_seconds=0)
    queue.clock.advance(seconds=3)
    assert len(queue.claim(max_jobs=2)) == 2
    assert [queue.record(each).status for each in jobs].count(Status.QUEUED) == 1


def test_a_job_that_died_is_not_claimed() -> None:
    store = WatchedStore()
    queue = Queue(store=store)
    run_some(queue, 1, lease_seconds=1, backoff_seconds=0, max_attempts=1)
    queue.clock.advance(seconds=3)
    store.tried.clear()
    assert queue.claim() == []
    assert store.tried == []


def test_it_is_claimed_though_reads_are_behind(backlog: Queue) -> None:
    store: Any = backlog.store
    job = with_an_ended_lease(backlog)
    backlog.engine._claimer._contention._lost = 1  # so that records are read before a write
    before = store.read_many([job])
    store.read_many = lambda ids: MemoryStore.read_many(store, ids) | before
    assert backlog.claim_one().id == job


def test_it_is_no_reason_to_leave_a_higher_priority(backlog: Queue) -> None:
    job = with_an_ended_lease(backlog)
    first = backlog.enqueue(priority=9)
    assert [each.id for each in backlog.claim(max_jobs=2)] == [first.id, job]


def test_nor_a_queue_that_is_preferred(backlog: Queue) -> None:
    job = with_an_ended_lease(backlog, queue="second")
    first = backlog.enqueue(queue="first")
    assert [each.id for each in backlog.claim("first", "second", max_jobs=2)] == [first.id, job]


def test_nor_to_take_a_type_that_was_not_asked_for(backlog: Queue) -> None:
    job = with_an_ended_lease(backlog, job_type="theirs")
    assert {each.job_type for each in backlog.claim(job_types=frozenset({"mail"}))} == {"mail"}
    assert backlog.record(job).status is Status.QUEUED
