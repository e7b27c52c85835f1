"""Priorities in queues of several lanes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from job_retry.job import Status
from job_retry.memory import MemoryStore
from tests.unit.builders import Queue

if TYPE_CHECKING:
    from job_retry.lanes import Partition
    from job_retry.store import Page


class LookedAtStore(MemoryStore):
    """A store that counts the looks at each priority's waiting jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: Counter[int] = Counter()
        self.rows_asked_for: Counter[int] = Counter()

    def rows(self, partition: Partition, *, limit: int, **more: Any) -> Page:
        """Count it."""
        if partition.status is Status.QUEUED:
            self.looks[partition.priority] += 1
            self.rows_asked_for[partition.priority] += limit
        return super().rows(partition, limit=limit, **more)


def a_queue(lanes: int, *, seed: int = 1, pressed: bool = False) -> Queue:
    """Return a queue of some lanes with two hundred jobs of priority 0 due in each."""
    store = LookedAtStore()
    queue = Queue(store=store, random=Random(seed))
    for priority in (0, 9):  # both are in use from now on
        queue.enqueue(priority=priority)
        queue.claim_one()
    record = store.queue("default")
    assert record is not None
    store.save_queue(
        replace(record, lanes=lanes, lanes_before=lanes, lanes_read=lanes, lanes_ever=lanes)
    )
    queue.clock.advance(seconds=11)
    for _ in range(20 * lanes):
        queue.enqueue()
    if pressed:
        queue.engine._claimer._contention._rows = 200
    return queue


@pytest.mark.parametrize("pressed", [False, True])
@pytest.mark.parametrize("lanes", [2, 8])
def test_the_highest_comes_first_from_whichever_lane(lanes: int, *, pressed: bool) -> None:
    queue = a_queue(lanes, pressed=pressed)
    for _ in range(5 * lanes):
        first = queue.enqueue(priority=9)
        assert queue.claim_one().id == first.id
        assert queue.claim_one().priority == 0
        queue.clock.advance(ms=7)


@pytest.mark.parametrize("pressed", [False, True])
def test_a_batch_has_all_of_the_highest_before_any_other(*, pressed: bool) -> None:
    queue = a_queue(8, pressed=pressed)
    for _ in range(20):
        for _ in range(6):
            queue.enqueue(priority=9)
        claimed = [job.priority for job in queue.claim(max_jobs=10)]
        assert claimed == [9] * 6 + [0] * 4


@pytest.mark.parametrize("seed", range(5))
def test_among_many_lanes_it_waits_for_a_few_claims(seed: int) -> None:
    queue = a_queue(64, seed=seed)
    for _ in range(10):
        first = queue.enqueue(priority=9)
        before = 0
        while queue.claim_one().id != first.id:
            before += 1
            queue.clock.advance(ms=5)
        assert before < 64 / 8


@pytest.mark.parametrize("seed", range(5))
def test_what_another_has_taken_since_is_not_counted_on(seed: int) -> None:
    ours = a_queue(8, seed=seed)
    other = Queue(store=ours.store, clock=ours.clock, random=Random(seed + 100))
    for _ in range(24):
        ours.enqueue(priority=9)
    claimed = [queue.claim_one().priority for _ in range(12) for queue in (ours, other)]
    assert claimed == [9] * 24


def test_nor_a_job_of_a_type_that_was_not_asked_for() -> None:
    queue = a_queue(8)
    queue.enqueue("other", priority=9)
    for _ in range(20):
        first = queue.enqueue(priority=9)
        assert queue.claim_one(job_types=frozenset({"mail"})).id == first.id
        assert queue.claim_one(job_types=frozenset({"mail"})).priority == 0


@pytest.mark.parametrize("lanes", [8, 64])
def test_a_claim_looks_at_eight_lanes_more_of_the_higher_and_one_of_the_lowest(lanes: int) -> None:
    queue = a_queue(lanes)
    store: Any = queue.store
    for _ in range(10):
        queue.claim_one()
    store.looks.clear()
    for _ in range(50):
        assert queue.claim_one().priority == 0
        queue.clock.advance(ms=20)
    assert store.looks[9] <= 50 * 9
    assert store.looks[0] <= 50 * 2


def test_under_press_the_rows_of_a_priority_are_shared_out_among_its_lanes() -> None:
    queue = a_queue(8, pressed=True)
    store: Any = queue.store
    for _ in range(100):
        queue.enqueue(priority=9)
    store.rows_asked_for.clear()
    queue.claim(max_jobs=10)
    assert store.rows_asked_for[9] == 8 * 25
