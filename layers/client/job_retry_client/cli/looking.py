"""What a queue looks like, once and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from job_retry_client.cli.jobs import Order, Status
from job_retry_client.errors import JobQueueError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from job_retry_client.models import Job, Page
    from job_retry_client.queue import JobQueue

# what a person looks for first: the next that is due, the lease that ends next, the last to end
LOOKS = {
    Status.QUEUED: (Order.EARLIEST_FIRST, "next is due"),
    Status.RUNNING: (Order.EARLIEST_FIRST, "first lease ends"),
    Status.COMPLETED: (Order.LATEST_FIRST, "last one"),
    Status.DEAD: (Order.LATEST_FIRST, "last one"),
    Status.CANCELLED: (Order.LATEST_FIRST, "last one"),
}
"""How a state's page is ordered, and what its first job is called."""


@dataclass(frozen=True)
class Look:
    """What a queue looked like.

    Attributes:
        queue: its name.
        moment: when.
        pages: a page of each state's jobs.
    """

    queue: str
    moment: datetime
    pages: dict[str, Page]

    @property
    def counts(self) -> dict[str, str]:
        """How many jobs each state has: ``7``, or ``25+`` where there are more."""
        return {
            status: f"{len(page)}{'+' if page.next_cursor else ''}"
            for status, page in self.pages.items()
        }

    @property
    def latest(self) -> list[Job]:
        """The jobs of the pages, the last changed first."""
        jobs: dict[int, Job] = {}
        for job in (job for page in self.pages.values() for job in page):
            # a job that moved between two pages is in both
            if job.id not in jobs or jobs[job.id].updated_at <= job.updated_at:
                jobs[job.id] = job
        return sorted(jobs.values(), key=lambda job: job.updated_at, reverse=True)


@dataclass(frozen=True)
class Trouble:
    """Why there is nothing to be seen.

    Attributes:
        error: of the latest look.
        since: when the first look failed that no other has succeeded since.
    """

    error: JobQueueError
    since: datetime


def look_at(queue: JobQueue, name: str, count_to: int, clock: Callable[[], datetime]) -> Look:
    """Look at a queue, a page for each state."""
    pages = {
        status.value: queue.list(
            status=status.value, queue=name, per_page=count_to, order=order.value
        )
        for status, (order, _) in LOOKS.items()
    }
    return Look(name, clock(), pages)


def seen_until_stopped(
    look: Callable[[], Look], clock: Callable[[], datetime]
) -> Iterator[Look | Trouble]:
    """Look again and again, through outages too.

    Args:
        look: returns what it sees.
        clock: returns the time.

    Raises:
        JobQueueError: of the first look; more likely the address is wrong than that it passes.
    """
    yield look()
    since: datetime | None = None
    while True:
        seen = _seen(look)
        if isinstance(seen, Look):
            since = None
            yield seen
        else:
            since = since or clock()
            yield Trouble(seen, since)


def _seen(look: Callable[[], Look]) -> Look | JobQueueError:
    try:
        return look()
    except JobQueueError as error:
        return error
