"""What people ask of jobs: ``get``, ``list``, ``cancel``, ``delete``."""

from collections.abc import Iterable
from enum import Enum
from typing import Annotated, TypeAlias

import typer

from job_retry_client.cli.options import JobId
from job_retry_client.cli.session import Session
from job_retry_client.cli.tables import JobsTable, job_card
from job_retry_client.models import Job, Page


class Status(str, Enum):
    """The states of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    DEAD = "dead"
    CANCELLED = "cancelled"


class Order(str, Enum):
    """By when something happens to the jobs."""

    LATEST_FIRST = "desc"
    EARLIEST_FIRST = "asc"


OfQueue: TypeAlias = Annotated[
    str | None, typer.Option("--queue", "-q", help="Of this queue only.")
]
OfType: TypeAlias = Annotated[
    str | None, typer.Option("--type", "-t", help="Of this job type only.")
]
InOrder: TypeAlias = Annotated[
    Order, typer.Option(help="desc for the latest first, by when each is due, ends or ended.")
]
PerPage: TypeAlias = Annotated[
    int | None, typer.Option(help="Jobs of a page, to 100.", show_default="25")
]
Cursor: TypeAlias = Annotated[
    str | None, typer.Option(help="Where the page begins, as the page before told.")
]
All: TypeAlias = Annotated[
    bool, typer.Option("--all", help="All pages, however many reads it takes.")
]


def get(session: Session, job_id: JobId) -> None:
    """Show a job with its payload, result and history."""
    job = session.queue.get(job_id)
    session.answer(job.answer, job_card(job, session.clock()))


def list_jobs(
    session: Session,
    *,
    status: Annotated[
        Status | None, typer.Option("--status", "-s", help="In this state only.")
    ] = None,
    queue: OfQueue = None,
    job_type: OfType = None,
    order: InOrder = Order.LATEST_FIRST,
    per_page: PerPage = None,
    cursor: Cursor = None,
    every: All = False,
) -> None:
    """List jobs: a page of them, or all."""
    only = None if status is None else status.value
    if every:
        check_alone(per_page, cursor)
        show_all(
            session,
            session.queue.walk(status=only, queue=queue, job_type=job_type, order=order.value),
        )
        return
    page = session.queue.list(
        status=only,
        queue=queue,
        job_type=job_type,
        per_page=per_page,
        cursor=cursor,
        order=order.value,
    )
    show_page(session, page)


def cancel(session: Session, job_id: JobId) -> None:
    """Take a job that is queued out for good."""
    job = session.queue.cancel(job_id)
    session.answer(job.answer, f"job {job.id} is {job.status}")


def delete(session: Session, job_id: JobId) -> None:
    """Drop an ended job and all that belongs to it."""
    session.queue.delete(job_id)
    if not session.options.as_json:
        session.out.print(f"job {job_id} is deleted")


def check_alone(per_page: int | None, cursor: str | None) -> None:
    """Check that no page is asked for where all are.

    Raises:
        typer.BadParameter: one is.
    """
    if per_page is not None or cursor is not None:
        raise typer.BadParameter("no --per-page and no --cursor with it", param_hint="--all")


def show_page(session: Session, page: Page) -> None:
    """Print a page of jobs, and how to see the next."""
    _show(session, page.jobs)
    if page.next_cursor is not None:
        session.note(
            f"there are more: --cursor {page.next_cursor}, or --all", next_cursor=page.next_cursor
        )


def show_all(session: Session, jobs: Iterable[Job]) -> None:
    """Print jobs: as JSON each as it comes, for people when all have come."""
    if session.options.as_json:
        _show(session, jobs)
        return
    _show(session, _counted(session, jobs))


def _counted(session: Session, jobs: Iterable[Job]) -> list[Job]:
    """Return jobs, and show meanwhile how many have come."""
    if not session.shows_progress:
        return list(jobs)
    listed: list[Job] = []
    with session.err.status("Listing …") as status:
        for job in jobs:
            listed.append(job)
            status.update(f"Listing … {len(listed)} jobs")
    return listed


def _show(session: Session, jobs: Iterable[Job]) -> None:
    if session.options.as_json:
        for job in jobs:
            session.answer(job.answer, "")
    elif listed := list(jobs):
        session.out.print(JobsTable(listed, session.clock()))
    else:
        session.note("there are no such jobs")
