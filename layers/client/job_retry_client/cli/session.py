"""What a command works with: the options that all have, the queue, the terminal, the time."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from job_retry_client.cli.exits import document_of, message_of
from job_retry_client.errors import CredentialsError, JobQueueError
from job_retry_client.queue import JobQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import RenderableType

_NO_TERMINAL_WIDTH = 1000  # nothing is cut where a program reads


@dataclass(frozen=True)
class Options:
    """What every command may be told; None leaves it to the environment.

    Attributes:
        url: as `JobQueue.connect` takes it.
        token: a bearer token.
        profile: of the AWS configuration.
        region: of the API or the stack.
        as_json: whether a program reads.
    """

    url: str | None = None
    token: str | None = None
    profile: str | None = None
    region: str | None = None
    as_json: bool = False

    def updated(self, **given: Any) -> Options:
        """Return them with those of the given ones that say something."""
        return replace(self, **{name: value for name, value in given.items() if value})


def connect(options: Options) -> JobQueue:
    """Return the queue that the options name.

    Raises:
        JobQueueError: there is no way to it.
    """
    try:
        return JobQueue.connect(
            options.url, token=options.token, profile=options.profile, region=options.region
        )
    except CredentialsError as error:
        if options.token is None:
            raise
        raise CredentialsError(f"--token: {error}") from None
    except ValueError as error:
        raise JobQueueError(f"{options.url or 'JOB_RETRY_URL'}: {error}") from error


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True)
class Session:
    """One run of the command line.

    Attributes:
        options: that it was given.
        connect: makes the queue of the options.
        clock: returns the time, with a time zone.
        sleep: waits for seconds.
    """

    options: Options = field(default_factory=Options)
    connect: Callable[[Options], JobQueue] = connect
    clock: Callable[[], datetime] = _now
    sleep: Callable[[float], None] = time.sleep

    def with_options(self, **given: Any) -> Session:
        """Return it with those of the given options that say something."""
        return replace(self, options=self.options.updated(**given))

    @cached_property
    def queue(self) -> JobQueue:
        """The queue; that there is a way to it shows when it is first asked for."""
        return self.connect(self.options)

    @cached_property
    def out(self) -> Console:
        """Standard output."""
        width = None if sys.stdout.isatty() else _NO_TERMINAL_WIDTH
        return Console(markup=False, highlight=False, emoji=False, width=width)

    @cached_property
    def err(self) -> Console:
        """Standard error: errors, notes, progress."""
        return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=True)

    @property
    def shows_progress(self) -> bool:
        """Whether standard error is a terminal, where bars and spinners are for somebody.

        Not what Rich takes for one: FORCE_COLOR, which it goes by, is about colours only.
        """
        return self.err.is_terminal and self.err.file.isatty()

    def answer(self, answer: Mapping[str, Any], shown: RenderableType) -> None:
        """Print an answer: as it is with --json, else as it is shown to people."""
        if self.options.as_json:
            typer.echo(json.dumps(answer))  # all ASCII: safe wherever it goes
        else:
            self.out.print(shown)

    def note(self, text: str, **members: Any) -> None:
        """Tell something that is not the answer; with --json, just the members."""
        typer.echo(json.dumps(members) if self.options.as_json else text, err=True)

    def error(self, error: Exception, **where: Any) -> None:
        """Tell what went wrong, and where, in one line."""
        if self.options.as_json:
            typer.echo(json.dumps({**where, **json.loads(document_of(error))}), err=True)
        else:
            place = "".join(f"{name} {value}: " for name, value in where.items())
            typer.echo(f"job-retry: {place}{plain(message_of(error))}", err=True)


def plain(text: str) -> str:
    """Return text with what would steer the terminal, or cannot be written, spelled out."""
    return "".join(
        each if each.isprintable() or each in "\n\t" else each.encode("unicode_escape").decode()
        for each in text
    )
