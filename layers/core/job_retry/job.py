"""A job, and what can be said of it in each state."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from job_retry import ids


class Status(StrEnum):
    """Where a job stands, and who moves it on."""

    QUEUED = "queued"  # waits for run_after; a worker claims it, a person cancels it
    RUNNING = "running"  # leased to a worker, which settles it; else the lease expires
    COMPLETED = "completed"  # done; only a delete moves it
    DEAD = "dead"  # out of retries: a dead letter; a person requeues or deletes it
    CANCELLED = "cancelled"  # will not run; only a delete moves it


class Document(NamedTuple):
    """A JSON value kept as its own text, in the job's record or in an item beside it.

    Attributes:
        size: UTF-8 bytes of the text.
        text: the JSON text; None where it stands apart and was not read along.
        part: sort key of the item that holds it; None while it is in the record.
    """

    size: int
    text: str | None
    part: str | None = None


class Attempt(NamedTuple):
    """One run that failed or whose lease expired, as the history keeps it.

    Attributes:
        number: its place in the job's whole history, from 1, never reset.
        attempt: the job's ``attempts`` at the time, reset by a requeue.
        worker_id: who ran it, where the claim said so.
        started_at: when it was claimed, milliseconds.
        ended_at: when it failed or the lease ended, milliseconds.
        error: why, at most 4 KB.
    """

    number: int
    attempt: int
    worker_id: str | None
    started_at: int
    ended_at: int
    error: str


class KeyRecord(NamedTuple):
    """A unique key and the job that took it, as the control table and that job have it.

    Attributes:
        key: see ``unique.py``.
        job_id: of the holder.
        turn: the holder's ``failures`` when it took the key, so that freeing the key at the
            end of an earlier turn does not free it in a later one.
        content: digest of what the holder was asked to do.
        until: it holds till then, whatever becomes of the job, in milliseconds; 0 for only
            while it is queued or running.
    """

    key: str
    job_id: int
    turn: int
    content: str
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job. Moments are milliseconds since the epoch, by the server's clock.

    ``run_after`` means the same in every state, not before this moment will anything
    happen to the job by itself: queued, it may be claimed from then on; running, its
    lease ends then; ended, it is when that happened. What follows from it and the status
    is a property, so that the two can never disagree.
    """

    id: int
    queue: str
    job_type: str
    status: Status
    priority: int
    lane: int
    payload: Document
    attempts: int
    max_attempts: int
    backoff_seconds: int
    lease_seconds: int
    run_after: int
    updated_at: int
    enqueue_token: str  # drawn by the enqueue, to know its own write again
    max_backoff_seconds: int | None = None
    jitter: float | None = None
    last_attempted_at: int | None = None
    claimed_by: str | None = None
    lease_token: str | None = None  # of the latest claim; void unless running
    run_lease_seconds: int | None = None  # length of the latest claim's lease
    due_at: int | None = None  # when it had become due for the latest claim
    progress: str | None = None  # JSON text
    last_error: str | None = None  # its beginning; the history has it whole
    failures: int = 0  # attempts in the history, never reset
    result: Document | None = None
    fingerprint: str | None = None  # of the request that wrote the latest settlement
    unique: KeyRecord | None = None

    @property
    def created_at(self) -> int:
        """When it was enqueued."""
        return ids.created_at(self.id)

    @property
    def claimed_at(self) -> int | None:
        """When the latest run began, unless the job waits again."""
        ran = self.status in (Status.RUNNING, Status.COMPLETED, Status.DEAD)
        return self.last_attempted_at if ran else None

    @property
    def lease_expires_at(self) -> int | None:
        """When the worker that holds it must have settled it or sent a heartbeat."""
        return self._run_after_if(Status.RUNNING)

    @property
    def completed_at(self) -> int | None:
        """When it completed."""
        return self._run_after_if(Status.COMPLETED)

    @property
    def died_at(self) -> int | None:
        """When it became a dead letter."""
        return self._run_after_if(Status.DEAD)

    @property
    def cancelled_at(self) -> int | None:
        """When it was cancelled."""
        return self._run_after_if(Status.CANCELLED)

    def _run_after_if(self, status: Status) -> int | None:
        return self.run_after if self.status is status else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """What a caller says of a job to be enqueued; None is left to the queue's settings."""

    job_type: str
    queue: str = "default"
    payload: str = "null"  # JSON text
    max_attempts: int | None = None
    backoff_seconds: int | None = None
    run_after: int | None = None  # milliseconds; None is now
    priority: int = 0
    lease_seconds: int | None = None
    max_backoff_seconds: int | None = None
    jitter: float | None = None
    unique_key: str | None = None
    unique_for_seconds: int = 0
    idempotency_key: str | None = None
