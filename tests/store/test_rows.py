"""Rows of the index: their order, and where a reading begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from job_retry.job import Job, Status
from job_retry.store import JobStore, Page, Start, partition_of
from tests.store.builders import NOW, queued_job, unique_queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from job_retry.lanes import Partition

MOMENTS = [NOW + moment for moment in (5, 1, 3, 3, 3, 2, 9, 3)]


@pytest.fixture
def jobs(store: JobStore) -> list[Job]:
    """Jobs of one partition, four of them due at the same moment, and one beside it."""
    queue = unique_queue()
    jobs = [queued_job(queue=queue, run_after=moment) for moment in MOMENTS]
    for job in [*jobs, queued_job(queue=queue, priority=1)]:
        store.add(job)
    return jobs


@pytest.fixture
def partition(jobs: list[Job]) -> Partition:
    """Where they stand."""
    return partition_of(jobs[0])


def pages(
    store: JobStore, partition: Partition, limit: int, *, newest_first: bool
) -> Iterator[Page]:
    """Yield a partition's pages, each begun behind the one before."""
    start = None
    while True:
        page = store.rows(partition, limit=limit, newest_first=newest_first, start=start)
        yield page
        if not page.more:
            return
        start = Start(page.rows[-1].run_after, after_id=page.rows[-1].id)


def test_rows_come_by_run_after(store: JobStore, jobs: list[Job], partition: Partition) -> None:
    page = store.rows(partition, limit=100)
    assert [row.run_after for row in page.rows] == sorted(MOMENTS)
    assert {row.id for row in page.rows} == {job.id for job in jobs}
    assert not page.more
    newest = store.rows(partition, limit=100, newest_first=True)
    assert newest.rows == list(reversed(page.rows))


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_reading_goes_on_behind_any_row(
    store: JobStore, partition: Partition, limit: int, *, newest_first: bool
) -> None:
    at_once = store.rows(partition, limit=100, newest_first=newest_first).rows
    paged = [
        row
        for page in pages(store, partition, limit, newest_first=newest_first)
        for row in page.rows
    ]
    assert paged == at_once


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("inclusive", [False, True])
def test_a_reading_begins_at_a_moment(
    store: JobStore, partition: Partition, *, newest_first: bool, inclusive: bool
) -> None:
    start = Start(NOW + 3, inclusive=inclusive)
    rows = store.rows(partition, limit=100, newest_first=newest_first, start=start).rows
    expected = [
        moment
        for moment in sorted(MOMENTS, reverse=newest_first)
        if (moment == start.run_after and inclusive)
        or (moment != start.run_after and (moment < start.run_after) == newest_first)
    ]
    assert [row.run_after for row in rows] == expected


def test_a_reading_goes_on_behind_a_row_that_has_left(
    store: JobStore, jobs: list[Job], partition: Partition
) -> None:
    rows = store.rows(partition, limit=100).rows
    gone = next(job for job in jobs if job.id == rows[3].id)
    store.claim(rows[3], lease_token="t" * 32, worker_id=None, lease_seconds=None, now=NOW + 99)
    start = Start(gone.run_after, after_id=gone.id)
    assert store.rows(partition, limit=100, start=start).rows == rows[4:]


def test_an_empty_partition_has_no_rows(store: JobStore, partition: Partition) -> None:
    empty = partition._replace(status=Status.DEAD)
    assert store.rows(empty, limit=10) == Page([], more=False)
