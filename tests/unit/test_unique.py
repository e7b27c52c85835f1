"""Unique keys: which a job takes, who holds one, and what asking twice comes to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_retry import unique
from job_retry.errors import (
    JobNotFoundError,
    KeyReusedError,
    KeyTakenByOtherError,
    StoreBusyError,
    StoreUnavailableError,
    WrongStatusError,
)
from job_retry.job import Job, KeyRecord, NewJob, Status
from job_retry.memory import MemoryStore
from job_retry.problems import problem_of
from job_retry.producing import Enqueued
from job_retry.store import IdTakenError, KeyTakenError
from job_retry.transitions import Action
from job_retry.views import enqueued_view, job_view
from tests.unit.builders import LEASE_MS, T0, LaggingStore, Queue, a_job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from job_retry.unique import KeyWrite

DAY_SECONDS = 24 * 3600
LIVE = [Status.QUEUED, Status.RUNNING]
ENDED = [Status.COMPLETED, Status.DEAD, Status.CANCELLED]


def a_new_job(**more: Any) -> NewJob:
    """Return a job to be enqueued."""
    return NewJob(**{"job_type": "mail", **more})


def once(queue: Queue, **more: Any) -> Enqueued:
    """Enqueue a job, if there is none yet."""
    return queue.engine.enqueue_once(a_new_job(**more))


# -- the keys of a job -------------------------------------------------------------------


def test_a_job_without_keys_takes_none() -> None:
    assert unique.new_keys(a_new_job(), 7, T0, {}) == []
    assert unique.unique_record(a_new_job(), 7, T0) is None


def test_a_unique_key_is_held_while_its_job_lives() -> None:
    [write] = unique.new_keys(a_new_job(queue="q", unique_key="a#b"), 7, T0, {})
    assert write.record == KeyRecord("unique#q#a#b", 7, 0, unique.content_of(a_new_job()), 0)
    assert write.instead_of is None
    assert not write.goes_by_itself


def test_a_unique_key_may_be_held_for_a_time() -> None:
    [write] = unique.new_keys(a_new_job(unique_key="k", unique_for_seconds=60), 7, T0, {})
    assert write.record.until == T0 + 60_000
    assert not write.goes_by_itself


def test_an_idempotency_key_is_held_for_a_day_and_goes_by_itself() -> None:
    [write] = unique.new_keys(a_new_job(queue="q", idempotency_key="k"), 7, T0, {})
    assert write.record.key == "idempotency#q#k"
    assert write.record.until == T0 + DAY_SECONDS * 1000
    assert write.goes_by_itself


def test_both_keys_are_two_and_the_request_comes_first() -> None:
    new = a_new_job(unique_key="k", idempotency_key="k")
    first, second = unique.new_keys(new, 7, T0, {})
    assert (first.record.key, second.record.key) == ("idempotency#default#k", "unique#default#k")


def test_what_was_seen_is_written_over() -> None:
    new = a_new_job(unique_key="k", idempotency_key="k")
    seen = KeyRecord("unique#default#k", 5, 2, "content", 0)
    first, second = unique.new_keys(new, 7, T0, {seen.key: seen})
    assert (first.instead_of, second.instead_of) == (None, seen)


@given(st.lists(st.tuples(st.text("ab.#", min_size=1), st.text("ab.#", min_size=1)), max_size=9))
def test_no_two_keys_share_a_record(pairs: list[tuple[str, str]]) -> None:
    named = {(queue.replace("#", ""), key) for queue, key in pairs}
    keys = [
        write.record.key
        for queue, key in named
        for write in unique.new_keys(
            a_new_job(queue=queue, unique_key=key, idempotency_key=key), 7, T0, {}
        )
    ]
    assert len(set(keys)) == len(keys) == 2 * len(named)


def test_the_content_is_the_type_and_the_payload() -> None:
    asked = a_new_job(payload='{"a":1}')
    same = [replace(asked, priority=9), replace(asked, queue="q"), replace(asked, unique_key="k")]
    other = [replace(asked, job_type="male"), replace(asked, payload='{"a":2}')]
    assert {unique.content_of(each) for each in same} == {unique.content_of(asked)}
    assert unique.content_of(asked) not in {unique.content_of(each) for each in other}
    assert unique.content_of(a_new_job(payload='"\\ud800"'))


@pytest.mark.parametrize("until", [0, T0])
def test_a_key_without_time_left_is_held_by_a_live_job_alone(until: int) -> None:
    record = KeyRecord("k", 7, 0, "content", until)
    assert all(unique.is_held(record, a_job(status), T0) for status in LIVE)
    assert not any(unique.is_held(record, a_job(status), T0) for status in ENDED)
    assert not unique.is_held(record, None, T0)


def test_a_key_with_time_left_is_held_by_all() -> None:
    record = KeyRecord("k", 7, 0, "content", T0 + 1)
    assert all(unique.is_held(record, a_job(status), T0) for status in Status)
    assert unique.is_held(record, None, T0)


def test_a_job_has_ended_or_lives() -> None:
    assert [status for status in Status if unique.has_ended(a_job(status))] == ENDED


# -- asking twice ------------------------------------------------------------------------


def test_asking_twice_is_asking_once(queue: Queue) -> None:
    first = once(queue, unique_key="k")
    second = once(queue, unique_key="k")
    assert (first.is_duplicate, second.is_duplicate) == (False, True)
    assert second.job == first.job == queue.record(first.job.id)
    assert queue.engine.enqueue(a_new_job(unique_key="k")) == first.job
    assert [action for action, _ in queue.seen] == [Action.ENQUEUE]  # nothing is counted twice


@pytest.mark.parametrize("status", LIVE)
def test_a_live_job_holds_its_key(queue: Queue, status: Status) -> None:
    job = queue.in_state(status, unique_key="k")
    assert once(queue, unique_key="k") == Enqueued(job, is_duplicate=True)


@pytest.mark.parametrize("status", ENDED)
def test_an_ended_job_does_not(queue: Queue, status: Status) -> None:
    job = queue.in_state(status, unique_key="k")
    second = once(queue, unique_key="k", payload="2")
    assert not second.is_duplicate
    assert second.job.id != job.id


def test_a_retry_keeps_the_key(queue: Queue) -> None:
    job = queue.enqueue(unique_key="k", max_attempts=3)
    queue.claim_one()
    queue.engine.fail(job.id, error="e", retry_in_seconds=0)
    queue.claim_one()
    queue.engine.release(job.id)
    queue.claim_one()
    queue.clock.advance(ms=LEASE_MS + 1)
    queue.engine.expire_leases()
    assert queue.record(job.id).status is Status.QUEUED
    assert once(queue, unique_key="k").is_duplicate


def test_a_job_that_expires_for_good_frees_its_key(queue: Queue) -> None:
    job = queue.enqueue(unique_key="k", max_attempts=1)
    queue.claim_one()
    queue.clock.advance(ms=LEASE_MS + 1)
    queue.engine.expire_leases()
    assert queue.record(job.id).status is Status.DEAD
    assert not once(queue, unique_key="k").is_duplicate


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("key", ["unique_key", "idempotency_key"])
def test_a_key_is_held_to_the_millisecond(queue: Queue, status: Status, key: str) -> None:
    asked = {key: "k"} | ({"unique_for_seconds": DAY_SECONDS} if key == "unique_key" else {})
    job = queue.in_state(status, **asked)
    queue.clock.advance(seconds=DAY_SECONDS, ms=-1)
    found = once(queue, **asked)
    assert (found.job.id, found.is_duplicate) == (job.id, True)
    queue.clock.advance(ms=1)
    if status in ENDED:
        assert not once(queue, **asked).is_duplicate


def test_a_deleted_job_keeps_its_key_for_its_time(queue: Queue) -> None:
    asked = {"unique_key": "k", "unique_for_seconds": 60}
    job = queue.in_state(Status.COMPLETED, **asked)
    queue.engine.delete(job.id)
    with pytest.raises(KeyReusedError, match="which was deleted") as refused:
        once(queue, **asked)
    assert refused.value.job_id == job.id
    queue.clock.advance(seconds=60)
    assert not once(queue, **asked).is_duplicate


@pytest.mark.parametrize("other", [{"job_type": "other"}, {"payload": "2"}])
@pytest.mark.parametrize("key", ["unique_key", "idempotency_key"])
def test_a_key_means_one_thing(queue: Queue, key: str, other: dict[str, str]) -> None:
    job = queue.enqueue(**{key: "k"})
    with pytest.raises(KeyReusedError) as refused:
        once(queue, **{key: "k"}, **other)
    problem = problem_of(refused.value)
    assert (problem["status"], problem["code"]) == (409, "key_reused")
    assert problem["job_id"] == job.id
    assert len(queue.claim(max_jobs=10)) == 1


def test_queues_do_not_share_keys(queue: Queue) -> None:
    first, second = (queue.enqueue(queue=name, unique_key="k") for name in ("a", "b"))
    assert first.id != second.id
    assert queue.enqueue(queue="a", unique_key="k") == first


def test_an_idempotency_key_stands_for_what_was_answered(queue: Queue) -> None:
    first = queue.enqueue(unique_key="k")
    assert once(queue, unique_key="k", idempotency_key="r").job == first
    queue.engine.cancel(first.id)
    assert once(queue, unique_key="k", idempotency_key="r").job.id == first.id
    assert once(queue, idempotency_key="r").job.id == first.id
    queue.clock.advance(seconds=24 * 3600)
    assert not once(queue, unique_key="k", idempotency_key="r").is_duplicate


def test_a_job_takes_both_keys_or_neither(queue: Queue) -> None:
    first = queue.enqueue(unique_key="k", idempotency_key="r")
    assert once(queue, idempotency_key="r").job == first
    second = queue.enqueue(unique_key="l", idempotency_key="s")
    assert once(queue, unique_key="k", idempotency_key="s").job == second  # asked first


# -- requeue -----------------------------------------------------------------------------


def test_a_requeued_job_has_its_key_again(queue: Queue) -> None:
    dead = queue.in_state(Status.DEAD, unique_key="k")
    queued = queue.engine.requeue(dead.id)
    assert once(queue, unique_key="k") == Enqueued(queued, is_duplicate=True)


@pytest.mark.parametrize("status", LIVE)
def test_a_job_whose_key_was_taken_stays_dead(queue: Queue, status: Status) -> None:
    dead = queue.in_state(Status.DEAD, unique_key="k")
    other = queue.in_state(status, unique_key="k")
    before = queue.stored(dead.id)
    with pytest.raises(KeyTakenByOtherError) as refused:
        queue.engine.requeue(dead.id)
    assert queue.stored(dead.id) == before
    problem = problem_of(refused.value)
    assert (problem["status"], problem["code"]) == (409, "key_taken")
    assert problem["job_id"] == other.id


def test_it_lives_again_once_the_other_has_ended(queue: Queue) -> None:
    dead = queue.in_state(Status.DEAD, unique_key="k")
    queue.in_state(Status.COMPLETED, unique_key="k")
    assert queue.engine.requeue(dead.id).status is Status.QUEUED


def test_a_key_that_its_own_time_holds_is_no_hindrance(queue: Queue) -> None:
    dead = queue.in_state(Status.DEAD, unique_key="k", unique_for_seconds=60)
    assert queue.engine.requeue(dead.id).status is Status.QUEUED


def test_what_cannot_be_requeued_says_so_first(queue: Queue) -> None:
    done = queue.in_state(Status.COMPLETED, unique_key="k")
    queue.enqueue(unique_key="k")
    with pytest.raises(WrongStatusError):
        queue.engine.requeue(done.id)
    with pytest.raises(JobNotFoundError):
        queue.engine.requeue(done.id + 1)


def test_a_requeue_on_an_old_record_takes_a_turn_of_its_own() -> None:
    """Else whoever is late in freeing an earlier turn frees this one too."""
    store = LaggingStore()
    queue = Queue(store)
    job = queue.in_state(Status.DEAD, unique_key="k")
    store.lag_from_here()
    earlier = queue.engine.requeue(job.id).unique
    queue.claim_one()
    queue.engine.fail(job.id, error="again", retry=False)
    queue.engine.requeue(job.id)
    assert earlier is not None
    store.free_key(earlier, queue.clock())
    found = once(queue, unique_key="k")
    assert (found.job.id, found.is_duplicate) == (job.id, True)


class ReticentStore(MemoryStore):
    """A store that names only the last of the keys that stand in a write's way."""

    def add(self, job: Job, keys: Sequence[KeyWrite] = ()) -> None:
        """Add it, or say little."""
        try:
            super().add(job, keys)
        except KeyTakenError as taken:
            raise KeyTakenError(taken.records[-1:]) from None


def test_a_key_that_has_outlived_its_time_is_written_over_wherever_it_is_met() -> None:
    queue = Queue(ReticentStore())
    queue.enqueue(idempotency_key="r")
    queue.clock.advance(seconds=25 * 3600)
    first = queue.enqueue(unique_key="k")
    asked = {"unique_key": "k", "idempotency_key": "r"}
    assert once(queue, **asked).job.id == first.id
    queue.engine.cancel(first.id)
    assert once(queue, **asked).job.id == first.id


class ForgetfulStore(MemoryStore):
    """A store that never frees a key."""

    def free_key(self, record: KeyRecord, now: int) -> None:
        """Fail."""
        del record, now
        raise StoreUnavailableError


# -- prepared, to be stored by other means -------------------------------------------------


def test_a_prepared_job_is_nowhere_yet(queue: Queue) -> None:
    job, [write] = queue.engine.prepare(a_new_job(unique_key="k"))
    assert (write.record, write.instead_of) == (job.unique, None)
    assert queue.stored(job.id) is None
    assert queue.seen == []
    queue.store.add(job, [write])
    assert once(queue, unique_key="k") == Enqueued(job, is_duplicate=True)


@pytest.mark.parametrize("status", Status)
def test_a_prepared_key_is_written_over_once_its_holder_ended(status: Status) -> None:
    queue = Queue(ForgetfulStore())
    holder = queue.in_state(status, unique_key="k")
    job, keys = queue.engine.prepare(a_new_job(unique_key="k"))
    assert [write.instead_of for write in keys] == [None if status in LIVE else holder.unique]
    if status in LIVE:
        with pytest.raises(KeyTakenError):
            queue.store.add(job, keys)
    else:
        queue.store.add(job, keys)


def test_a_job_without_keys_is_prepared_without(queue: Queue) -> None:
    assert queue.engine.prepare(a_new_job())[1] == []


# -- odd stores --------------------------------------------------------------------------


class StubbornStore(MemoryStore):
    """A store that says of every key that another job, ended, has just taken it."""

    def __init__(self) -> None:
        super().__init__()
        self.tries: list[int] = []

    def add(self, job: Job, keys: Sequence[KeyWrite] = ()) -> None:
        """Refuse."""
        self.tries.append(job.id)
        raise KeyTakenError([write.record._replace(job_id=len(self.tries)) for write in keys])

    def apply(self, change: Any) -> Job:
        """Refuse what takes a key."""
        if change.key is None:
            return super().apply(change)
        self.tries.append(change.before.id)
        raise KeyTakenError([change.key.record._replace(job_id=len(self.tries))])


def test_an_enqueue_gives_up_in_the_end() -> None:
    store = StubbornStore()
    with pytest.raises(StoreBusyError):
        once(Queue(store), unique_key="k")
    assert len(store.tries) == len(set(store.tries)) == 10


def test_a_requeue_gives_up_in_the_end() -> None:
    store = StubbornStore()
    queue = Queue(store)
    dead = a_job(Status.DEAD, unique=KeyRecord("unique#default#k", 1, 0, "content", 0))
    MemoryStore.add(store, dead)
    with pytest.raises(StoreBusyError):
        queue.engine.requeue(dead.id)
    assert queue.record(dead.id) == dead
    assert len(store.tries) == 10


@pytest.mark.parametrize("status", ENDED)
def test_a_key_that_was_not_freed_blocks_nobody(status: Status) -> None:
    queue = Queue(ForgetfulStore())
    job = queue.in_state(status, unique_key="k")
    if status is Status.DEAD:
        assert queue.engine.requeue(job.id).status is Status.QUEUED
        assert once(queue, unique_key="k").job.id == job.id
    else:
        assert not once(queue, unique_key="k").is_duplicate


class CollidingStore(MemoryStore):
    """A store in which the first ids that are drawn are taken."""

    tries = 0

    def add(self, job: Job, keys: Sequence[KeyWrite] = ()) -> None:
        """Refuse the first three."""
        self.tries += 1
        if self.tries <= 3:
            raise IdTakenError
        super().add(job, keys)


def test_a_collision_draws_another_id_for_the_key_too() -> None:
    queue = Queue(CollidingStore())
    made = once(queue, unique_key="k")
    assert made.job.unique is not None
    assert made.job.unique.job_id == made.job.id
    assert once(queue, unique_key="k").job == made.job


# -- views -------------------------------------------------------------------------------


def test_a_duplicate_is_the_job_and_says_so(queue: Queue) -> None:
    made = once(queue, unique_key='a#"b"')
    assert enqueued_view(made) == (201, job_view(made.job))
    assert '"unique_key":"a#\\"b\\""' in job_view(made.job)
    found = once(queue, unique_key='a#"b"')
    assert enqueued_view(found) == (200, job_view(made.job)[:-1] + ',"duplicate":true}')
