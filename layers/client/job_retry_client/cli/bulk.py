"""Work on many jobs: a progress bar, what became of each, and a sum at the end."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from job_retry_client.cli.exits import ExitCode, code_of, is_of_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from job_retry_client.cli.session import Session

_Item = TypeVar("_Item")


class Bulk:
    """What became of many jobs.

    Attributes:
        counts: by what the sum calls it.
    """

    def __init__(self, session: Session) -> None:
        self.counts: Counter[str] = Counter()
        self._session = session
        self._code = ExitCode.OK
        self._is_stopped = False

    def until_stopped(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """Yield items until an error shows that going on makes no sense."""
        for item in items:
            if self._is_stopped:
                return
            yield item

    def failed(self, error: Exception, *, count: int = 1, **where: Any) -> None:
        """Count and tell an error of one job or several; the first gives the exit code."""
        self.counts["failed"] += count
        self._code = self._code or code_of(error)
        self._is_stopped = self._is_stopped or is_of_all(error)
        self._session.error(error, **where)

    def end(self) -> None:
        """Tell the sum.

        Raises:
            typer.Exit: some were not done.
        """
        self._tell(" (stopped)" if self._is_stopped else "")
        if self._code:
            raise typer.Exit(self._code)

    @contextmanager
    def told_when_interrupted(self) -> Iterator[None]:
        """Tell the sum at Ctrl-C too."""
        try:
            yield
        except KeyboardInterrupt:
            self._tell(" (interrupted; what was under way may be done as well)")
            raise

    def _tell(self, how: str) -> None:
        words = (f"{count} {name.replace('_', ' ')}" for name, count in self.counts.items())
        self._session.note(", ".join(words) + how, **self.counts)


def progress_bar(session: Session, *columns: TextColumn | MofNCompleteColumn) -> Progress:
    """Return a progress bar on standard error, seen only where that is a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *columns,
        TimeElapsedColumn(),
        console=session.err,
        transient=True,
        disable=not session.shows_progress,
    )
