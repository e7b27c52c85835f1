"""What a request does to a job: pure functions from (job, request, now) to new values.

Each returns the `Change` to be written, or None where the job already records this very
request, or raises what forbids it. Nothing here reads a clock, draws a number or writes.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from random import Random
from typing import Any, NamedTuple

from job_retry.backoff import backoff_ms
from job_retry.errors import LeaseLostError, WrongStatusError
from job_retry.job import Attempt, Document, Job, KeyRecord, NewJob, Status
from job_retry.lanes import QueueRecord
from job_retry.transitions import Action, Transition, sources, transition
from job_retry.unique import KeyWrite, unique_record

INLINE_BYTES = 400
"""Payload and result stay in the record while they are no larger than this together:
the record is rewritten by each claim and settlement, and is billed by the whole KB."""

DEFAULT_MAX_ATTEMPTS = 5
DEFAULT_BACKOFF_SECONDS = 30
DEFAULT_LEASE_SECONDS = 900  # the longest a Lambda function can run

MAX_ERROR_BYTES = 4096
"""Of an error in the history, which is written once and read on demand."""

INLINE_ERROR_BYTES = 512
"""Of the latest error in the record, which each later write pays for again."""

LEASE_EXPIRED = "lease expired"


class Change(NamedTuple):
    """One guarded write: the edge it takes, the job that was read, the values it sets.

    Attributes:
        transition: the edge; the store derives its condition from it.
        before: the job as it was read; the condition names its status and lease.
        values: fields of `Job` to set, and no others are touched.
        attempt: an entry for the history, written in one transaction with the values.
        key: a unique key to take, likewise.
    """

    transition: Transition
    before: Job
    values: Mapping[str, Any]
    attempt: Attempt | None = None
    key: KeyWrite | None = None

    @property
    def after(self) -> Job:
        """The job as it will be, as far as the one that was read was current."""
        return replace(self.before, **self.values)


def enqueue(
    new: NewJob, queue: QueueRecord, *, job_id: int, lane: int, enqueue_token: str, now: int
) -> Job:
    """Return the job that a request makes, under a freshly drawn id.

    What the request leaves open is as the queue has it, or else the API's default.
    """
    return Job(
        id=job_id,
        queue=new.queue,
        job_type=new.job_type,
        status=Status.QUEUED,
        priority=new.priority,
        lane=lane,
        payload=_place(new.payload, part="payload", taken=0),
        attempts=0,
        max_attempts=_first(new.max_attempts, queue.max_attempts, DEFAULT_MAX_ATTEMPTS),
        backoff_seconds=_first(new.backoff_seconds, queue.backoff_seconds, DEFAULT_BACKOFF_SECONDS),
        max_backoff_seconds=new.max_backoff_seconds,
        jitter=new.jitter,
        lease_seconds=_first(new.lease_seconds, queue.lease_seconds, DEFAULT_LEASE_SECONDS),
        run_after=now if new.run_after is None else new.run_after,
        updated_at=now,
        enqueue_token=enqueue_token,
        unique=unique_record(new, job_id, now),
    )


def heartbeat(
    job: Job,
    *,
    lease_token: str | None,
    lease_seconds: int | None,
    progress: str | None,
    now: int,
) -> Change:
    """Renew the lease, by the length given or else the length it was claimed with."""
    _must_hold(Action.HEARTBEAT, job, lease_token)
    length = lease_seconds or job.run_lease_seconds or job.lease_seconds
    values: dict[str, Any] = {
        "run_after": now + length * 1000,
        "run_lease_seconds": length,
        "updated_at": now,
    }
    if progress is not None:
        values["progress"] = progress
    return _change(Action.HEARTBEAT, job, Status.RUNNING, values)


def complete(job: Job, *, lease_token: str | None, result: str, now: int) -> Change | None:
    """End the job with its result."""
    fingerprint = _fingerprint(Action.COMPLETE, lease_token or job.lease_token, result)
    if job.fingerprint == fingerprint:
        return None
    _must_hold(Action.COMPLETE, job, lease_token)
    inline = 0 if job.payload.part else job.payload.size
    values = {
        "run_after": now,
        "updated_at": now,
        # the part's name holds the fingerprint: a late worker's large result can then
        # never overwrite the one that was recorded
        "result": _place(result, part=f"result#{fingerprint}", taken=inline),
        "fingerprint": fingerprint,
    }
    return _change(Action.COMPLETE, job, Status.COMPLETED, values)


def fail(
    job: Job,
    *,
    lease_token: str | None,
    error: str,
    retry_in_seconds: int | None,
    retry: bool,
    now: int,
    random: Random,
) -> Change | None:
    """End a run that failed: queued again after its backoff, or dead."""
    fingerprint = _fingerprint(
        Action.FAIL, lease_token or job.lease_token, error, retry_in_seconds, retry
    )
    if job.fingerprint == fingerprint:
        return None
    _must_hold(Action.FAIL, job, lease_token)
    target, values, attempt = _ended_run(
        job,
        error,
        now=now,
        ended_at=now,
        random=random,
        retry=retry,
        retry_in_seconds=retry_in_seconds,
    )
    values["fingerprint"] = fingerprint
    return _change(Action.FAIL, job, target, values, attempt)


def expire(job: Job, *, now: int, random: Random) -> Change | None:
    """End a run whose lease has ended, as a failure; None while it has not.

    Without a backoff the job gets its place back, before what became due after it: its
    worker is gone, and it has waited already.
    """
    if job.status is not Status.RUNNING or job.run_after >= now:
        return None
    target, values, attempt = _ended_run(
        job, LEASE_EXPIRED, now=now, ended_at=job.run_after, random=random, place=job.due_at
    )
    values["lease_token"] = None  # what the late worker still sends is told "lease_lost"
    return _change(Action.EXPIRE, job, target, values, attempt)


def release(
    job: Job,
    *,
    lease_token: str | None,
    run_after: int | None,
    delay_seconds: int | None,
    now: int,
) -> Change | None:
    """Give a claimed job back unworked; the claim does not count as an attempt."""
    fingerprint = _fingerprint(
        Action.RELEASE, lease_token or job.lease_token, run_after, delay_seconds
    )
    if job.fingerprint == fingerprint:
        return None
    _must_hold(Action.RELEASE, job, lease_token)
    due = now + (delay_seconds or 0) * 1000 if run_after is None else run_after
    values = {
        "attempts": job.attempts - 1,
        "claimed_by": None,
        "run_after": due,
        "updated_at": now,
        "fingerprint": fingerprint,
    }
    return _change(Action.RELEASE, job, Status.QUEUED, values)


def cancel(job: Job, *, fingerprint: str, now: int) -> Change:
    """Take a waiting job out for good."""
    _must_be_source(Action.CANCEL, job)
    values = {
        "run_after": now,
        "updated_at": now,
        "fingerprint": fingerprint,
    }
    return _change(Action.CANCEL, job, Status.CANCELLED, values)


def requeue(
    job: Job,
    *,
    run_after: int | None,
    fingerprint: str,
    now: int,
    lane: int | None = None,
    key_seen: KeyRecord | None = None,
) -> Change:
    """Give a dead job all its attempts again, and its unique key; its history stays.

    Args:
        job: as it was read.
        run_after: when it is to run; None for at once.
        fingerprint: drawn for this request.
        now: milliseconds.
        lane: where it is to stand; None for where it was.
        key_seen: what the key's record was, where it may be written over.
    """
    _must_be_source(Action.REQUEUE, job)
    values: dict[str, Any] = {
        "attempts": 0,
        "claimed_by": None,
        "lease_token": None,
        "run_after": now if run_after is None else run_after,
        "updated_at": now,
        "fingerprint": fingerprint,
    }
    if lane is not None:
        values["lane"] = lane
    key = None
    if job.unique is not None:
        values["unique"] = job.unique._replace(turn=job.failures)
        key = KeyWrite(values["unique"], key_seen)
    return _change(Action.REQUEUE, job, Status.QUEUED, values, key=key)


def delete(job: Job) -> Change:
    """Drop an ended job and all that belongs to it."""
    _must_be_source(Action.DELETE, job)
    return _change(Action.DELETE, job, None, {})


def claim(
    job: Job, *, lease_token: str, worker_id: str | None, lease_seconds: int | None, now: int
) -> Change:
    """Lease a job to a worker.

    The in-memory store claims with this. The DynamoDB store does the same sums inside its
    one conditional write, since it has not read the job; the stores' tests hold the two
    together.
    """
    _must_be_source(Action.CLAIM, job)
    length = lease_seconds or job.lease_seconds
    values = {
        "attempts": job.attempts + 1,
        "lease_token": lease_token,
        "claimed_by": worker_id,
        "run_lease_seconds": length,
        "due_at": job.run_after,
        "last_attempted_at": now,
        "run_after": now + length * 1000,
        "updated_at": now,
    }
    return _change(Action.CLAIM, job, Status.RUNNING, values)


def cut_error(error: str, limit: int) -> str:
    """Cut an error's text to a number of UTF-8 bytes, with a mark that says how long it was.

    Lone surrogates, which JSON may carry and UTF-8 may not, become question marks.
    """
    raw = error.encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode("utf-8")
    mark = f"… [cut: {len(raw):,} bytes]"
    kept = raw[: limit - len(mark.encode())]
    return kept.decode("utf-8", "ignore") + mark


def _must_be_source(action: Action, job: Job) -> None:
    allowed = sources(action)
    if job.status not in allowed:
        raise WrongStatusError(action, allowed, job)


def _must_hold(action: Action, job: Job, lease_token: str | None) -> None:
    if lease_token is not None and lease_token != job.lease_token:
        raise LeaseLostError(job)
    _must_be_source(action, job)


def _change(
    action: Action,
    before: Job,
    target: Status | None,
    values: Mapping[str, Any],
    attempt: Attempt | None = None,
    key: KeyWrite | None = None,
) -> Change:
    if target is not None and target is not before.status:
        values = {"status": target, **values}
    return Change(transition(action, before.status, target), before, values, attempt, key)


def _fingerprint(action: Action, lease_token: str | None, *body: object) -> str:
    """Identify a settling request, so that the same one asked again is recognised."""
    text = json.dumps([action, lease_token, *body])
    return blake2b(text.encode(), digest_size=12).hexdigest()


def _first(*choices: int | None) -> int:
    return next(choice for choice in choices if choice is not None)


def _place(text: str, *, part: str, taken: int) -> Document:
    """Keep a document in the record if it fits beside the ``taken`` bytes there, else apart."""
    size = len(text.encode())
    return Document(size, text, part if size + taken > INLINE_BYTES else None)


def _ended_run(
    job: Job,
    error: str,
    *,
    now: int,
    ended_at: int,
    random: Random,
    retry: bool = True,
    retry_in_seconds: int | None = None,
    place: int | None = None,
) -> tuple[Status, dict[str, Any], Attempt]:
    """Return the target, new values and history entry of a run that ended without success.

    ``place`` is when the job is due if it need not wait; None for now.
    """
    number = job.failures + 1
    attempt = Attempt(
        number=number,
        attempt=job.attempts,
        worker_id=job.claimed_by,
        started_at=job.last_attempted_at or ended_at,
        ended_at=ended_at,
        error=cut_error(error, MAX_ERROR_BYTES),
    )
    values: dict[str, Any] = {
        "last_error": cut_error(error, INLINE_ERROR_BYTES),
        "failures": number,
        "updated_at": now,
    }
    if job.attempts >= job.max_attempts or not retry:
        return Status.DEAD, values | {"run_after": now}, attempt
    if retry_in_seconds is None:
        delay = backoff_ms(
            job.attempts,
            job.backoff_seconds,
            max_backoff_seconds=job.max_backoff_seconds,
            jitter=job.jitter,
            random=random,
        )
    else:
        delay = retry_in_seconds * 1000
    due = now + delay if delay or place is None else place
    return Status.QUEUED, values | {"run_after": due, "claimed_by": None}, attempt
