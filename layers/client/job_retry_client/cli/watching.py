"""``watch``: a queue, live."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from job_retry_client.cli.jobs import Order, Status
from job_retry_client.cli.moments import relative
from job_retry_client.cli.options import check_finite
from job_retry_client.cli.session import Session
from job_retry_client.cli.tables import JobsTable, status_text
from job_retry_client.models import Job, Page
from job_retry_client.queue import JobQueue

_LONGEST = 86_400  # seconds; no computer sleeps for any number

# what a person looks for first: the next that is due, the lease that ends next, the last to end
_LOOKS = {
    Status.QUEUED: (Order.EARLIEST_FIRST, "next is due"),
    Status.RUNNING: (Order.EARLIEST_FIRST, "first lease ends"),
    Status.COMPLETED: (Order.LATEST_FIRST, "last one"),
    Status.DEAD: (Order.LATEST_FIRST, "last one"),
    Status.CANCELLED: (Order.LATEST_FIRST, "last one"),
}


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


def watch(
    session: Session,
    *,
    queue: Annotated[str, typer.Option("--queue", "-q", help="To look at.")] = "default",
    interval: Annotated[
        float,
        typer.Option("--interval", "-n", min=0.5, max=_LONGEST, help="Seconds between two looks."),
    ] = 5.0,
    rows: Annotated[int, typer.Option(min=0, help="Latest jobs to show.")] = 10,
    count_to: Annotated[
        int,
        typer.Option(
            min=1,
            max=100,
            help="Count no further in each state, since a look reads what it counts.",
        ),
    ] = 25,
    once: Annotated[bool, typer.Option("--once", help="Look once.")] = False,
) -> None:
    """Show how many jobs of a queue are in which state, and the latest, until Ctrl-C.

    A look asks for a page of each state, five requests.
    """
    check_finite(interval, "--interval")

    def look() -> Look:
        return look_at(session.queue, queue, count_to, session.clock)

    if once:
        _print(session, look(), rows)
        return
    try:
        if session.out.is_terminal and not session.options.as_json:
            with Live(frame(look(), rows), console=session.out, auto_refresh=False) as live:
                while True:
                    session.sleep(interval)
                    live.update(frame(look(), rows), refresh=True)
        while True:
            _print(session, look(), rows)
            session.sleep(interval)
    except KeyboardInterrupt:
        return  # how it is meant to end


def look_at(queue: JobQueue, name: str, count_to: int, clock: Callable[[], datetime]) -> Look:
    """Look at a queue, a page for each state."""
    pages = {
        status.value: queue.list(
            status=status.value, queue=name, per_page=count_to, order=order.value
        )
        for status, (order, _) in _LOOKS.items()
    }
    return Look(name, clock(), pages)


def frame(look: Look, rows: int) -> Group:
    """Return a look as it is shown."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Status")
    table.add_column("Jobs", justify="right")
    table.add_column("")
    for status, (_, words) in _LOOKS.items():
        jobs = look.pages[status.value].jobs
        when = f"{words} {relative(jobs[0].run_after, look.moment)}" if jobs else ""
        table.add_row(status_text(status.value), Text(look.counts[status.value]), Text(when))
    title = Text(f"{look.queue}, {look.moment.astimezone():%Y-%m-%d %H:%M:%S}", "bold")
    latest = look.latest[:rows]
    return Group(title, table, *([JobsTable(latest, look.moment)] if latest else []))


def _print(session: Session, look: Look, rows: int) -> None:
    answer: dict[str, Any] = {
        "queue": look.queue,
        "at": look.moment.isoformat(),
        "counts": look.counts,
        "latest": [job.answer for job in look.latest[:rows]],
    }
    session.answer(answer, frame(look, rows))
