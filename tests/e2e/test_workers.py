"""Workers that are killed, stopped, or slow, beside others, on the local server."""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from socket import gethostname
from typing import TYPE_CHECKING

import pytest

from job_retry_client import Job, JobQueue, NewJob
from local.ports import free_port
from tests.e2e.journal import Journal, WorkerProgram
from tests.local.processes import LocalRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEASE_SECONDS = 2
RECOVERY_SECONDS = 3
JOBS = 2000
HANDLERS = 10


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data: Path = tmp_path_factory.mktemp("data")
    with LocalRun(data, free_port()) as local:
        yield local.url


@pytest.fixture
def queue(url: str) -> JobQueue:
    return JobQueue.connect(url, repeat_enqueues=False)


def test_the_jobs_of_a_killed_worker_run_elsewhere(url: str, queue: JobQueue) -> None:
    journal = Journal()
    queue.enqueue_many(NewJob("quick", queue="killed", backoff_seconds=0) for _ in range(JOBS))
    with ExitStack() as stack:
        victim, *others = (
            journal.follow(stack.enter_context(WorkerProgram(url, "killed", hangs_after)))
            for hangs_after in (100, JOBS, JOBS, JOBS)
        )
        journal.read_until(
            lambda _: len(journal.jobs("hang")) == HANDLERS and len(journal.jobs("end")) > JOBS / 2
        )
        killed_at = datetime.now(UTC)
        victim.send(signal.SIGKILL)
        victim.wait()
        journal.read_until(lambda _: len(set(journal.jobs("end"))) == JOBS)
        held = set(journal.jobs("hang"))
        for each in others:
            each.send(signal.SIGTERM)
        assert [each.wait() for each in others] == [0, 0, 0]

    jobs = [queue.get(job_id) for job_id in set(journal.jobs("begin"))]
    assert Counter(job.status for job in jobs) == {"completed": JOBS}
    begun = Counter(journal.jobs("begin"))
    recovered: dict[int, float] = {}
    for job in jobs:
        # A run ends before the next begins: no two were at it at a time. On a machine with much
        # to do, a lease may end before its worker has so much as heard of it.
        assert begun[job.id] <= job.attempts
        assert [each.error for each in job.history] == ["lease expired"] * (job.attempts - 1)
        assert job.claimed_at is not None
        for run in job.history:
            assert run.ended_at <= job.claimed_at
            if run.ended_at > killed_at and run.worker_id == f"{gethostname()}:{victim.pid}":
                recovered[job.id] = (job.claimed_at - run.ended_at).total_seconds()
    assert held <= recovered.keys()
    assert max(recovered.values()) <= RECOVERY_SECONDS


def test_a_stop_costs_no_attempt(url: str, queue: JobQueue) -> None:
    journal = Journal()
    of_seconds = [0.05, 0.05, 60]  # the last ones are not done when the grace is over
    queue.enqueue_many(NewJob("slow", of_seconds[n % 3], queue="stopped") for n in range(60))
    with WorkerProgram(url, "stopped") as worker:
        journal.follow(worker)
        journal.read_until(lambda entries: bool(entries) and len(journal.jobs("end")) >= 5)
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0

    jobs = list(queue.walk(queue="stopped"))
    outcomes = Counter((job.status, job.attempts) for job in jobs)
    assert set(outcomes) == {("completed", 1), ("queued", 0)}
    assert outcomes.total() == 60
    assert all(queue.get(job).history == () for job in jobs)
    assert all(job.payload < 1 for job in jobs if job.status == "completed")


def test_a_handler_may_take_longer_than_its_lease(url: str, queue: JobQueue) -> None:
    journal = Journal()
    job: Job = queue.enqueue("slow", 5 * LEASE_SECONDS, queue="long")
    with WorkerProgram(url, "long") as worker, WorkerProgram(url, "long") as another:
        journal.follow(worker)
        journal.follow(another)
        journal.read_until(lambda _: bool(journal.jobs("end")))
        for each in (worker, another):
            each.send(signal.SIGTERM)
            assert each.wait() == 0

    journal.rest()
    assert journal.jobs("begin") == [job.id]
    done = queue.get(job)
    assert (done.status, done.attempts, done.history) == ("completed", 1, ())
