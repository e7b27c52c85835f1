"""Jobs and queues as people see them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from job_retry_client.cli.fitting import fitted
from job_retry_client.cli.moments import relative, show
from job_retry_client.cli.session import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from rich.console import Console, ConsoleOptions, RenderableType

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
_CUT = ("Queue", "Type", "Last error")
_ONE_LINE = str.maketrans("\n\t", "  ")


@dataclass(frozen=True)
class JobsTable:
    """Jobs, one a row, in as many columns as the terminal has room for.

    Attributes:
        jobs: the rows.
        now: the time.
    """

    jobs: Sequence[Job]
    now: datetime

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[Table]:
        """Return the table for the width that there is."""
        cells = self._cells()
        natural = {
            name: max(cell_len(name), *(cell.cell_len for cell in column))
            for name, column in cells.items()
        }
        widths = fitted(natural, options.max_width)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
        for name, width in widths.items():
            is_cut = width < natural[name] and name in _CUT
            table.add_column(
                name,
                width=width,
                no_wrap=is_cut,
                overflow="ellipsis" if is_cut else "fold",
                justify="right" if name == "Attempts" else "left",
            )
        for row in zip(*(cells[name] for name in widths), strict=True):
            table.add_row(*row)
        yield table

    def _cells(self) -> dict[str, list[Text]]:
        return {
            "ID": [Text(str(job.id)) for job in self.jobs],
            "Status": [status_text(job.status) for job in self.jobs],
            "Queue": [_cell(job.queue) for job in self.jobs],
            "Type": [_cell(job.job_type) for job in self.jobs],
            "Attempts": [Text(f"{job.attempts}/{job.max_attempts}") for job in self.jobs],
            "When": [Text(_briefly_when(job, self.now)) for job in self.jobs],
            "Last error": [_cell(_first_line(job.last_error)) for job in self.jobs],
        }


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


def _cell(text: str) -> Text:
    """Return text in one line; how it is cut, its column says."""
    return Text(plain(text).translate(_ONE_LINE))
