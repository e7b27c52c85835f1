"""One claim: which due job to try next, until a conditional write succeeds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from job_retry.contention import CALM_ROWS
from job_retry.errors import StoreError
from job_retry.job import Job, Status
from job_retry.parallel import run_all
from job_retry.store import ChangedError, Start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from job_retry.claiming import ClaimRequest, Taken
    from job_retry.contention import Contention
    from job_retry.lanes import Partition
    from job_retry.looks import Looks
    from job_retry.store import JobStore, Page, Row

_WIDE_WINDOW = 1000  # rows, when the first ones are all of job types not asked for
_MAX_ROWS = 10_000  # that one claim looks at: jobs so deep behind others want a queue of their own
_TRIES = 6  # times in a row that a claim may come too late before it says "come back"
_SPARE = 4  # records to look at beside those that are wanted, since others look at them too

_AT_ONCE = 8  # lanes of higher priorities, or once the first look brought nothing, of any
_LOOKS = 20  # lanes that a claim looks at, or a quarter of them if that is more
_REST_MS = 500  # where that is not all of them, a lane that was seen is let alone for so long
_RETRY_AFTER_UNSEEN_SECONDS = 5.0  # at most, while there are lanes that were not looked at


@dataclass(slots=True)
class Taking:
    """One claim under way: looks at lanes, and takes from them, until there is enough."""

    store: JobStore
    random: Random
    contention: Contention
    looks: Looks
    request: ClaimRequest
    taken: Taken
    again: Sequence[Row]  # just queued again, perhaps not in the index yet
    tried: set[int] = field(default_factory=set)  # of those, already
    late: int = 0  # times in a row that others were quicker
    failure: StoreError | None = None

    def take_from(self, partitions: Sequence[Partition]) -> None:
        """Look at a queue's lanes, some at a time, until there is enough.

        Where it has few, all are looked at before the claim says that there is nothing.
        Where it has many, that would be dear with many workers asking: then those go first
        that were not looked at for longest, so that each has its turn after a few claims.
        """
        room = max(_LOOKS, len(partitions) // 4)
        before = self.taken.at - _REST_MS if len(partitions) > room else None
        seen: set[Partition] = set()
        chosen = self._first_choice(partitions)
        first = True
        while chosen:
            self._look(chosen)
            seen.update(chosen)
            room -= len(chosen)
            if first:
                self.looks.found(something=bool(self.taken.jobs))
            if self.is_over() or self.failure or (self.taken.jobs and not first):
                return
            first = False
            unseen = [each for each in partitions if each not in seen]
            chosen = self.looks.stalest(unseen, max(min(_AT_ONCE, room), 0), before=before)
        if len(seen) < len(partitions):
            self.taken.lanes_unseen = True
            self.taken.pause = min(self.taken.pause, _RETRY_AFTER_UNSEEN_SECONDS)
        self._is_due(self.looks.next_due(partitions, self.taken.at))

    def is_over(self) -> bool:
        """Say whether there is enough, or no point in going on."""
        return len(self.taken.jobs) >= self.request.max_jobs or self.late >= _TRIES

    def _first_choice(self, partitions: Sequence[Partition]) -> list[Partition]:
        """Return lanes of each priority to look at first.

        Of the higher ones that is some more: a job there goes before what is due below,
        whichever lane it stands in.
        """
        chosen = [
            lane
            for _, lanes in groupby(partitions, key=lambda each: each.priority)
            for lane in self.looks.likely(list(lanes), self.taken.at, alone=self.contention.alone)
        ]
        lowest = min((each.priority for each in partitions), default=0)
        known = set(chosen)
        higher = [each for each in partitions if each.priority > lowest and each not in known]
        return chosen + self.looks.stalest(higher, _AT_ONCE)

    def _look(self, partitions: Sequence[Partition]) -> None:
        """Look at some partitions at once and claim from them, highest priority first.

        The query is not bounded by now: at the same price, the first row that is not due
        tells when to come back.
        """
        partitions = sorted(partitions, key=lambda each: -each.priority)
        together = Counter(each.priority for each in partitions)  # are chosen from as one

        def look(lane: Partition) -> Page | None:
            limit = max(self.contention.rows // together[lane.priority], CALM_ROWS)
            return self._page(lane, limit, None)

        pages = run_all(look, partitions)
        seen = list(zip(partitions, pages, strict=True))
        for priority, same in groupby(seen, key=lambda each: each[0].priority):
            self._take_again(partitions[0].queue, priority)
            lanes = [(lane, page) for lane, page in same if page is not None]
            self._take(self._wanted([row for _, page in lanes for row in page.rows]))
            for lane, page in lanes:
                for further in self._further(lane, page):
                    self._take(further)
            self._take_doubted([row for _, page in lanes for row in page.rows])
            for lane, page in lanes:
                self.looks.saw(lane, self._head(page), self.taken.at)

    def _page(self, partition: Partition, limit: int, start: Start | None) -> Page | None:
        try:
            return self.store.rows(partition, limit=limit, start=start)
        except StoreError as error:
            self.failure = error
            return None

    def _further(self, partition: Partition, page: Page) -> Iterator[list[Row]]:
        """Yield a partition's due rows from behind a page, while more are wanted."""
        while page.more and page.rows[-1].run_after <= self.taken.at:
            if self.is_over() or self.taken.rows >= _MAX_ROWS:
                return
            start = Start(page.rows[-1].run_after, after_id=page.rows[-1].id)
            further = self._page(partition, _WIDE_WINDOW, start)
            if further is None:
                return
            page = further
            yield self._wanted(page.rows)

    def _wanted(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that are due, of the right types, and not known to be taken."""
        now = self.taken.at
        self.taken.rows += len(rows)
        self._is_due(next((row.run_after for row in rows if row.run_after > now), None))
        return [
            row
            for row in rows
            if self._fits(row) and not self._is_gone(row) and row.id not in self.tried
        ]

    def _take_again(self, queue: str, priority: int) -> None:
        """Claim what was just queued again, once: no read would know better that it waits."""
        rows = [
            row
            for row in self.again
            if (row.partition.queue, row.partition.priority) == (queue, priority)
            and row.id not in self.tried
            and self._fits(row)
        ]
        rows = rows[: self.request.max_jobs - len(self.taken.jobs)]
        if rows and not self.is_over():
            self.tried.update(row.id for row in rows)
            self._claim_all(rows)

    def _take_doubted(self, rows: Sequence[Row]) -> None:
        """Where nothing better is left, see whether rows that were taken are there again.

        A job that was given back for the very moment it had before has the same row.
        """
        if not self.is_over():
            doubted = [row for row in rows if self._fits(row) and self._is_gone(row)]
            self._take(self._still_waiting(doubted[: self.request.max_jobs + _SPARE]))

    def _fits(self, row: Row) -> bool:
        types = self.request.job_types
        return row.run_after <= self.taken.at and (not types or row.job_type in types)

    def _is_gone(self, row: Row) -> bool:
        return self.contention.is_gone(row, self.taken.at)

    def _head(self, page: Page) -> int | None:
        """Return the moment of a page's first row that was not taken."""
        left = (row for row in page.rows if not self.contention.is_gone(row, self.taken.at + 1))
        head = next(left, page.rows[-1] if page.more else None)
        return None if head is None else head.run_after

    def _is_due(self, moment: int | None) -> None:
        """Note when a job is due that is not due yet."""
        if moment is not None:
            known = self.taken.next_due
            self.taken.next_due = moment if known is None else min(known, moment)

    def _take(self, rows: list[Row]) -> None:
        """Claim from some rows, the next ones on each conflict."""
        most = self.request.max_jobs + _TRIES * (1 + _SPARE)
        waiting = self.contention.order(rows, most)
        while waiting and not self.is_over():
            room = self.request.max_jobs - len(self.taken.jobs)
            if self.contention.doubtful:
                checked = self._still_waiting(waiting[: room + _SPARE])
                waiting = checked + waiting[room + _SPARE :]
                batch, waiting = checked[:room], waiting[len(checked[:room]) :]
            else:
                batch, waiting = waiting[:room], waiting[room:]
            if not self._claim_all(batch):
                self.random.shuffle(waiting)
        self.taken.gave_up = self.taken.gave_up or (self.late >= _TRIES and bool(waiting))

    def _still_waiting(self, rows: list[Row]) -> list[Row]:
        """Return those of the rows that the records bear out, half a read unit each."""
        if not rows:
            return []
        jobs = self.store.read_many([row.id for row in rows])
        waiting = []
        for row in rows:
            job = jobs.get(row.id)
            if job is not None and job.status is Status.QUEUED and job.run_after == row.run_after:
                waiting.append(row)
            else:
                self.contention.gone(row, self.taken.at)
        return waiting

    def _claim_all(self, rows: list[Row]) -> bool:
        """Claim rows at once; say whether none of them was lost."""
        outcomes = run_all(self._claim, rows)
        won = [outcome for outcome in outcomes if isinstance(outcome, Job)]
        self.taken.jobs += won
        self.late = 0 if won else self.late + 1
        for row, outcome in zip(rows, outcomes, strict=True):
            if isinstance(outcome, Job):
                self.contention.won(row, self.taken.at)
            elif outcome is None:
                self.contention.lost(row, self.taken.at)
                self.taken.conflicts += 1
            else:
                self.failure, self.late = outcome, _TRIES
        return len(won) == len(rows) > 0

    def _claim(self, row: Row) -> Job | StoreError | None:
        """Return the job; None where another was quicker; the error where none can tell."""
        token = f"{self.random.getrandbits(128):032x}"
        try:
            return self.store.claim(
                row,
                lease_token=token,
                worker_id=self.request.worker_id,
                lease_seconds=self.request.lease_seconds,
                now=self.taken.at,
            )
        except ChangedError:
            return None
        except StoreError as error:
            return error
