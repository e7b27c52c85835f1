"""The mark of a job that was not due yet when it was queued: the stream's filters go by it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from bench.units import Meter
from job_retry import items
from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.job import Job, NewJob, Status
from job_retry.memory import MemoryStore
from tests.store.builders import NOW, dynamo_client, dynamo_store, unique_queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry.store import JobStore
    from tests.conftest import Tables

LATER = {"BOOL": True}
SECOND = 1000
HOUR = 3600 * SECOND
LONG = 10 * 3600  # seconds of a lease, longer than a test needs to claim all


@dataclass
class Queue:
    """A queue of its own, on a clock that a test moves, and its records as they are stored."""

    store: JobStore
    read_item: Callable[[int], dict[str, Any]]
    now: int = NOW
    name: str = field(default_factory=unique_queue)

    def __post_init__(self) -> None:
        """Put the engine together."""
        self.engine = Engine(self.store, clock=lambda: self.now, random=Random(self.name))

    def enqueue(self, **fields: Any) -> Job:
        """Enqueue a job."""
        return self.engine.enqueue(NewJob(job_type="t", queue=self.name, **fields))

    def claim(self, **fields: Any) -> Job:
        """Claim the one job that is due."""
        (job,) = self.engine.claim(ClaimRequest(queues=[self.name], **fields)).jobs
        return job

    def claimed(self, **fields: Any) -> Job:
        """Return a new job that was marked, and is running."""
        self.enqueue(run_after=self.now + HOUR, **fields)
        self.now += HOUR
        return self.claim()

    def mark(self, job: Job) -> object:
        """Return the mark in a job's record; None for none."""
        return self.read_item(job.id).get("later")


@pytest.fixture(params=["memory", "dynoxide"])
def queue(request: pytest.FixtureRequest) -> Queue:
    """One store after the other; of a job in memory, the item that it would be."""
    if request.param == "memory":
        memory = MemoryStore()

        def as_item(job_id: int) -> dict[str, Any]:
            job = memory.read(job_id)
            assert job is not None
            return items.job_to_item(job)

        return Queue(memory, as_item)
    url: str = request.getfixturevalue("dynoxide_url")
    tables: Tables = request.getfixturevalue("tables")
    client = dynamo_client(url)

    def stored_item(job_id: int) -> dict[str, Any]:
        key = items.key(job_id)
        return client.get_item(TableName=tables.jobs, Key=key, ConsistentRead=True)["Item"]

    return Queue(dynamo_store(url, tables), stored_item)


def test_enqueue_marks_what_is_due_later(queue: Queue) -> None:
    assert queue.mark(queue.enqueue(run_after=NOW + 1)) == LATER
    assert queue.mark(queue.enqueue(run_after=NOW + HOUR, unique_key="k")) == LATER


@pytest.mark.parametrize("run_after", [None, NOW - HOUR, NOW])
def test_enqueue_does_not_mark_what_is_due(queue: Queue, run_after: int | None) -> None:
    assert queue.mark(queue.enqueue(run_after=run_after)) is None
    assert queue.mark(queue.enqueue(run_after=run_after, unique_key="k")) is None


def test_a_mark_stays_when_the_time_has_come(queue: Queue) -> None:
    job = queue.enqueue(run_after=NOW + 1)
    queue.now += HOUR
    assert queue.mark(job) == LATER  # it says how the job was queued, and costs no write


def test_a_claim_takes_the_mark_away(queue: Queue) -> None:
    assert queue.mark(queue.claimed()) is None


def test_a_running_job_is_never_marked(queue: Queue) -> None:
    job = queue.claimed()
    queue.now += 1
    queue.engine.heartbeat(job.id, lease_token=job.lease_token, lease_seconds=3600)
    assert queue.mark(job) is None


@pytest.mark.parametrize(("wait", "mark"), [(0, None), (1, LATER)])
def test_a_retry_is_marked_by_its_wait(queue: Queue, wait: int, mark: object) -> None:
    by_formula = queue.claimed(backoff_seconds=wait, lease_seconds=LONG)
    by_worker = queue.claimed(backoff_seconds=9, lease_seconds=LONG)
    queue.engine.fail(by_formula.id, error="e")
    queue.engine.fail(by_worker.id, error="e", retry_in_seconds=wait)
    for job in (by_formula, by_worker):
        assert queue.engine.get(job.id)[0].status is Status.QUEUED
        assert queue.mark(job) == mark


@pytest.mark.parametrize(("wait", "mark"), [(0, None), (1, LATER)])
def test_so_is_an_expired_lease(queue: Queue, wait: int, mark: object) -> None:
    job = queue.claimed(backoff_seconds=wait, lease_seconds=1)
    queue.now += HOUR
    queue.engine.expire_leases()
    assert queue.engine.get(job.id)[0].status is Status.QUEUED
    assert queue.mark(job) == mark


@pytest.mark.parametrize(
    ("when", "mark"),
    [
        ({}, None),
        ({"delay_seconds": 0}, None),
        ({"delay_seconds": 1}, LATER),
        ({"run_after": NOW}, None),
        ({"run_after": NOW + HOUR}, None),  # by then, it is this moment
        ({"run_after": NOW + HOUR + 1}, LATER),
    ],
    ids=str,
)
def test_a_released_job_is_marked_by_its_wait(
    queue: Queue, when: dict[str, int], mark: object
) -> None:
    job = queue.claimed()
    queue.engine.release(job.id, lease_token=job.lease_token, **when)
    assert queue.mark(job) == mark


@pytest.mark.parametrize(("wait", "mark"), [(None, None), (0, None), (1, LATER)])
@pytest.mark.parametrize("key", [None, "k"])
def test_a_requeued_job_is_marked_by_its_wait(
    queue: Queue, wait: int | None, mark: object, key: str | None
) -> None:
    job = queue.claimed(unique_key=key)
    queue.engine.fail(job.id, error="e", retry=False)
    queue.engine.requeue(job.id, run_after=None if wait is None else queue.now + wait)
    assert queue.mark(job) == mark


def test_what_ends_is_not_marked(queue: Queue) -> None:
    completed, dead, expired = (queue.claimed(max_attempts=1, lease_seconds=LONG) for _ in range(3))
    queue.engine.complete(completed.id)
    queue.engine.fail(dead.id, error="e")
    queue.now += 12 * HOUR
    queue.engine.expire_leases()
    cancelled = queue.engine.cancel(queue.enqueue(run_after=queue.now + HOUR).id)
    for job in (completed, dead, expired, cancelled):
        assert queue.engine.get(job.id)[0].status not in (Status.QUEUED, Status.RUNNING)
        assert queue.mark(job) is None


def test_a_mark_costs_nothing(
    dynoxide_url: str, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("job_retry.queues.SAMPLE_SHARE", 0)  # a counted enqueue writes once more
    queue = Queue(dynamo_store(dynoxide_url, tables), lambda _: {})
    queue.enqueue(run_after=NOW + 99 * HOUR)  # from now on the queue is known
    meter = Meter(dynamo_client(dynoxide_url))
    for wait, key in product((None, NOW + HOUR), (None, "k")):
        with meter.reading() as enqueue:
            job = queue.enqueue(run_after=wait, unique_key=key)
        with meter.reading() as cancel:
            queue.engine.cancel(job.id)
        # a key is a transaction, in which all but the index is twice as dear
        assert enqueue == {"write": 5 if key else 2}
        assert cancel == {"read": 0.5, "write": 4 if key else 3}
    queue.enqueue(run_after=NOW + HOUR)
    queue.now += HOUR
    with meter.reading() as claim:
        queue.claim()
    assert claim["write"] == 3
