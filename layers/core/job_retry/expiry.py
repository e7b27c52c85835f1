"""Leases that ended: their jobs are queued again, or dead, as if the run had failed."""

from collections.abc import Callable, Sequence
from random import Random

from job_retry import decisions
from job_retry.job import Job, Status
from job_retry.parallel import run_all
from job_retry.store import ChangedError, JobStore, Observer, QueueRecord
from job_retry.transitions import Action

_AT_ONCE = 10  # leases that an idle claim takes up by the way
_PAGE = 100  # leases that the scheduled function takes up at a time


class Expirer:
    """Takes up ended leases; any number of them may be at it at once."""

    def __init__(self, store: JobStore, random: Random, observer: Observer) -> None:
        self._store = store
        self._random = random
        self._observer = observer

    def expire_all(
        self, queues: Sequence[QueueRecord], now: int, may_go_on: Callable[[], bool]
    ) -> int:
        """Take up every lease of these queues that has ended, and return how many.

        Args:
            queues: where to look.
            now: milliseconds.
            may_go_on: asked before each page; False stops, the next run does the rest.
        """
        expired = 0
        for queue in queues:
            for partition in queue.partitions(Status.RUNNING):
                more = True
                while more and may_go_on():
                    page = self._store.rows(partition, limit=_PAGE)
                    ended = [row.id for row in page.rows if row.run_after < now]
                    taken_up = len(self._expire(ended, now))
                    expired += taken_up
                    # A page without progress is the index lagging behind: leave it be.
                    more = page.more and len(ended) == len(page.rows) and taken_up > 0
        return expired

    def expire_some(self, queues: Sequence[QueueRecord], now: int) -> bool:
        """Take up a few ended leases; say whether one of them is due again at once."""
        partitions = [each for queue in queues for each in queue.partitions(Status.RUNNING)]
        pages = run_all(lambda each: self._store.rows(each, limit=_AT_ONCE), partitions)
        ended = [row.id for page in pages for row in page.rows if row.run_after < now]
        taken_up = self._expire(ended[:_AT_ONCE], now)
        return any(job.status is Status.QUEUED and job.run_after <= now for job in taken_up)

    def _expire(self, job_ids: Sequence[int], now: int) -> list[Job]:
        outcomes = run_all(lambda job_id: self._expire_one(job_id, now), job_ids)
        jobs = [job for job in outcomes if job is not None]
        for job in jobs:
            self._observer(Action.EXPIRE, job)
        return jobs

    def _expire_one(self, job_id: int, now: int) -> Job | None:
        """End a lease if it has ended; None if it has not, or others were quicker."""
        job = self._store.read(job_id, consistent=True)
        change = job and decisions.expire(job, now=now, random=self._random)
        if not change:
            return None
        try:
            return self._store.apply(change)
        except ChangedError:
            return None
