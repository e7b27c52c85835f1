"""What every store does, verb by verb; the guarded writes straight from the table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from job_retry import decisions
from job_retry.job import Job, Status
from job_retry.store import ChangedError, IdTakenError, JobStore, Row, partition_of
from job_retry.transitions import TRANSITIONS, Action, Guard, Transition
from tests.store.builders import (
    LARGE,
    NOW,
    TOKEN,
    change_of,
    failure,
    job_for,
    job_in,
    queued_job,
    unique_queue,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from job_retry.decisions import Change

APPLIED = [
    edge for edge in TRANSITIONS if edge.action not in (Action.ENQUEUE, Action.CLAIM, Action.DELETE)
]
DELETED = [edge for edge in TRANSITIONS if edge.action is Action.DELETE]


def write(store: JobStore, change: Change) -> None:
    """Write a change by the verb it is for."""
    if change.transition.action is Action.DELETE:
        store.delete(change)
    else:
        store.apply(change)


def stored(store: JobStore, job: Job) -> Job:
    """Store a job, in whatever state it is, and return it."""
    store.add(job)
    return job


def whole(store: JobStore, job: Job) -> object:
    """Return all there is of a job, to be compared."""
    return store.read_whole(job.id)


def row_of(job: Job) -> Row:
    """Return what the index says of a job."""
    return Row(job.id, job.job_type, job.run_after, partition_of(job))


def edge_names(edges: Sequence[Transition]) -> list[str]:
    """Return names for pytest to show."""
    return [f"{edge.action}-{edge.source}-{edge.target}" for edge in edges]


# -- enqueue ---------------------------------------------------------------------------


@pytest.mark.parametrize("payload", ["null", '{"a":[1.0,"é"]}', LARGE])
def test_a_new_job_is_read_back_as_it_was(store: JobStore, payload: str) -> None:
    job = stored(
        store,
        queued_job(
            payload=payload, priority=9, max_backoff_seconds=60, jitter=1e-7, lease_seconds=2
        ),
    )
    assert store.read_whole(job.id) == (job, [])
    record = store.read(job.id, consistent=True)
    assert record is not None
    assert store.read_document(job.id, record.payload) == job.payload
    assert replace(record, payload=job.payload) == job


def test_what_is_not_there_is_none(store: JobStore) -> None:
    assert store.read(1) is None
    assert store.read_whole(1) is None
    assert store.read_many([1, 2]) == {}


@pytest.mark.parametrize("payload", ["1", LARGE])
def test_an_id_is_given_once(store: JobStore, payload: str) -> None:
    first = stored(store, queued_job(payload=payload))
    with pytest.raises(IdTakenError):
        store.add(replace(queued_job(payload=LARGE.replace("x", "y")), id=first.id))
    with pytest.raises(IdTakenError):
        store.add(replace(queued_job(payload="2"), id=first.id))
    assert store.read_whole(first.id) == (first, [])


def test_the_same_put_again_is_no_collision(store: JobStore) -> None:
    job = stored(store, queued_job(payload=LARGE))
    store.add(job)
    assert store.read_whole(job.id) == (job, [])


# -- claim -----------------------------------------------------------------------------


@pytest.mark.parametrize("worker_id", ["ann", None])
@pytest.mark.parametrize("lease_seconds", [None, 7])
def test_a_claim_does_what_the_decision_says(
    store: JobStore, worker_id: str | None, lease_seconds: int | None
) -> None:
    job = stored(store, queued_job(lease_seconds=30))
    claimed = store.claim(
        row_of(job), lease_token=TOKEN, worker_id=worker_id, lease_seconds=lease_seconds, now=NOW
    )
    expected = decisions.claim(
        job, lease_token=TOKEN, worker_id=worker_id, lease_seconds=lease_seconds, now=NOW
    ).after
    assert claimed == expected
    assert store.read(job.id, consistent=True) == expected
    assert claimed.run_after == NOW + 1000 * (lease_seconds or 30)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.QUEUED])
def test_only_a_queued_job_is_claimed(store: JobStore, status: Status) -> None:
    job = stored(store, job_in(status))
    before = whole(store, job)
    row = row_of(job)._replace(partition=partition_of(job)._replace(status=Status.QUEUED))
    with pytest.raises(ChangedError) as changed:
        store.claim(row, lease_token="n" * 32, worker_id=None, lease_seconds=None, now=NOW + 10**9)
    assert changed.value.job is not None
    assert changed.value.job.status is status
    assert whole(store, job) == before


def test_only_a_due_job_is_claimed_whatever_the_index_says(store: JobStore) -> None:
    job = stored(store, queued_job(run_after=NOW + 1))
    row = row_of(job)._replace(run_after=NOW)  # the index lags
    with pytest.raises(ChangedError):
        store.claim(row, lease_token=TOKEN, worker_id=None, lease_seconds=None, now=NOW)
    claimed = store.claim(row, lease_token=TOKEN, worker_id=None, lease_seconds=None, now=NOW + 1)
    assert claimed.status is Status.RUNNING


def test_a_job_that_is_gone_is_not_claimed(store: JobStore) -> None:
    with pytest.raises(ChangedError) as changed:
        store.claim(
            row_of(queued_job()), lease_token=TOKEN, worker_id=None, lease_seconds=None, now=NOW
        )
    assert changed.value.job is None


# -- the guarded write, from the table -------------------------------------------------


@pytest.mark.parametrize("edge", APPLIED, ids=edge_names(APPLIED))
def test_an_edge_is_taken_from_its_source(store: JobStore, edge: Transition) -> None:
    job = stored(store, job_for(edge))
    change = change_of(edge.action, job, edge.target)
    after = store.apply(change)
    found = store.read_whole(job.id)
    assert found is not None
    assert after == found[0] == replace(job, **change.values)
    assert after.status is edge.target
    assert found[1] == ([change.attempt] if change.attempt else [])


@pytest.mark.parametrize("edge", APPLIED + DELETED, ids=edge_names(APPLIED + DELETED))
@pytest.mark.parametrize("status", Status)
def test_an_edge_is_taken_from_no_other_state(
    store: JobStore, edge: Transition, status: Status
) -> None:
    if status is edge.source:
        return
    read = job_for(edge)
    job = stored(store, replace(job_in(status), id=read.id, fingerprint="of another request"))
    before = whole(store, job)
    with pytest.raises(ChangedError) as changed:
        write(store, change_of(edge.action, read, edge.target))
    assert changed.value.job is not None
    assert changed.value.job.status is status
    assert whole(store, job) == before


LEASED = [edge for edge in APPLIED if Guard.LEASE in edge.guards]


@pytest.mark.parametrize("edge", LEASED, ids=edge_names(LEASED))
def test_a_lease_that_another_holds_is_not_touched(store: JobStore, edge: Transition) -> None:
    read = job_for(edge)
    job = stored(store, replace(read, lease_token="b" * 32, claimed_by="ben"))
    before = whole(store, job)
    with pytest.raises(ChangedError):
        store.apply(change_of(edge.action, read, edge.target))
    assert whole(store, job) == before


TIMED = [edge for edge in APPLIED if Guard.LEASE_END in edge.guards]


@pytest.mark.parametrize("edge", TIMED, ids=edge_names(TIMED))
def test_a_renewed_lease_does_not_expire(store: JobStore, edge: Transition) -> None:
    read = job_for(edge)
    job = stored(store, replace(read, run_after=read.run_after + 1))
    before = whole(store, job)
    with pytest.raises(ChangedError):
        store.apply(change_of(edge.action, read, edge.target))
    assert whole(store, job) == before


@pytest.mark.parametrize("edge", APPLIED, ids=edge_names(APPLIED))
def test_a_job_that_is_gone_is_not_made_anew(store: JobStore, edge: Transition) -> None:
    job = job_for(edge)
    with pytest.raises(ChangedError) as changed:
        store.apply(change_of(edge.action, job, edge.target))
    assert changed.value.job is None
    assert store.read_whole(job.id) is None


def test_a_write_touches_only_its_own_values(store: JobStore) -> None:
    read = job_in(Status.RUNNING)
    stored(store, replace(read, progress="0.9"))  # newer than what was read
    change = decisions.heartbeat(
        read, lease_token=TOKEN, lease_seconds=None, progress=None, now=NOW + 5
    )
    assert store.apply(change).progress == "0.9"


# -- documents, history, deletion ------------------------------------------------------


def complete(job: Job, result: str) -> Change:
    change = decisions.complete(job, lease_token=job.lease_token, result=result, now=NOW)
    assert change is not None
    return change


@pytest.mark.parametrize("payload", ["1", '"' + "p" * 390 + '"', LARGE])
@pytest.mark.parametrize("result", ["null", '"' + "r" * 100 + '"', LARGE])
def test_results_are_read_back_wherever_they_stand(
    store: JobStore, payload: str, result: str
) -> None:
    job = stored(store, job_in(Status.RUNNING, payload=payload))
    store.apply(complete(job, result))
    found = store.read_whole(job.id)
    assert found is not None
    assert found[0].payload.text == payload
    assert found[0].result is not None
    assert found[0].result.text == result


def test_a_late_large_result_never_overwrites_the_recorded_one(store: JobStore) -> None:
    late = job_in(Status.RUNNING)
    current = stored(store, replace(late, lease_token="b" * 32))
    store.apply(complete(current, LARGE))
    before = whole(store, current)
    with pytest.raises(ChangedError):
        store.apply(complete(late, LARGE.replace("x", "y")))
    assert whole(store, current) == before
    other = replace(current, status=Status.RUNNING)  # the same lease, another body, stale read
    with pytest.raises(ChangedError):
        store.apply(complete(other, LARGE.replace("x", "z")))
    assert whole(store, current) == before


def test_history_is_kept_in_order_past_nine(store: JobStore) -> None:
    job = stored(store, queued_job(max_attempts=1000, backoff_seconds=0))
    for number in range(12):
        claimed = store.claim(
            row_of(job), lease_token=f"{number:032x}", worker_id=None, lease_seconds=None, now=NOW
        )
        job = store.apply(failure(claimed))
    found = store.read_whole(job.id)
    assert found is not None
    assert [attempt.number for attempt in found[1]] == list(range(1, 13))
    assert [attempt.attempt for attempt in found[1]] == list(range(1, 13))


def test_a_delete_leaves_nothing(store: JobStore) -> None:
    running = stored(store, job_in(Status.RUNNING, payload=LARGE))
    dead = store.apply(failure(running, retry=False))
    store.delete(decisions.delete(dead))
    assert store.read_whole(dead.id) is None
    assert not store.sweep(dead.id)


def test_a_job_that_is_there_is_not_swept(store: JobStore) -> None:
    job = stored(store, job_in(Status.COMPLETED, payload=LARGE))
    assert not store.sweep(job.id)
    assert store.read_whole(job.id) == (job, [])


def test_many_are_read_at_once(store: JobStore) -> None:
    jobs = [stored(store, queued_job()) for _ in range(130)]
    ids = [job.id for job in jobs]
    assert store.read_many([*ids, ids[0], 1]) == {job.id: job for job in jobs}


# -- queues ----------------------------------------------------------------------------


def test_a_queue_is_known_by_the_priorities_it_had(store: JobStore) -> None:
    name = unique_queue()
    assert store.queue(name) is None
    store.register(name, 0)
    assert store.register(name, 9) == store.register(name, 0)
    record = store.queue(name)
    assert record is not None
    assert record.priorities == {0, 9}
    assert record in store.queues()
    assert [each.priority for each in record.partitions(Status.QUEUED)] == [9, 0]
