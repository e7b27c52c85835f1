"""Jobs in a dictionary: the store of unit tests, held to the same suite as DynamoDB's."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from threading import RLock

from job_retry import decisions
from job_retry.decisions import Change
from job_retry.job import Attempt, Document, Job, KeyRecord, Status
from job_retry.lanes import Partition, QueueRecord
from job_retry.store import (
    ChangedError,
    IdTakenError,
    KeyTakenError,
    Page,
    Row,
    Start,
    partition_of,
)
from job_retry.transitions import Guard
from job_retry.unique import KeyWrite


class MemoryStore:
    """A store that forgets; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._jobs: dict[int, Job] = {}
        self._history: dict[int, list[Attempt]] = {}
        self._queues: dict[str, QueueRecord] = {}
        self._keys: dict[str, KeyRecord] = {}
        self._enqueued: Counter[tuple[str, int]] = Counter()

    def add(self, job: Job, keys: Sequence[KeyWrite] = ()) -> None:
        """Store a new job and take its keys, or neither."""
        with self._lock:
            known = self._jobs.get(job.id, job)
            if known.enqueue_token != job.enqueue_token:
                raise IdTakenError
            if job.id not in self._jobs:
                self._take(keys)
            self._jobs.setdefault(job.id, job)
            self._history.setdefault(job.id, [])

    def claim(
        self,
        row: Row,
        *,
        lease_token: str,
        worker_id: str | None,
        lease_seconds: int | None,
        now: int,
    ) -> Job:
        """Lease a queued, due job."""
        with self._lock:
            job = self._jobs.get(row.id)
            if job is None or job.status is not Status.QUEUED or job.run_after > now:
                raise ChangedError(job)
            change = decisions.claim(
                job,
                lease_token=lease_token,
                worker_id=worker_id,
                lease_seconds=lease_seconds,
                now=now,
            )
            self._jobs[job.id] = change.after
            return _record(change.after)

    def apply(self, change: Change) -> Job:
        """Write a change if the job is still as decided on."""
        with self._lock:
            job = replace(self._expected(change), **change.values)
            self._take([change.key] if change.key else [])
            self._jobs[job.id] = job
            if change.attempt is not None:
                self._history[job.id].append(change.attempt)
            return _record(job)

    def delete(self, change: Change) -> None:
        """Remove a job and its history."""
        with self._lock:
            if change.before.id not in self._jobs:
                return  # another was quicker, to the same end
            job = self._expected(change)
            del self._jobs[job.id], self._history[job.id]

    def sweep(self, job_id: int) -> bool:
        """Say that nothing is ever left behind."""
        del job_id
        return False

    def read(self, job_id: int, *, consistent: bool = False) -> Job | None:
        """Return a job's record."""
        del consistent
        with self._lock:
            job = self._jobs.get(job_id)
            return job and _record(job)

    def read_whole(self, job_id: int) -> tuple[Job, list[Attempt]] | None:
        """Return a job and its history, oldest first."""
        with self._lock:
            job = self._jobs.get(job_id)
            return (job, list(self._history[job_id])) if job else None

    def read_many(self, job_ids: Sequence[int]) -> dict[int, Job]:
        """Return the records of those jobs that exist."""
        with self._lock:
            return {each: _record(self._jobs[each]) for each in job_ids if each in self._jobs}

    def read_document(self, job_id: int, document: Document) -> Document:
        """Return a document that stands apart with its text."""
        if document.part is None:
            return document
        with self._lock:
            job = self._jobs.get(job_id)
            kept = (job.payload, job.result) if job else ()
        return next((each for each in kept if each and each.part == document.part), document)

    def rows(
        self,
        partition: Partition,
        *,
        limit: int,
        newest_first: bool = False,
        start: Start | None = None,
    ) -> Page:
        """Return the first rows of a partition; those of one moment by id."""
        with self._lock:
            jobs = [job for job in self._jobs.values() if partition_of(job) == partition]
        jobs.sort(key=lambda job: (job.run_after, job.id), reverse=newest_first)
        rows = [
            Row(job.id, job.job_type, job.run_after, partition)
            for job in jobs
            if start is None or _is_behind(job, start, newest_first=newest_first)
        ]
        return Page(rows[:limit], more=len(rows) > limit)

    def read_key(self, key: str) -> KeyRecord | None:
        """Return a key's record as it stands."""
        with self._lock:
            return self._keys.get(key)

    def take_key(self, write: KeyWrite) -> None:
        """Write a key's record, if what stands there is still what was seen."""
        with self._lock:
            self._take([write])

    def free_key(self, record: KeyRecord, now: int) -> None:
        """Remove a key's record, once its time is over, if it is still this job and turn's."""
        with self._lock:
            known = self._keys.get(record.key)
            if known is not None and _same_turn(known, record) and now >= record.until:
                del self._keys[record.key]

    def _take(self, keys: Sequence[KeyWrite]) -> None:
        known = [(write, self._keys.get(write.record.key)) for write in keys]
        taken = [
            record
            for write, record in known
            if record is not None
            and not (write.instead_of and _same_turn(record, write.instead_of))
        ]
        if taken:
            raise KeyTakenError(taken)
        for write in keys:
            self._keys[write.record.key] = write.record

    def queue(self, name: str) -> QueueRecord | None:
        """Return what is known of a queue."""
        with self._lock:
            return self._queues.get(name)

    def queues(self) -> list[QueueRecord]:
        """Return all queues, by name."""
        with self._lock:
            return sorted(self._queues.values(), key=lambda record: record.name)

    def register(self, name: str, priority: int) -> QueueRecord:
        """Note that a queue has jobs of a priority."""
        with self._lock:
            known = self._queues.get(name, QueueRecord(name=name))
            record = replace(known, priorities=known.priorities | {priority})
            self._queues[name] = record
            return record

    def save_queue(self, record: QueueRecord) -> QueueRecord | None:
        """Write all of a queue's record but its priorities, as its next version."""
        with self._lock:
            known = self._queues.get(record.name, QueueRecord(name=record.name))
            if known.version != record.version:
                return None
            saved = replace(record, priorities=known.priorities, version=record.version + 1)
            self._queues[record.name] = saved
            return saved

    def count_enqueue(self, queue: str, minute: int) -> int:
        """Count a sampled enqueue of this minute, and return how many there are."""
        with self._lock:
            self._enqueued[queue, minute] += 1
            return self._enqueued[queue, minute]

    def _expected(self, change: Change) -> Job:
        """Return the job as it stands, if the change's edge may be taken from it."""
        before, guards = change.before, change.transition.guards
        job = self._jobs.get(before.id)
        if (
            job is None
            or job.status is not before.status
            or (Guard.LEASE in guards and job.lease_token != before.lease_token)
            or (Guard.LEASE_END in guards and job.run_after != before.run_after)
            or (Guard.FAILURES in guards and job.failures != before.failures)
        ):
            raise ChangedError(job)
        return job


def _same_turn(one: KeyRecord, other: KeyRecord) -> bool:
    return (one.job_id, one.turn) == (other.job_id, other.turn)


def _record(job: Job) -> Job:
    """Return a job as its record alone shows it: without the text of what stands apart."""
    return replace(
        job, payload=_without_text(job.payload), result=job.result and _without_text(job.result)
    )


def _without_text(document: Document) -> Document:
    return document._replace(text=None) if document.part else document


def _is_behind(job: Job, start: Start, *, newest_first: bool) -> bool:
    sign = -1 if newest_first else 1
    moment = sign * (job.run_after - start.run_after)
    if moment != 0:
        return moment > 0
    if start.after_id is not None:
        return sign * (job.id - start.after_id) > 0
    return start.inclusive
