"""The claim: which due job to try next, until a conditional write succeeds.

Oldest first while this process is alone. Once another worker has taken a job from under
it, it chooses at random among the due ones for a while: workers that all try the head of
a queue lose 6.7 writes for each job at 100 workers, against 0.04 at random.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from job_retry.errors import StoreError
from job_retry.job import Job, Status
from job_retry.lanes import Partition, QueueRecord
from job_retry.parallel import run_all
from job_retry.store import ChangedError, JobStore, Row, Start

_WINDOW = 25  # rows to look at; about forty cost half a read unit
_WIDE_WINDOW = 1000  # when the first ones are all of job types not asked for
_MAX_ROWS = 10_000  # that one claim looks at: jobs so deep behind others want a queue of their own
_TRIES = 50  # conditional writes that one claim may lose before it says "come back"
_CALM_CLAIMS = 20  # claims without a conflict before the order is strict again

MAX_RETRY_AFTER_SECONDS = 20.0
_RETRY_AFTER_SECONDS = 5.0  # where nothing is known; the seed's own pause
_RETRY_AFTER_CONFLICTS_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """Who asks for which jobs.

    Attributes:
        queues: names, in order of preference.
        worker_id: who asks, for people to read.
        job_types: which types will do; empty for all.
        lease_seconds: in place of the job's own.
        max_jobs: how many at most.
    """

    queues: Sequence[str] = ("default",)
    worker_id: str | None = None
    job_types: frozenset[str] = frozenset()
    lease_seconds: int | None = None
    max_jobs: int = 1


@dataclass(slots=True)
class Taken:
    """What one look at the queues brought.

    Attributes:
        at: when it looked, milliseconds.
        jobs: claimed, in the order they were due.
        next_due: when the next waiting job is due, if one was seen.
        conflicts: writes lost to other workers.
        rows: of the index that it read.
    """

    at: int
    jobs: list[Job] = field(default_factory=list)
    next_due: int | None = None
    conflicts: int = 0
    rows: int = 0

    @property
    def retry_after_seconds(self) -> float:
        """Say when to come back, in seconds: when something is due, at most 20."""
        if self.conflicts:
            return _RETRY_AFTER_CONFLICTS_SECONDS
        if self.next_due is None:
            return _RETRY_AFTER_SECONDS
        return min(max(self.next_due - self.at, 0) / 1000, MAX_RETRY_AFTER_SECONDS)


class Claimer:
    """Takes due jobs; remembers from claim to claim whether it is alone."""

    def __init__(self, store: JobStore, random: Random) -> None:
        self._store = store
        self._random = random
        self._contended = 0  # claims to come that choose at random

    def take(self, request: ClaimRequest, queues: Sequence[QueueRecord], now: int) -> Taken:
        """Claim due jobs of these queues, highest priority first, oldest first.

        Nothing due is hidden behind something that is not: each partition is looked at by
        itself, and read on past jobs of other types.
        """
        taken = Taken(now)
        try:
            for queue in queues:
                for partition in queue.partitions(Status.QUEUED):
                    for window in self._due(partition, request.job_types, now, taken):
                        self._take_from(window, request, now, taken)
                        if len(taken.jobs) >= request.max_jobs or taken.conflicts >= _TRIES:
                            return taken
        except StoreError:
            # what is leased already is handed over: it must not wait for its lease to end
            if not taken.jobs:
                raise
        return taken

    def _due(
        self, partition: Partition, job_types: frozenset[str], now: int, taken: Taken
    ) -> Iterator[list[Row]]:
        """Yield a partition's due rows of the right types, a window at a time.

        The query is not bounded by now: at the same price, the first row that is not due
        tells when to come back.
        """
        start: Start | None = None
        limit = _WINDOW
        while taken.rows < _MAX_ROWS:
            page = self._store.rows(partition, limit=limit, start=start)
            taken.rows += len(page.rows)
            due = [row for row in page.rows if row.run_after <= now]
            if len(due) < len(page.rows):
                first = page.rows[len(due)].run_after
                taken.next_due = first if taken.next_due is None else min(taken.next_due, first)
            wanted = [row for row in due if not job_types or row.job_type in job_types]
            if wanted:
                yield wanted
            if len(due) < len(page.rows) or not page.more:
                return
            start = Start(due[-1].run_after, after_id=due[-1].id)
            limit = _WIDE_WINDOW

    def _take_from(self, window: list[Row], request: ClaimRequest, now: int, taken: Taken) -> None:
        """Claim from a window, the next candidate on each conflict."""
        if self._contended:
            self._contended -= 1
            self._random.shuffle(window)
        candidates = iter(window)
        while (room := request.max_jobs - len(taken.jobs)) > 0 and taken.conflicts < _TRIES:
            batch = [row for _, row in zip(range(room), candidates, strict=False)]
            if not batch:
                return
            outcomes = run_all(lambda row: self._claim(row, request, now), batch)
            taken.jobs += [outcome for outcome in outcomes if isinstance(outcome, Job)]
            for outcome in outcomes:
                if isinstance(outcome, StoreError):
                    raise outcome
            lost = outcomes.count(None)
            if lost:
                taken.conflicts += lost
                self._contended = _CALM_CLAIMS
                rest = list(candidates)
                self._random.shuffle(rest)
                candidates = iter(rest)

    def _claim(self, row: Row, request: ClaimRequest, now: int) -> Job | StoreError | None:
        """Return the job; None where another was quicker; the error where none can tell."""
        token = f"{self._random.getrandbits(128):032x}"
        try:
            return self._store.claim(
                row,
                lease_token=token,
                worker_id=request.worker_id,
                lease_seconds=request.lease_seconds,
                now=now,
            )
        except ChangedError:
            return None
        except StoreError as error:
            return error
