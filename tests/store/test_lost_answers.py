"""For every verb: the write happens, its answer is lost, the SDK repeats the call.

The caller must get the right answer, and there must be exactly one effect.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.errors import JobNotFoundError
from job_retry.job import Job, NewJob, Status
from job_retry.listing import ListRequest
from tests.store.builders import LARGE, NOW, dynamo_client, dynamo_store, unique_queue
from tests.store.lost import LostAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from job_retry.job import Attempt
    from tests.conftest import Tables

LEASE_MS = 30_000


@pytest.fixture(autouse=True)
def _no_pause_between_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _seconds: None)


class Queue:
    """A queue of its own, with a clock that stands still."""

    def __init__(self, url: str, tables: Tables) -> None:
        self.client: DynamoDBClient = dynamo_client(url)
        self.tables = tables
        self.name = unique_queue()
        self.now = NOW
        self.engine = Engine(
            dynamo_store(url, tables), clock=lambda: self.now, random=Random(self.name)
        )

    def enqueue(self, *, payload: str = "1", max_attempts: int = 2) -> Job:
        """Store a job."""
        return self.engine.enqueue(
            NewJob(
                job_type="mail",
                queue=self.name,
                payload=payload,
                max_attempts=max_attempts,
                lease_seconds=LEASE_MS // 1000,
            )
        )

    def claim(self) -> Job:
        """Claim the job that is due."""
        return self.claim_all()[0]

    def claim_all(self) -> list[Job]:
        """Claim all jobs that are due."""
        return self.engine.claim(ClaimRequest(queues=[self.name], max_jobs=10)).jobs

    def running(self, *, max_attempts: int = 2) -> Job:
        """Store a job and claim it."""
        self.enqueue(max_attempts=max_attempts)
        return self.claim()

    def whole(self, job: Job) -> tuple[Job, list[Attempt]]:
        """Return all there is of a job."""
        return self.engine.get(job.id)

    def all_jobs(self) -> list[Job]:
        """Return all jobs."""
        return list(self.engine.list_jobs(ListRequest(queue=self.name)).jobs)

    def items_of(self, job: Job) -> list[str]:
        """Return the sort keys of all that is stored under a job's id."""
        answer = self.client.query(
            TableName=self.tables.jobs,
            KeyConditionExpression="id = :id",
            ExpressionAttributeValues={":id": {"N": str(job.id)}},
        )
        return [item["part"]["S"] for item in answer["Items"]]

    def losing(
        self, operation: str, *, nth: int = 1, meanwhile: Callable[[], object] = lambda: None
    ) -> LostAnswer:
        """Lose the answer to a call."""
        return LostAnswer(self.client, operation, nth=nth, meanwhile=meanwhile)


@pytest.fixture
def queue(dynoxide_url: str, tables: Tables) -> Queue:
    """A queue on dynoxide."""
    return Queue(dynoxide_url, tables)


@pytest.mark.parametrize(("payload", "nth"), [("1", 1), (LARGE, 1), (LARGE, 2)])
def test_enqueue_makes_one_job(queue: Queue, payload: str, nth: int) -> None:
    queue.engine.enqueue(NewJob(job_type="other", queue=queue.name, run_after=NOW + 1))
    with queue.losing("PutItem", nth=nth):
        job = queue.enqueue(payload=payload)
    assert [each.job_type for each in queue.all_jobs()].count("mail") == 1
    assert queue.whole(job) == (job, [])


def test_enqueue_knows_its_job_even_when_others_have_finished_it(queue: Queue) -> None:
    def work_it_off() -> None:
        job = queue.claim()
        queue.engine.complete(job.id, lease_token=job.lease_token)

    with queue.losing("PutItem", meanwhile=work_it_off):
        job = queue.enqueue()
    assert [each.id for each in queue.all_jobs()] == [job.id]
    assert queue.whole(job)[0].status is Status.COMPLETED


def test_a_new_queue_is_registered_once(queue: Queue) -> None:
    with queue.losing("UpdateItem"):
        job = queue.enqueue()
    assert queue.claim().id == job.id


def test_claim_hands_out_the_job_it_took(queue: Queue) -> None:
    enqueued = queue.enqueue()
    with queue.losing("UpdateItem"):
        job = queue.claim()
    assert job.id == enqueued.id
    assert job.attempts == 1
    assert queue.engine.complete(job.id, lease_token=job.lease_token).status is Status.COMPLETED


def test_claim_does_not_hand_out_what_it_lost_meanwhile(queue: Queue) -> None:
    queue.enqueue()

    def let_it_expire() -> None:
        queue.now += LEASE_MS + 1
        queue.engine.expire_leases()

    with queue.losing("UpdateItem", meanwhile=let_it_expire):
        jobs = queue.claim_all()
    assert jobs == []
    assert queue.all_jobs()[0].status is Status.QUEUED


def test_heartbeat_renews_once(queue: Queue) -> None:
    job = queue.running()
    with queue.losing("UpdateItem"):
        after = queue.engine.heartbeat(job.id, lease_token=job.lease_token, progress="0.5")
    assert after.status is Status.RUNNING
    assert after == queue.whole(job)[0]


@pytest.mark.parametrize("operation", ["UpdateItem", "PutItem"])
def test_complete_records_once(queue: Queue, operation: str) -> None:
    job = queue.running()
    with queue.losing(operation):
        after = queue.engine.complete(job.id, lease_token=job.lease_token, result=LARGE)
    assert after.status is Status.COMPLETED
    found, history = queue.whole(job)
    assert found.result is not None
    assert found.result.text == LARGE
    assert history == []
    assert len(queue.items_of(job)) == 2


@pytest.mark.parametrize("max_attempts", [1, 2])
def test_fail_counts_once(queue: Queue, max_attempts: int) -> None:
    job = queue.running(max_attempts=max_attempts)
    with queue.losing("TransactWriteItems"):
        after = queue.engine.fail(job.id, lease_token=job.lease_token, error="boom")
    found, history = queue.whole(job)
    assert found == after
    assert after.status is (Status.DEAD if max_attempts == 1 else Status.QUEUED)
    assert (after.attempts, after.failures, len(history)) == (1, 1, 1)


def test_fail_is_answered_even_when_the_job_runs_elsewhere_by_then(queue: Queue) -> None:
    job = queue.running()

    def run_again() -> None:
        queue.now += 30_000
        queue.claim()

    with queue.losing("TransactWriteItems", meanwhile=run_again):
        queue.engine.fail(job.id, lease_token=job.lease_token, error="boom")
    found, history = queue.whole(job)
    assert (found.status, found.attempts, len(history)) == (Status.RUNNING, 2, 1)


def test_expiry_counts_once(queue: Queue) -> None:
    job = queue.running()
    queue.now += LEASE_MS + 1
    with queue.losing("TransactWriteItems"):
        queue.engine.expire_leases()
    found, history = queue.whole(job)
    assert (found.status, found.failures, len(history)) == (Status.QUEUED, 1, 1)


def test_release_gives_back_one_attempt(queue: Queue) -> None:
    job = queue.running()
    with queue.losing("UpdateItem"):
        after = queue.engine.release(job.id, lease_token=job.lease_token)
    assert (after.status, after.attempts) == (Status.QUEUED, 0)
    assert queue.whole(job)[0] == after


def test_release_is_answered_even_when_the_job_runs_elsewhere_by_then(queue: Queue) -> None:
    job = queue.running()
    with queue.losing("UpdateItem", meanwhile=queue.claim):
        queue.engine.release(job.id, lease_token=job.lease_token)
    found, _ = queue.whole(job)
    assert (found.status, found.attempts) == (Status.RUNNING, 1)
    assert found.lease_token != job.lease_token


def test_cancel_is_answered(queue: Queue) -> None:
    job = queue.enqueue()
    with queue.losing("UpdateItem"):
        after = queue.engine.cancel(job.id)
    assert after.status is Status.CANCELLED


@pytest.mark.parametrize("claimed_meanwhile", [False, True])
def test_requeue_is_answered(queue: Queue, *, claimed_meanwhile: bool) -> None:
    job = queue.running()
    queue.engine.fail(job.id, lease_token=job.lease_token, error="no", retry=False)
    meanwhile = queue.claim if claimed_meanwhile else lambda: None
    with queue.losing("UpdateItem", meanwhile=meanwhile):
        queue.engine.requeue(job.id)
    found, history = queue.whole(job)
    assert found.attempts == (1 if claimed_meanwhile else 0)
    assert len(history) == 1


@pytest.mark.parametrize("operation", ["DeleteItem", "BatchWriteItem"])
def test_delete_leaves_nothing(queue: Queue, operation: str) -> None:
    queue.enqueue(payload=LARGE)
    job = queue.claim()
    queue.engine.fail(job.id, lease_token=job.lease_token, error="no", retry=False)
    with queue.losing(operation):
        queue.engine.delete(job.id)
    assert queue.items_of(job) == []
    with pytest.raises(JobNotFoundError):
        queue.engine.delete(job.id)


def test_a_delete_that_broke_off_is_finished_by_the_next(queue: Queue) -> None:
    queue.enqueue(payload=LARGE)
    job = queue.claim()
    queue.engine.fail(job.id, lease_token=job.lease_token, error="no", retry=False)
    queue.client.delete_item(
        TableName=queue.tables.jobs, Key={"id": {"N": str(job.id)}, "part": {"S": "job"}}
    )
    queue.now += 60_000  # a job younger than that might be just being enqueued
    queue.engine.delete(job.id)
    assert queue.items_of(job) == []
