"""``watch``: a queue, live."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from job_retry_client.cli.exits import message_of
from job_retry_client.cli.looking import LOOKS, Look, Trouble, look_at, seen_until_stopped
from job_retry_client.cli.moments import relative
from job_retry_client.cli.options import check_finite
from job_retry_client.cli.session import Session, plain
from job_retry_client.cli.tables import JobsTable, status_text

_LONGEST = 86_400  # seconds; no computer sleeps for any number


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

    A look asks for a page of each state, five requests. An outage is told, and lasted out.
    """
    check_finite(interval, "--interval")

    def look() -> Look:
        return look_at(session.queue, queue, count_to, session.clock)

    if once:
        _print(session, look(), rows)
        return
    try:
        seen = seen_until_stopped(look, session.clock)
        if session.out.is_terminal and not session.options.as_json:
            _show_live(session, seen, interval, rows)
        else:
            for each in seen:
                _tell(session, each, rows)
                session.sleep(interval)
    except KeyboardInterrupt:
        return  # how it is meant to end


def frame(look: Look, rows: int) -> Group:
    """Return a look as it is shown."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Status")
    table.add_column("Jobs", justify="right")
    table.add_column("")
    for status, (_, words) in LOOKS.items():
        jobs = look.pages[status.value].jobs
        when = f"{words} {relative(jobs[0].run_after, look.moment)}" if jobs else ""
        table.add_row(status_text(status.value), Text(look.counts[status.value]), Text(when))
    title = Text(f"{look.queue}, {_time(look.moment)}", "bold")
    latest = look.latest[:rows]
    return Group(title, table, *([JobsTable(latest, look.moment)] if latest else []))


def _show_live(
    session: Session, seen: Iterator[Look | Trouble], interval: float, rows: int
) -> None:
    first = next(seen)  # an error of it is told without a frame
    shown = Group()
    with Live(shown, console=session.out, auto_refresh=False) as live:
        for each in chain((first,), seen):
            if isinstance(each, Trouble):
                words = f"since {_time(each.since)}: {plain(message_of(each.error))}"
                live.update(Group(Text(words, "red"), shown), refresh=True)
            else:
                shown = frame(each, rows)
                live.update(shown, refresh=True)
            session.sleep(interval)


def _tell(session: Session, seen: Look | Trouble, rows: int) -> None:
    if isinstance(seen, Look):
        _print(session, seen, rows)
        return
    since = seen.since.isoformat() if session.options.as_json else _time(seen.since)
    session.error(seen.error, since=since)


def _time(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def _print(session: Session, look: Look, rows: int) -> None:
    answer: dict[str, Any] = {
        "queue": look.queue,
        "at": look.moment.isoformat(),
        "counts": look.counts,
        "latest": [job.answer for job in look.latest[:rows]],
    }
    session.answer(answer, frame(look, rows))
