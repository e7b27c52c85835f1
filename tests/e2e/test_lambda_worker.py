"""Both stacks deployed: a job is worked off by the Lambda worker, and nobody polls for it.

Schedules run only when a test says so: whatever else is worked off, the stream brought about.
"""

from __future__ import annotations

import statistics
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from job_retry_client import JobQueue, NewJob
from job_retry_client.transports.invoke import InvokeTransport
from local.template import DEFAULT_TEMPLATE, REPOSITORY, load_template
from tests.e2e.ministack import Ministack, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from job_retry_client import Job

STACK = "jobs"
WORKER_STACK = "worker"
EXAMPLE = REPOSITORY / "examples/lambda-worker/template.yaml"
JOB_TYPE = "send_welcome_email"
PAYLOAD = {"user_id": 42}


@pytest.fixture(scope="module")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ministack]:
    """job-retry, and the example's worker as its README deploys it."""
    with Ministack(tmp_path_factory.mktemp("ministack")) as stack:
        outputs = stack.deploy(STACK, DEFAULT_TEMPLATE)
        parameters = load_template(EXAMPLE)["Parameters"]
        stack.deploy(
            WORKER_STACK,
            EXAMPLE,
            **{name: value for name, value in outputs.items() if name in parameters},
        )
        yield stack


@pytest.fixture(scope="module")
def queue(ministack: Ministack) -> JobQueue:
    """The queue, by its deployed functions."""
    return JobQueue(InvokeTransport(STACK, endpoint_url=ministack.url))


def ended(queue: JobQueue, job: Job) -> Job:
    """Return the job once it has ended, looking on."""
    wait_until(lambda: queue.get(job).status in {"completed", "dead"})
    return queue.get(job)


def test_a_job_for_later_waits_for_the_schedule(ministack: Ministack, queue: JobQueue) -> None:
    """The first in this file: nothing that came before could still wake the worker."""
    queue.enqueue(JOB_TYPE, PAYLOAD, run_after=datetime.now(UTC) + timedelta(days=1))
    assert ministack.run_schedule(WORKER_STACK)["ended_by"] == "idle"
    # The functions are warm by now, so it is enqueued well before it is due.
    due = datetime.now(UTC) + timedelta(seconds=4)
    later = queue.enqueue(JOB_TYPE, PAYLOAD, run_after=due)
    wait_until(lambda: datetime.now(UTC) > due)
    assert ministack.calls(WORKER_STACK) == 1
    summary = ministack.run_schedule(WORKER_STACK)
    assert (summary["completed"], summary["ended_by"]) == (1, "idle")
    job = queue.get(later)
    assert (job.status, job.attempts) == ("completed", 1)
    assert job.claimed_at
    assert job.claimed_at >= due


def test_a_job_is_worked_off_without_anybody_polling(
    queue: JobQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    waits = []
    for _ in range(10):
        job = ended(queue, queue.enqueue(JOB_TYPE, PAYLOAD))
        assert (job.status, job.attempts, job.result) == ("completed", 1, {"sent_to": "42"})
        assert job.claimed_at
        waits.append((job.claimed_at - job.created_at).total_seconds())
    with capsys.disabled():
        sys.stdout.write(
            f"\nfrom enqueue to start, in the middle: {statistics.median(waits):.3f} s\n"
        )


def test_jobs_that_come_together_run_once_each(queue: JobQueue) -> None:
    jobs = queue.enqueue_many([NewJob(JOB_TYPE, PAYLOAD, max_attempts=1)] * 25)
    done = [ended(queue, job) for job in jobs]
    assert [(job.status, job.attempts) for job in done] == [("completed", 1)] * 25


def test_a_job_that_fails_wakes_the_worker_again_and_holds_up_nobody(queue: JobQueue) -> None:
    bad = queue.enqueue(JOB_TYPE, {"user": "no id"}, max_attempts=2, backoff_seconds=0)
    good = queue.enqueue(JOB_TYPE, PAYLOAD)
    assert ended(queue, good).status == "completed"
    dead = ended(queue, bad)
    assert (dead.status, dead.attempts) == ("dead", 2)
    assert "KeyError" in (dead.last_error or "")
