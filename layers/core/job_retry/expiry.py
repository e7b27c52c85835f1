"""Leases that ended: their jobs are queued again, or dead, as if the run had failed."""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple

from job_retry import decisions
from job_retry.job import Job, Status
from job_retry.lanes import Partition, QueueRecord
from job_retry.looks import Looks
from job_retry.parallel import THREADS, run_all
from job_retry.store import (
    ChangedError,
    JobStore,
    Observer,
    Page,
    Row,
    Start,
    partition_of,
)
from job_retry.transitions import Action

_REST_MS = 2000  # where that is not all of them, a lane that was seen is let alone for so long
_LOOKS = 10  # lanes that a claim looks at by the way
_AT_ONCE = 10  # leases that a claim takes up by the way
_EVERY_MS = 2000  # between such looks of a process whose claims find jobs
_PAGE = 100  # leases that the scheduled function takes up at a time


class _Place(NamedTuple):
    partition: Partition
    start: Start | None = None


class Expirer:
    """Takes up ended leases; any number of them may be at it at once."""

    def __init__(self, store: JobStore, random: Random, observer: Observer) -> None:
        self._store = store
        self._random = random
        self._observer = observer
        self._looks = Looks(random)
        self._looked: dict[str, int] = {}  # at queues by the way, by name

    def expire_all(
        self, queues: Iterable[QueueRecord], now: int, may_go_on: Callable[[], bool]
    ) -> int:
        """Take up every lease of these queues that has ended, and return how many.

        The order is left to chance and what fails is passed over: where there is more to do
        than time, or a job that cannot be dealt with, no queue waits for ever.

        Args:
            queues: where to look.
            now: milliseconds.
            may_go_on: asked before each round; False stops, the next run does the rest.

        Raises:
            Exception: the first one met, once all else is done.
        """
        places = [_Place(each) for queue in queues for each in queue.partitions(Status.RUNNING)]
        self._random.shuffle(places)
        expired, errors = 0, list[Exception]()
        while places and may_go_on():
            some, places = places[:THREADS], places[THREADS:]
            for place, page in zip(some, run_all(self._look, some), strict=True):
                if isinstance(page, Exception):
                    errors.append(page)
                    continue
                ended = [row for row in page.rows if row.run_after < now]
                jobs, failures = self._expire(ended, now)
                expired += len(jobs)
                errors += failures
                if page.more and len(ended) == len(page.rows):
                    last = ended[-1]
                    places.append(_Place(place.partition, Start(last.run_after, after_id=last.id)))
        if errors:
            raise errors[0]
        return expired

    def expire_some(self, queues: Sequence[QueueRecord], now: int) -> list[Row]:
        """Take up a few ended leases, and return the jobs that are due again at once.

        What fails is left to the scheduled function, which will tell.
        """
        self._looked.update((each.name, now) for each in queues)
        partitions = [each for queue in queues for each in queue.partitions(Status.RUNNING)]
        if len(partitions) > _LOOKS:
            partitions = self._looks.stalest(partitions, _LOOKS, before=now - _REST_MS)
        for each in partitions:
            self._looks.saw(each, None, now)
        pages = run_all(lambda each: self._look(_Place(each), _AT_ONCE), partitions)
        ended = [
            row
            for page in pages
            if isinstance(page, Page)
            for row in page.rows
            if row.run_after < now
        ]
        jobs, _ = self._expire(ended[:_AT_ONCE], now)
        return [
            Row(job.id, job.job_type, job.run_after, partition_of(job))
            for job in jobs
            if job.status is Status.QUEUED and job.run_after <= now
        ]

    def overdue(self, queues: Sequence[QueueRecord], now: int) -> list[QueueRecord]:
        """Return those queues whose last look by the way is two seconds old or more.

        One that this process does not know yet counts as looked at.
        """
        return [
            each for each in queues if self._looked.setdefault(each.name, now) <= now - _EVERY_MS
        ]

    def _look(self, place: _Place, limit: int = _PAGE) -> Page | Exception:
        try:
            return self._store.rows(place.partition, limit=limit, start=place.start)
        except Exception as error:  # noqa: BLE001 - told when the others are done
            return error

    def _expire(self, rows: Sequence[Row], now: int) -> tuple[list[Job], list[Exception]]:
        """End the leases that have ended; return those jobs, and what went wrong."""
        outcomes = run_all(lambda row: self._expire_one(row.id, now), rows)
        jobs = [each for each in outcomes if isinstance(each, Job)]
        for job in jobs:
            self._observer(Action.EXPIRE, job)
        return jobs, [each for each in outcomes if isinstance(each, Exception)]

    def _expire_one(self, job_id: int, now: int) -> Job | Exception | None:
        """End a lease if it has ended; None if it has not, or others were quicker."""
        try:
            job = self._store.read(job_id, consistent=True)
            if job is None:
                return None
            change = decisions.expire(job, now=now, random=self._random)
            if change is None:
                return None
            return self._store.apply(change)
        except ChangedError:
            return None
        except Exception as error:  # noqa: BLE001 - told when the others are done
            return error
