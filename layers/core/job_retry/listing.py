"""Lists: one exact order over all the partitions that a filter asks for.

Rows are merged lazily from the index by (run_after, partition, the partition's own order),
so page numbers and cursors walk the same sequence, and a cursor needs only the last row.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import NamedTuple

from job_retry.clock import MAX_MOMENT
from job_retry.errors import InvalidFieldError, TooCostlyError
from job_retry.ids import MAX_ID
from job_retry.job import Job, Status
from job_retry.lanes import Partition, QueueRecord
from job_retry.parallel import run_all
from job_retry.store import JobStore, Page, Row, Start

MAX_READS = 10_000
"""Index rows and queries that one list may cost."""

_WIDE_PAGE = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """Which jobs, in which order, and which part of them.

    Attributes:
        status: only this one; None for all.
        queue: only this one; None for all.
        job_type: only this one; None for all.
        page: counted from 1; not together with a cursor.
        per_page: jobs on a page.
        cursor: the ``next_cursor`` of an earlier answer with the same filter and order.
        newest_first: latest run_after first.
    """

    status: Status | None = None
    queue: str | None = None
    job_type: str | None = None
    page: int = 1
    per_page: int = 25
    cursor: str | None = None
    newest_first: bool = True


class ListAnswer(NamedTuple):
    """A page of jobs.

    Attributes:
        jobs: as their records stand now.
        more: whether others follow.
        next_cursor: continues behind the last one; None at the end.
    """

    jobs: Sequence[Job]
    more: bool
    next_cursor: str | None


class _Place(NamedTuple):
    """The place of a row in the whole order."""

    run_after: int
    partition_key: str
    id: int


def list_jobs(store: JobStore, request: ListRequest, queues: Sequence[QueueRecord]) -> ListAnswer:
    """Return a page.

    A job that moves between partitions while the page is made may stand where it was, but
    is shown as it is, and left out only where it no longer matches the filter.

    Raises:
        InvalidFieldError: the cursor is none of this list's.
        TooCostlyError: it would take over 10,000 reads.
    """
    statuses = list(Status) if request.status is None else [request.status]
    partitions = {
        partition.key: partition
        for queue in queues
        for status in statuses
        for partition in queue.partitions(status)
    }
    place = None if request.cursor is None else _read_cursor(request, partitions)
    reading = _Reading(store, request, partitions, place)
    rows = (
        row
        for row in reading.rows()
        if request.job_type is None or row.job_type == request.job_type
    )
    for _ in islice(rows, (request.page - 1) * request.per_page):
        pass
    found: dict[int, tuple[Row, Job]] = {}
    wanted = request.per_page + 1  # one more tells whether there are more
    too_costly: TooCostlyError | None = None
    while len(found) < wanted and too_costly is None:
        some: list[Row] = []
        try:
            some.extend(islice(rows, wanted - len(found)))
        except TooCostlyError as error:
            too_costly = error
        if not some:
            break
        records = store.read_many([row.id for row in some])
        for row in some:
            job = records.get(row.id)
            if job is not None and job.status in statuses:
                found.setdefault(job.id, (row, job))
    if too_costly is not None:
        jobs = [job for _, job in found.values()]
        raise TooCostlyError(MAX_READS, too_costly.next_cursor, jobs)
    page = list(found.values())[: request.per_page]
    more = len(found) > request.per_page
    return ListAnswer(
        [job for _, job in page], more, _write_cursor(request, page[-1][0]) if more else None
    )


class _Reading:
    """The merged rows of a list, counting what they cost."""

    def __init__(
        self,
        store: JobStore,
        request: ListRequest,
        partitions: dict[str, Partition],
        place: _Place | None,
    ) -> None:
        self._store = store
        self._request = request
        self._partitions = partitions
        self._place = place
        self._reads = 0
        self._last: Row | None = None
        # what is passed over need not come in pages of the size that is asked for
        passes_over = request.job_type is not None or request.page > 1
        self._limit = max(request.per_page + 1, _WIDE_PAGE if passes_over else 0)

    def rows(self) -> Iterator[Row]:
        """Yield rows in the list's order.

        Raises:
            TooCostlyError: as soon as the reads are used up.
        """
        keys = sorted(self._partitions)
        self._spend(len(keys))
        first = run_all(lambda key: self._page(key, self._start(key)), keys)
        merged = merge(
            *(self._partition_rows(key, page) for key, page in zip(keys, first, strict=True)),
            key=lambda row: (row.run_after, row.partition.key),
            reverse=self._request.newest_first,
        )
        for row in merged:
            self._spend(1)
            self._last = row
            yield row

    def _partition_rows(self, key: str, page: Page) -> Iterator[Row]:
        while True:
            yield from page.rows
            if not page.more:
                return
            last = page.rows[-1]
            self._spend(1)
            page = self._page(key, Start(last.run_after, after_id=last.id))

    def _page(self, key: str, start: Start | None) -> Page:
        return self._store.rows(
            self._partitions[key],
            limit=self._limit,
            newest_first=self._request.newest_first,
            start=start,
        )

    def _start(self, key: str) -> Start | None:
        """Return where a partition goes on, behind the cursor's row in the whole order."""
        place = self._place
        if place is None:
            return None
        if key == place.partition_key:
            return Start(place.run_after, after_id=place.id)
        is_later = (key < place.partition_key) == self._request.newest_first
        return Start(place.run_after, inclusive=is_later)

    def _spend(self, reads: int) -> None:
        self._reads += reads
        if self._reads > MAX_READS:
            cursor = None if self._last is None else _write_cursor(self._request, self._last)
            raise TooCostlyError(MAX_READS, cursor)


def _order(request: ListRequest) -> str:
    return "desc" if request.newest_first else "asc"


def _write_cursor(request: ListRequest, row: Row) -> str:
    place = [_order(request), row.run_after, row.partition.key, row.id]
    return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _read_cursor(request: ListRequest, partitions: dict[str, Partition]) -> _Place:
    text = request.cursor or ""
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        order, run_after, key, job_id = json.loads(raw)
    except (ValueError, TypeError, RecursionError):
        raise InvalidFieldError("cursor", "is not a cursor of this API") from None
    numbers = _is_between(0, run_after, MAX_MOMENT) and _is_between(0, job_id, MAX_ID)
    if not numbers or order != _order(request) or not _is_known(key, partitions):
        raise InvalidFieldError("cursor", "is of a list with another filter or order")
    return _Place(run_after, key, job_id)


def _is_between(low: int, number: object, high: int) -> bool:
    return type(number) is int and low <= number <= high


def _is_known(key: object, partitions: dict[str, Partition]) -> bool:
    return isinstance(key, str) and key in partitions
