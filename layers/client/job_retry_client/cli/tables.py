"""Jobs and queues as people see them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from job_retry_client.cli.moments import relative, show
from job_retry_client.cli.session import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from rich.console import RenderableType

    from job_retry_client.models import Attempt, Job

STYLES = {
    "queued": "cyan",
    "running": "yellow",
    "completed": "green",
    "dead": "red",
    "cancelled": "dim",
}
"""The colour of each status."""

_RUN_AFTER = {"queued": "due", "running": "lease ends"}
_SETTINGS = ("lease_seconds", "max_attempts", "backoff_seconds")
_SHOWN_DOCUMENT = 10_000


def jobs_table(jobs: Iterable[Job], now: datetime) -> Table:
    """Return jobs, one a row."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("ID", "Status", "Queue", "Type"):
        table.add_column(name, no_wrap=True, overflow="fold")
    table.add_column("Attempts", justify="right")
    table.add_column("When", no_wrap=True)
    table.add_column("Last error", no_wrap=True, overflow="ellipsis")
    for job in jobs:
        table.add_row(
            Text(str(job.id)),
            status_text(job.status),
            _text(job.queue),
            _text(job.job_type),
            Text(f"{job.attempts}/{job.max_attempts}"),
            Text(_briefly_when(job, now)),
            _text(_first_line(job.last_error)),
        )
    return table


def job_card(job: Job, now: datetime) -> RenderableType:
    """Return all of a job that says something, and its history."""
    grid = _grid()
    for name, value in _rows(job, now).items():
        grid.add_row(Text(name, "bold"), value if isinstance(value, Text) else _text(str(value)))
    if not job.history:
        return grid
    return Group(grid, Text(), _history_table(job.history))


def queue_card(settings: Mapping[str, Any]) -> Table:
    """Return the settings of a queue."""
    grid = _grid()
    for name, value in settings.items():
        if isinstance(value, list):
            shown = ", ".join(map(str, value)) or "none"
        else:
            missing = "default" if name in _SETTINGS else "–"
            shown = missing if value is None else str(value)
        grid.add_row(Text(name.replace("_", " "), "bold"), _text(shown))
    return grid


def status_text(status: str) -> Text:
    """Return a status in its colour."""
    return Text(status, STYLES.get(status, ""))


def _rows(job: Job, now: datetime) -> dict[str, Text | str | int | float]:
    rows: dict[str, Text | str | int | float | None] = {
        "job": job.id,
        "status": status_text(job.status),
        "queue": job.queue,
        "type": job.job_type,
        "priority": job.priority or None,
        "attempts": f"{job.attempts} of {job.max_attempts}",
        "backoff": _backoff(job),
        _RUN_AFTER.get(job.status, job.status): show(job.run_after, now),
        "enqueued": show(job.created_at, now),
        "claimed by": job.claimed_by,
        "claimed": show(job.claimed_at, now) if job.claimed_at else None,
        "lease token": job.lease_token,
        "unique key": job.unique_key,
        "payload": _document(job, "payload"),
        "progress": _document(job, "progress"),
        "result": _document(job, "result"),
        "last error": job.last_error,
    }
    return {name: value for name, value in rows.items() if value is not None}


def _backoff(job: Job) -> str:
    words = f"{job.backoff_seconds} s"
    if job.max_backoff_seconds is not None:
        words += f", at most {job.max_backoff_seconds} s"
    if job.jitter:
        words += f", jitter {job.jitter}"
    return words


def _document(job: Job, name: str) -> str | None:
    if (size := job.answer.get(f"{name}_bytes")) is not None:
        return f"{size} bytes; see job-retry get {job.id}"
    value = job.answer.get(name)
    if value is None:
        return None
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if len(text) > _SHOWN_DOCUMENT:
        text = f"{text[:_SHOWN_DOCUMENT]}\n… ({len(text)} characters; --json shows all)"
    return text


def _history_table(history: Iterable[Attempt]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="History", title_justify="left")
    table.add_column("Run", justify="right")
    for name in ("Started", "Took", "Worker"):
        table.add_column(name, no_wrap=True)
    table.add_column("Error")
    for each in history:
        took = (each.ended_at - each.started_at).total_seconds()
        table.add_row(
            Text(str(each.attempt)),
            Text(f"{each.started_at.astimezone():%Y-%m-%d %H:%M:%S}"),
            Text(f"{took:.1f} s"),
            _text(each.worker_id or ""),
            _text(each.error),
        )
    return table


def _briefly_when(job: Job, now: datetime) -> str:
    word = _RUN_AFTER.get(job.status)
    return f"{word} {relative(job.run_after, now)}" if word else relative(job.run_after, now)


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _grid() -> Table:
    return Table(box=None, show_header=False, pad_edge=False)


def _text(text: str) -> Text:
    return Text(plain(text), overflow="fold")
