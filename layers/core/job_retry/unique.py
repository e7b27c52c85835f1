"""Unique jobs: a key stands for one job at a time, kept in the control table.

A key's record names its holder. It is written in one transaction with the job, under the
condition that it is free or still what was seen. Whether a holder still holds is read off
the job itself, so a record that nobody cleared away never blocks anybody.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple

from job_retry.job import Job, KeyRecord, NewJob, Status

IDEMPOTENCY_SECONDS = 24 * 3600
"""How long an ``Idempotency-Key`` stands for its first job, whatever became of it."""

_REQUEST = "idempotency#"
_LIVE = (Status.QUEUED, Status.RUNNING)


class KeyWrite(NamedTuple):
    """A record to be written, if what stands there is still what was seen.

    Attributes:
        record: the new one.
        instead_of: the one that was seen; None for none.
        goes_by_itself: whether it may be dropped after its time, whatever its job does.
    """

    record: KeyRecord
    instead_of: KeyRecord | None = None
    goes_by_itself: bool = False


def new_keys(new: NewJob, job_id: int, now: int, seen: Mapping[str, KeyRecord]) -> list[KeyWrite]:
    """Return the keys that a new job takes.

    The idempotency key comes first: who repeats a request is to get its own job.

    Args:
        new: the job.
        job_id: its id.
        now: milliseconds.
        seen: records, by key, that may be written over.
    """
    keys = []
    if (request := request_key(new, job_id, now, seen)) is not None:
        keys.append(request)
    if (unique := unique_record(new, job_id, now)) is not None:
        keys.append(KeyWrite(unique, seen.get(unique.key)))
    return keys


def request_key(
    new: NewJob, job_id: int, now: int, seen: Mapping[str, KeyRecord]
) -> KeyWrite | None:
    """Return the idempotency key of a request that this job is the answer to; None for none."""
    if new.idempotency_key is None:
        return None
    key = f"{_REQUEST}{new.queue}#{new.idempotency_key}"
    until = now + IDEMPOTENCY_SECONDS * 1000
    record = KeyRecord(key, job_id, 0, content_of(new), until)
    return KeyWrite(record, seen.get(key), goes_by_itself=True)


def unique_record(new: NewJob, job_id: int, now: int) -> KeyRecord | None:
    """Return the record of a new job's unique_key; None if it has none."""
    if new.unique_key is None:
        return None
    until = now + new.unique_for_seconds * 1000 if new.unique_for_seconds else 0
    return KeyRecord(f"unique#{new.queue}#{new.unique_key}", job_id, 0, content_of(new), until)


def content_of(new: NewJob) -> str:
    """Return a digest of what a job is to do: one key must not mean two things."""
    return blake2b(f"{new.job_type}\0{new.payload}".encode(), digest_size=12).hexdigest()


def is_held(record: KeyRecord, holder: Job | None, now: int) -> bool:
    """Say whether a key is taken.

    Args:
        record: of the key.
        holder: the job that it names, as it stands; None if it is gone.
        now: milliseconds.
    """
    if now < record.until:
        return True
    is_request = record.key.startswith(_REQUEST)  # an idempotency key: its time alone counts
    return not is_request and holder is not None and holder.status in _LIVE


def has_ended(job: Job) -> bool:
    """Say whether a job no longer holds its key by being queued or running."""
    return job.status not in _LIVE
