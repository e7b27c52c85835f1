"""Jobs in any state, and stores to put them in."""

from __future__ import annotations

import uuid
from functools import cache
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from job_retry import decisions
from job_retry.dynamo import DynamoStore
from job_retry.ids import new_id
from job_retry.job import Job, NewJob, Status
from job_retry.lanes import QueueRecord
from job_retry.transitions import Action

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from job_retry.decisions import Change
    from job_retry.transitions import Transition
    from tests.conftest import Tables

NOW = 1_800_000_000_000
LARGE = '"' + "x" * 5000 + '"'
TOKEN = "0" * 32

_numbers = count(1)
_random = Random(7)


@cache
def dynamo_client(url: str) -> DynamoDBClient:
    """Return a client as the functions configure theirs, with room for many threads."""
    config = Config(retries={"mode": "standard", "total_max_attempts": 4}, max_pool_connections=32)
    return boto3.client("dynamodb", endpoint_url=url, config=config)


def dynamo_store(url: str, tables: Tables) -> DynamoStore:
    """Return a store on an engine."""
    return DynamoStore(dynamo_client(url), jobs_table=tables.jobs, control_table=tables.control)


def unique_queue() -> str:
    """Return the name of a queue that no other test has."""
    return f"q-{uuid.uuid4().hex[:12]}"


def queued_job(*, run_after: int = NOW, **fields: Any) -> Job:
    """Return a job as enqueue makes it, not stored yet, under an id of its own."""
    new = NewJob(**{"job_type": "mail", "queue": unique_queue(), **fields, "run_after": run_after})
    return decisions.enqueue(
        new,
        QueueRecord(name=new.queue),
        job_id=new_id(NOW - 1_000_000 + next(_numbers), _random),
        lane=0,
        enqueue_token=uuid.uuid4().hex[:16],
        now=NOW,
    )


def job_in(status: Status, **fields: Any) -> Job:
    """Return a job that came to a status the usual way."""
    job = queued_job(**fields)
    if status is Status.CANCELLED:
        return decisions.cancel(job, fingerprint="f", now=NOW).after
    if status is Status.QUEUED:
        return job
    job = decisions.claim(
        job, lease_token=TOKEN, worker_id="ann", lease_seconds=None, now=NOW
    ).after
    match status:
        case Status.COMPLETED:
            change = decisions.complete(job, lease_token=TOKEN, result="1", now=NOW)
        case Status.DEAD:
            change = failure(job, retry=False)
        case _:
            return job
    assert change is not None
    return change.after


def failure(job: Job, *, retry: bool = True) -> Change:
    """Return the change that a failed run makes."""
    change = decisions.fail(
        job,
        lease_token=job.lease_token,
        error="boom",
        retry_in_seconds=None,
        retry=retry,
        now=NOW,
        random=_random,
    )
    assert change is not None
    return change


def job_for(edge: Transition, **fields: Any) -> Job:
    """Return a job in an edge's source state that this edge may be taken from."""
    assert edge.source is not None
    attempts = {"max_attempts": 1} if edge.target is Status.DEAD else {}
    return job_in(edge.source, **attempts, **fields)


def change_of(action: Action, job: Job, target: Status | None) -> Change:
    """Return a change for an edge of the table; the job is as `job_for` makes it."""
    held = job.lease_token
    change: Change | None
    match action:
        case Action.HEARTBEAT:
            change = decisions.heartbeat(
                job, lease_token=held, lease_seconds=60, progress="0.5", now=NOW + 1
            )
        case Action.COMPLETE:
            change = decisions.complete(job, lease_token=held, result="[1]", now=NOW + 1)
        case Action.FAIL:
            change = failure(job, retry=target is Status.QUEUED)
        case Action.EXPIRE:
            change = decisions.expire(job, now=job.run_after + 1, random=_random)
        case Action.RELEASE:
            change = decisions.release(
                job, lease_token=held, run_after=None, delay_seconds=5, now=NOW + 1
            )
        case Action.CANCEL:
            change = decisions.cancel(job, fingerprint="c" * 24, now=NOW + 1)
        case Action.REQUEUE:
            change = decisions.requeue(job, run_after=None, fingerprint="r" * 24, now=NOW + 1)
        case Action.DELETE:
            change = decisions.delete(job)
        case _:
            raise ValueError(action)
    assert change is not None
    assert change.transition.target is target
    return change
