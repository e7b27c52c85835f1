"""The claim: what it takes first, what it never overlooks, and how it gives way."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_retry.claiming import MAX_RETRY_AFTER_SECONDS, Claimer, ClaimRequest, Taken
from job_retry.errors import StoreUnavailableError
from job_retry.job import Job, NewJob, Status
from job_retry.memory import MemoryStore
from tests.unit.builders import T0, ContendedStore, Queue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from job_retry.lanes import Partition
    from job_retry.store import Page, Row, Start

WINDOW = 25
TRIES = 6
CALM_CLAIMS = 46  # after one conflict


def ids_of(jobs: Sequence[Job]) -> list[int]:
    return [job.id for job in jobs]


def enqueue_some(queue: Queue, count: int, /, **more: Any) -> list[int]:
    """Enqueue jobs, each due a millisecond after the one before; all are due afterwards."""
    start = queue.clock.now
    jobs = [queue.enqueue(run_after=start + number, **more) for number in range(count)]
    queue.clock.advance(ms=count)
    return ids_of(jobs)


def take(queue: Queue, **more: Any) -> Taken:
    return queue.engine.claim(ClaimRequest(**more))


# -- order -------------------------------------------------------------------------------


def test_the_oldest_due_comes_first(queue: Queue) -> None:
    wanted = enqueue_some(queue, 5)
    assert [queue.claim_one().id for _ in range(5)] == wanted
    assert queue.claim() == []


def test_due_counts_not_creation(queue: Queue) -> None:
    late = queue.enqueue(run_after=T0 + 2)
    early = queue.enqueue(run_after=T0 - 1)
    queue.clock.advance(ms=2)
    assert [queue.claim_one().id for _ in range(2)] == [early.id, late.id]


def test_the_highest_priority_comes_first(queue: Queue) -> None:
    by_priority = {priority: queue.enqueue(priority=priority).id for priority in (0, 5, 9, 1, 8)}
    assert [queue.claim_one().id for _ in range(5)] == [
        by_priority[priority] for priority in (9, 8, 5, 1, 0)
    ]


def test_a_priority_that_is_not_due_hides_nothing(queue: Queue) -> None:
    queue.enqueue(priority=9, run_after=T0 + 86_400_000)
    low = queue.enqueue(priority=0)
    assert queue.claim_one().id == low.id


def test_a_retried_job_keeps_its_priority(queue: Queue) -> None:
    queue.enqueue(priority=0)
    high = queue.enqueue(priority=9, backoff_seconds=0)
    assert queue.claim_one().id == high.id
    queue.engine.fail(high.id, error="boom")
    assert queue.claim_one().id == high.id


def test_queues_are_asked_in_order_of_preference(queue: Queue) -> None:
    # older, and of higher priority: the queue named first still comes first
    second = queue.enqueue(queue="second", priority=9, run_after=T0 - 1000)
    first = [queue.enqueue(queue="first").id for _ in range(2)]
    got = [queue.claim("first", "empty", "second")[0].id for _ in range(3)]
    assert sorted(got[:2]) == sorted(first)
    assert got[2] == second.id


def test_a_queue_that_was_not_named_is_left_alone(queue: Queue) -> None:
    queue.enqueue(queue="other")
    assert queue.claim("default", "another") == []


def test_a_batch_fills_up_across_priorities_and_queues(queue: Queue) -> None:
    low = enqueue_some(queue, 2, queue="a", priority=0)
    high = enqueue_some(queue, 2, queue="a", priority=3)
    rest = enqueue_some(queue, 3, queue="b")
    assert ids_of(queue.claim("a", "b", max_jobs=6)) == high + low + rest[:2]


@pytest.mark.parametrize("most", [1, 2, 10])
def test_no_more_than_asked_for(queue: Queue, most: int) -> None:
    enqueue_some(queue, 12)
    taken = queue.claim(max_jobs=most)
    assert len(taken) == most
    assert len({job.lease_token for job in taken}) == most


# -- job types ---------------------------------------------------------------------------


def test_only_the_types_asked_for(queue: Queue) -> None:
    queue.enqueue("a")
    wanted = queue.enqueue("b")
    assert queue.claim_one(job_types=frozenset({"b", "c"})).id == wanted.id
    assert queue.claim(job_types=frozenset({"b", "c"})) == []


@pytest.mark.parametrize("others", [WINDOW - 1, WINDOW, WINDOW + 1, 400])
def test_a_job_is_found_behind_any_number_of_others(queue: Queue, others: int) -> None:
    enqueue_some(queue, others, job_type="other")
    wanted = enqueue_some(queue, 2, job_type="mine")
    assert ids_of(queue.claim(job_types=frozenset({"mine"}), max_jobs=3)) == wanted


def test_it_is_found_among_others_of_one_moment(queue: Queue) -> None:
    # only the id tells where the next page begins
    for _ in range(60):
        queue.enqueue("other")
    wanted = queue.enqueue("mine")
    for _ in range(60):
        queue.enqueue("other")
    assert queue.claim_one(job_types=frozenset({"mine"})).id == wanted.id


@given(st.lists(st.sampled_from("abc"), max_size=70), st.integers(1, 10), st.integers(0, 2))
def test_nothing_due_is_overlooked(types: list[str], most: int, ties: int) -> None:
    queue = Queue()
    jobs = [queue.enqueue(each, run_after=T0 - number * ties) for number, each in enumerate(types)]
    wanted = [job for job in jobs if job.job_type == "a"]
    got: list[Job] = []
    while claimed := queue.claim(job_types=frozenset({"a"}), max_jobs=most):
        got += claimed
    assert sorted(ids_of(got)) == sorted(ids_of(wanted))
    due = {job.id: job.run_after for job in jobs}
    assert [due[job.id] for job in got] == sorted(due[job.id] for job in wanted)


# -- when to come back -------------------------------------------------------------------


def test_an_empty_queue_is_asked_less_and_less(queue: Queue) -> None:
    pauses = []
    for _ in range(30):
        taken = take(queue)
        assert (taken.jobs, taken.next_due) == ([], None)
        pauses.append(taken.retry_after_seconds)
        queue.clock.advance(seconds=pauses[-1])
    assert pauses[0] < 0.5
    assert sum(pauses[:20]) > 20
    assert all(15 <= each <= MAX_RETRY_AFTER_SECONDS for each in pauses[-5:])


def test_a_job_shortens_the_pause_again(queue: Queue) -> None:
    for _ in range(30):
        queue.clock.advance(seconds=take(queue).retry_after_seconds)
    enqueue_some(queue, 30)
    while queue.claim():
        queue.clock.advance(seconds=0.1)
    assert take(queue).retry_after_seconds < 1


def test_where_jobs_came_lately_others_may_come_before_the_one_that_waits(queue: Queue) -> None:
    queue.enqueue()
    queue.claim_one()
    queue.enqueue(run_after=queue.clock.now + 15_000)
    taken = take(queue)
    assert taken.next_due == queue.clock.now + 15_000
    assert taken.retry_after_seconds < 1


@pytest.mark.parametrize(
    ("wait_ms", "seconds"), [(1, 0.001), (1500, 1.5), (20_000, 20.0), (86_400_000, 20.0)]
)
def test_a_waiting_job_says_when_it_is_due(queue: Queue, wait_ms: int, seconds: float) -> None:
    queue.enqueue(run_after=T0 + wait_ms)
    taken = take(queue)
    assert taken.next_due == T0 + wait_ms
    assert taken.retry_after_seconds == seconds <= MAX_RETRY_AFTER_SECONDS


def test_the_first_that_is_due_counts_wherever_it_stands(queue: Queue) -> None:
    for name, priority, wait in [("a", 9, 9000), ("a", 0, 3000), ("b", 5, 4000), ("b", 4, 5000)]:
        queue.enqueue(queue=name, priority=priority, run_after=T0 + wait)
    assert take(queue, queues=["a", "b"]).next_due == T0 + 3000
    assert take(queue, queues=["b"]).next_due == T0 + 4000


def test_it_is_seen_behind_due_jobs_of_other_types(queue: Queue) -> None:
    enqueue_some(queue, 30, job_type="other")
    queue.enqueue("mine", run_after=queue.clock.now + 700)
    taken = take(queue, job_types=frozenset({"mine"}))
    assert taken.retry_after_seconds == 0.7


def test_a_time_that_passed_is_no_negative_wait() -> None:
    assert Taken(T0, next_due=T0 - 1).retry_after_seconds == 0


def test_conflicts_mean_to_come_back_at_once() -> None:
    assert Taken(T0, next_due=T0 + 9000, gave_up=True).retry_after_seconds == 0.1


# -- before it says that there is nothing ------------------------------------------------


def test_an_expired_lease_is_taken_up_by_the_way(queue: Queue) -> None:
    job = queue.enqueue(backoff_seconds=0)
    queue.claim_one(lease_seconds=2)
    queue.clock.advance(seconds=2)
    assert queue.claim() == []
    queue.clock.advance(ms=1)
    again = queue.claim_one()
    assert (again.id, again.attempts) == (job.id, 2)


def test_an_expired_job_still_waits_for_its_backoff(queue: Queue) -> None:
    job = queue.enqueue(backoff_seconds=30)
    queue.claim_one(lease_seconds=2)
    queue.clock.advance(seconds=3)
    assert queue.claim() == []
    assert queue.record(job.id).status is Status.QUEUED
    queue.clock.advance(seconds=30)
    assert queue.claim_one().id == job.id


def test_a_job_waits_out_a_delay_longer_than_a_lease(queue: Queue) -> None:
    job = queue.enqueue(run_after=T0 + 10_000, lease_seconds=2)
    for _ in range(10):
        assert not any(queue.claim() for _ in range(3))
        queue.clock.advance(seconds=1)
    assert [ids_of(queue.claim()) for _ in range(3)] == [[job.id], [], []]


def test_a_priority_that_another_process_began_is_found(queue: Queue) -> None:
    queue.enqueue()
    queue.claim_one()  # this process now knows the queue as one of priority 0
    other = Queue(store=queue.store, random=Random(2))
    queue.clock.advance(ms=1)
    job = other.enqueue(priority=7)
    assert queue.claim_one().id == job.id


# -- others at the same queue ------------------------------------------------------------


def contended(count: int, theirs: set[int]) -> tuple[Queue, ContendedStore, list[int]]:
    """Return a queue of which the jobs at these places go to another worker."""
    store = ContendedStore(set())
    queue = Queue(store=store)
    jobs = enqueue_some(queue, count)
    store.theirs = {jobs[place] for place in theirs}
    return queue, store, jobs


def test_a_lost_job_is_no_error_the_next_is_tried() -> None:
    queue, store, jobs = contended(10, {0})
    (got,) = queue.claim()
    assert got.id in jobs[1:]
    assert got.claimed_by is None
    assert store.tried == [jobs[0], got.id]
    assert queue.record(jobs[0]).claimed_by == "other"


def test_alone_it_is_strictly_in_order() -> None:
    queue, store, jobs = contended(60, set())
    for _ in range(60):
        queue.claim()
    assert store.tried == jobs


def test_after_a_conflict_it_chooses_at_random_and_calms_down() -> None:
    queue, _, jobs = contended(200, {0})
    queue.claim()
    gone = {jobs[0], queue.seen[-1][1].id}
    heads = []
    for _ in range(CALM_CLAIMS + 10):
        waiting = [each for each in jobs if each not in gone]
        (got,) = queue.claim()
        heads.append(got.id == waiting[0])
        assert got.id in waiting[: 2 * WINDOW]
        gone.add(got.id)
    assert sum(heads[:CALM_CLAIMS]) < CALM_CLAIMS / 2
    assert all(heads[CALM_CLAIMS:])


def test_every_conflict_begins_the_time_of_chance_anew() -> None:
    queue, store, jobs = contended(200, {0})
    for _ in range(CALM_CLAIMS):
        queue.claim()
    store.theirs = None
    assert queue.claim() == []
    store.theirs = set()
    waiting = [each for each in jobs if queue.record(each).status is Status.QUEUED]
    got = [queue.claim_one().id for _ in range(10)]
    assert got != waiting[:10]


def test_a_batch_replaces_what_it_lost() -> None:
    queue, _, jobs = contended(30, {0, 2, 4, 6, 8})
    got = ids_of(queue.claim(max_jobs=10))
    assert len(set(got)) == 10
    assert not set(got) & {jobs[place] for place in (0, 2, 4, 6, 8)}


def test_it_gives_up_after_so_many_lost_writes_and_says_so() -> None:
    store = ContendedStore()
    queue = Queue(store=store)
    jobs = enqueue_some(queue, 3 * TRIES)
    claimer = Claimer(store, Random(1))
    record = store.queue("default")
    assert record is not None
    taken = claimer.take(ClaimRequest(), [record], queue.clock.now)
    assert taken.jobs == []
    assert taken.conflicts == len(store.tried) == TRIES
    assert len(set(store.tried)) == TRIES
    assert taken.retry_after_seconds == 0.1
    assert len(jobs) > TRIES


def test_two_workers_at_once_share_out_all_jobs() -> None:
    store = MemoryStore()
    queues = [Queue(store=store, random=Random(seed)) for seed in range(3)]
    jobs = enqueue_some(queues[0], 100)
    for queue in queues:
        queue.clock.now = queues[0].clock.now
    got: list[int] = []
    while True:
        some = [job for queue in queues for job in queue.claim(worker_id="same", max_jobs=4)]
        if not some:
            break
        got += ids_of(some)
    assert sorted(got) == sorted(jobs)


# -- a store that fails ------------------------------------------------------------------


class FailingStore(MemoryStore):
    """A store that does not answer the claim of chosen jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: set[int] = set()

    def claim(
        self,
        row: Row,
        *,
        lease_token: str,
        worker_id: str | None,
        lease_seconds: int | None,
        now: int,
    ) -> Job:
        """Fail, or claim."""
        if row.id in self.failing:
            raise StoreUnavailableError("no answer")
        return super().claim(
            row, lease_token=lease_token, worker_id=worker_id, lease_seconds=lease_seconds, now=now
        )


def test_a_store_that_does_not_answer_is_an_error() -> None:
    store = FailingStore()
    queue = Queue(store=store)
    store.failing = set(enqueue_some(queue, 3))
    with pytest.raises(StoreUnavailableError):
        queue.claim(max_jobs=3)


def test_what_is_leased_is_handed_over_all_the_same() -> None:
    store = FailingStore()
    queue = Queue(store=store)
    jobs = enqueue_some(queue, 12)
    store.failing = {jobs[1]}
    got = queue.claim(max_jobs=3)
    assert ids_of(got) == [jobs[0], jobs[2]]
    running = [each for each in jobs if queue.record(each).status is Status.RUNNING]
    assert running == ids_of(got)


class PartlyReadableStore(MemoryStore):
    """A store that does not answer for the rows of one priority."""

    def rows(
        self,
        partition: Partition,
        *,
        limit: int,
        newest_first: bool = False,
        start: Start | None = None,
    ) -> Page:
        """Fail, or read."""
        if partition.priority == 0:
            raise StoreUnavailableError("no answer")
        return super().rows(partition, limit=limit, newest_first=newest_first, start=start)


def test_it_is_handed_over_too_where_the_rest_cannot_be_looked_at() -> None:
    queue = Queue(store=PartlyReadableStore())
    queue.enqueue(priority=0)
    high = queue.enqueue(priority=1)
    assert ids_of(queue.claim(max_jobs=2)) == [high.id]
    with pytest.raises(StoreUnavailableError):
        queue.claim(max_jobs=2)


# -- what it costs -----------------------------------------------------------------------


class CountingStore(MemoryStore):
    """A store that counts the rows it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: list[int] = []

    def rows(
        self,
        partition: Partition,
        *,
        limit: int,
        newest_first: bool = False,
        start: Start | None = None,
    ) -> Page:
        """Count, and read."""
        self.limits.append(limit)
        return super().rows(partition, limit=limit, newest_first=newest_first, start=start)


def test_a_claim_of_one_job_looks_at_one_window() -> None:
    store = CountingStore()
    queue = Queue(store=store)
    enqueue_some(queue, 100)
    store.limits.clear()
    queue.claim()
    assert store.limits == [WINDOW]


# -- many lanes --------------------------------------------------------------------------

LANES = 64


def use_lanes(queue: Queue, lanes: int) -> None:
    """Give an empty queue so many lanes, of one priority, long ago."""
    queue.enqueue()
    queue.claim_one()
    record = queue.store.queue("default")
    assert record is not None
    queue.store.save_queue(
        replace(record, lanes=lanes, lanes_before=lanes, lanes_read=lanes, lanes_ever=lanes)
    )
    queue.clock.advance(seconds=11)


@pytest.fixture
def wide() -> tuple[Queue, CountingStore]:
    """A queue of many lanes, empty, and its store."""
    store = CountingStore()
    queue = Queue(store=store)
    use_lanes(queue, LANES)
    store.limits.clear()
    return queue, store


def test_a_claim_of_a_full_queue_looks_at_one_lane(wide: tuple[Queue, CountingStore]) -> None:
    queue, store = wide
    for _ in range(10):
        enqueue_some(queue, 2 * LANES)
    for _ in range(3 * LANES):  # until each lane was seen
        queue.claim_one()
    store.limits.clear()
    for _ in range(100):
        queue.claim_one()
    assert len(store.limits) == 100


def test_an_idle_claim_does_not_look_at_every_lane(wide: tuple[Queue, CountingStore]) -> None:
    queue, store = wide
    for _ in range(20):
        store.limits.clear()
        taken = take(queue)
        assert len(store.limits) < LANES / 2
        queue.clock.advance(seconds=taken.retry_after_seconds)


def test_many_workers_that_ask_share_the_looks(wide: tuple[Queue, CountingStore]) -> None:
    queue, store = wide
    for _ in range(100):  # in one second
        take(queue)
        queue.clock.advance(ms=10)
    assert len(store.limits) < 6 * 100


def test_no_lane_goes_unseen_for_long(wide: tuple[Queue, CountingStore]) -> None:
    queue, _ = wide
    for _ in range(LANES):
        job = queue.enqueue()
        for _ in range(5):
            taken = take(queue)
            if taken.jobs:
                break
            assert taken.retry_after_seconds <= 5
            queue.clock.advance(seconds=taken.retry_after_seconds)
        assert ids_of(taken.jobs) == [job.id]


def test_a_claim_in_vain_says_that_it_has_not_looked_at_all_lanes(
    wide: tuple[Queue, CountingStore],
) -> None:
    queue, _ = wide
    for _ in range(10):
        assert take(queue).lanes_unseen
        queue.clock.advance(ms=100)


@pytest.mark.parametrize("lanes", [1, 8, 20])
def test_where_a_queue_has_few_lanes_it_has(lanes: int) -> None:
    queue = Queue()
    use_lanes(queue, lanes)
    for _ in range(10):
        taken = take(queue)
        assert (taken.jobs, taken.lanes_unseen) == ([], False)
        queue.clock.advance(ms=100)


def test_unseen_lanes_of_one_queue_of_several_count(wide: tuple[Queue, CountingStore]) -> None:
    queue, _ = wide
    queue.engine.enqueue(NewJob(job_type="mail", queue="narrow"))
    assert take(queue, queues=["narrow"]).jobs
    assert take(queue, queues=["default", "narrow"]).lanes_unseen
    assert take(queue, queues=["narrow", "default"]).lanes_unseen
    assert not take(queue, queues=["narrow"]).lanes_unseen


def test_eight_claims_a_tenth_of_a_second_apart_find_what_is_due(
    wide: tuple[Queue, CountingStore],
) -> None:
    """So a worker counts on it that ends when nothing is due: `_MOST_LOOKS`."""
    queue, _ = wide
    for _ in range(LANES):
        job = queue.enqueue()
        found: list[Job] = []
        for _ in range(8):
            found += take(queue).jobs
            queue.clock.advance(ms=100)
        assert ids_of(found) == [job.id]


def test_alone_it_takes_the_oldest_of_all_lanes_it_knows(
    wide: tuple[Queue, CountingStore],
) -> None:
    queue, _ = wide
    jobs = [job for _ in range(10) for job in enqueue_some(queue, LANES)]
    got = [queue.claim_one().id for _ in jobs]
    assert sorted(got) == sorted(jobs)
    late = [place - jobs.index(each) for place, each in enumerate(got)]
    assert max(late[2 * LANES :]) <= 2


# -- an index that lags ------------------------------------------------------------------


class LaggingIndex(MemoryStore):
    """A store the rows of which are those of a moment that a test chose."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: Page | None = None

    def rows(
        self,
        partition: Partition,
        *,
        limit: int,
        newest_first: bool = False,
        start: Start | None = None,
    ) -> Page:
        """Return what was kept, or what there is."""
        if self.shown is None or partition.status is not Status.QUEUED:
            return super().rows(partition, limit=limit, newest_first=newest_first, start=start)
        return self.shown

    def keep(self) -> None:
        """Show from now on what is there now."""
        record = self.queue("default")
        assert record is not None
        (partition,) = record.partitions(Status.QUEUED)
        self.shown = self.rows(partition, limit=WINDOW)


def test_it_does_not_run_after_what_it_took_itself() -> None:
    store = LaggingIndex()
    queue = Queue(store=store)
    jobs = enqueue_some(queue, 5)
    store.keep()
    for each in jobs:
        (got,) = take(queue).jobs
        assert got.id == each
        queue.clock.advance(ms=10)
    taken = take(queue)
    assert (taken.jobs, taken.conflicts) == ([], 0)


def test_a_job_that_was_given_back_for_the_same_moment_is_found_again() -> None:
    store = LaggingIndex()
    queue = Queue(store=store)
    (job,) = enqueue_some(queue, 1)
    store.keep()
    queue.claim_one()
    queue.engine.release(job, run_after=T0)  # the very moment it had before
    queue.clock.advance(ms=10)
    assert queue.claim_one().id == job


def test_under_hard_press_it_looks_at_the_records_before_it_writes() -> None:
    store = ContendedStore()
    queue = Queue(store=store)
    enqueue_some(queue, 100)
    queue.claim()
    queue.clock.advance(ms=10)
    tried = len(store.tried)
    store.theirs = set()
    got = queue.claim_one()
    assert store.tried[tried:] == [got.id]
