"""What a person asks of the engine: to look, to mend, to set a queue up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from job_retry import decisions, ids
from job_retry.deciding import ROUNDS, TOO_BUSY, Deciding
from job_retry.errors import (
    JobNotFoundError,
    KeyTakenByOtherError,
    QueueNotFoundError,
    StoreBusyError,
)
from job_retry.store import ChangedError, KeyTakenError
from job_retry.transitions import Action
from job_retry.unique import is_held

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry.job import Attempt, Job, KeyRecord
    from job_retry.lanes import QueueRecord
    from job_retry.listing import ListAnswer, ListRequest

_YOUNG_MS = 60_000


class Operating(Deciding):
    """The verbs of people, and of the programs that they look through."""

    def get(self, job_id: int) -> tuple[Job, list[Attempt]]:
        """Return a job with payload, result and history.

        Raises:
            JobNotFoundError: there is none.
        """
        found = self._store.read_whole(job_id)
        if found is None:
            raise JobNotFoundError(job_id)
        return found

    def list_jobs(self, request: ListRequest) -> ListAnswer:
        """Return a page of jobs.

        Raises:
            InvalidFieldError: a junk cursor.
            TooCostlyError: it would take over 10,000 reads.
        """
        from job_retry.listing import list_jobs  # noqa: PLC0415 - spares cold starts

        if request.queue is None:
            return list_jobs(self._store, request, self._queues.all())
        return list_jobs(
            self._store, request, [self._queues.get(request.queue, read_since=self._clock())]
        )

    def queue(self, name: str) -> QueueRecord:
        """Return a queue's record.

        Raises:
            QueueNotFoundError: it never had a job, nor settings.
        """
        record = self._store.queue(name)
        if record is None:
            raise QueueNotFoundError(name)
        return record

    def set_queue(
        self, name: str, change: Callable[[QueueRecord, int], QueueRecord]
    ) -> QueueRecord:
        """Change a queue's settings and return its record; everyone sees it in ten seconds.

        Args:
            name: of the queue.
            change: returns the record with other settings, given it and the time.
        """
        now = self._clock()
        return self._queues.change(name, lambda record: change(record, now))

    def cancel(self, job_id: int) -> Job:
        """Take a waiting job out for good.

        Raises:
            JobNotFoundError, WrongStatusError: nothing was changed.
        """
        now, fingerprint = self._clock(), self._new_fingerprint()
        return self._decide(
            Action.CANCEL,
            job_id,
            lambda job: decisions.cancel(job, fingerprint=fingerprint, now=now),
        )

    def requeue(self, job_id: int, *, run_after: int | None = None) -> Job:
        """Give a dead job all its attempts again, and its unique key.

        Raises:
            JobNotFoundError, WrongStatusError: nothing was changed.
            KeyTakenByOtherError: nor here; another job holds the key.
        """
        now, fingerprint = self._clock(), self._new_fingerprint()
        seen: KeyRecord | None = None
        for _ in range(ROUNDS):
            try:
                return self._decide(
                    Action.REQUEUE,
                    job_id,
                    lambda job, seen=seen: decisions.requeue(  # type: ignore[misc]
                        job,
                        run_after=run_after,
                        fingerprint=fingerprint,
                        now=now,
                        lane=self._lane_in_use(job, now),
                        key_seen=seen,
                    ),
                )
            except KeyTakenError as taken:
                for key in taken.records:
                    if key.job_id != job_id and is_held(
                        key, self._store.read(key.job_id, consistent=True), now
                    ):
                        raise KeyTakenByOtherError(job_id, key.job_id) from None
                    seen = key
        raise StoreBusyError(TOO_BUSY)

    def delete(self, job_id: int) -> None:
        """Drop an ended job and all that belongs to it.

        Raises:
            JobNotFoundError, WrongStatusError: nothing was changed.
        """
        for _ in range(ROUNDS):
            job = self._store.read(job_id, consistent=True)
            if job is None:
                self._finish_delete(job_id)
                return
            try:
                self._store.delete(decisions.delete(job))
            except ChangedError:
                continue
            self._observe(Action.DELETE, job)
            return
        raise StoreBusyError(TOO_BUSY)

    def _finish_delete(self, job_id: int) -> None:
        """Remove what an earlier delete that broke off has left of a job."""
        # a very young job's payload may be there because its record is about to be
        is_young = ids.created_at(job_id) > self._clock() - _YOUNG_MS
        if is_young or not self._store.sweep(job_id):
            raise JobNotFoundError(job_id)

    def _lane_in_use(self, job: Job, now: int) -> int | None:
        """Return another lane for a job whose own is closed since the queue shrank."""
        lanes = self._queues.get(job.queue).lanes_write(now)
        return None if job.lane < lanes else self._random.randrange(lanes)

    def _new_fingerprint(self) -> str:
        return f"{self._random.getrandbits(96):024x}"
