"""What comes in as JSON: on the command line, from files, from standard input."""

from __future__ import annotations

import json
import math
import os
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from job_retry_client.cli.streams import standard_input
from job_retry_client.errors import JobQueueError
from job_retry_client.models import NewJob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_FIELDS = frozenset(each.name for each in fields(NewJob))


class LineError(JobQueueError):
    """A line is no job."""


def document(source: str | None, name: str) -> Any:
    """Return the JSON value of an argument.

    Args:
        source: JSON text, ``@`` and the name of a file, or ``-`` for standard input.
        name: of the argument, for the error.

    Raises:
        typer.BadParameter: there is no such file, or no JSON value in it.
    """
    if source is None:
        return None
    with _readable(name):
        if source == "-":
            return _value(standard_input().read())
        if source.startswith("@"):
            return _value(Path(source[1:]).read_bytes())
        return _value(os.fsencode(source))  # the bytes as typed: JSON is UTF-8 in any locale


def jobs(
    lines: Iterable[bytes], defaults: Mapping[str, Any]
) -> Iterator[tuple[int, NewJob | LineError]]:
    """Yield the number of each line that is not blank, and its job, or why it is none.

    Args:
        lines: a JSON object each, with the fields of a `NewJob`.
        defaults: of the fields that a line does not have.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, NewJob(**{**defaults, **_members(line, defaults)})
            except (ValueError, RecursionError) as error:
                yield number, LineError(str(error))


def _members(line: bytes, defaults: Mapping[str, Any]) -> dict[str, Any]:
    members = _value(line)
    if not isinstance(members, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - it is what the line says
    if unknown := sorted(set(members) - _FIELDS):
        raise ValueError(f"a job has no {', '.join(unknown)}")
    if "job_type" not in members and "job_type" not in defaults:
        raise ValueError("job_type is missing")
    if not isinstance(members.get("idempotency_key", ""), str):
        raise ValueError("idempotency_key is no text")  # noqa: TRY004 - as above
    return members


@contextmanager
def opened(source: str, name: str) -> Iterator[IO[bytes]]:
    """Open a file, or standard input for ``-``.

    Raises:
        typer.BadParameter: there is no such file.
    """
    with _readable(name):
        # the one closed below, the other not ours to close
        file = standard_input() if source == "-" else Path(source).open("rb")  # noqa: SIM115
    if source == "-":
        yield file
        return
    with file:
        yield file


def lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the lines of a file.

    Raises:
        typer.BadParameter: it cannot be read.
    """
    waiting = iter(file)
    while True:
        with _readable(name):
            line = next(waiting, b"")
        if not line:
            return
        yield line


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = error.filename or "standard input"
        raise typer.BadParameter(f"{what}: {error.strerror}", param_hint=name) from error
    except (ValueError, RecursionError) as error:
        hint = "; a string takes quotes of its own: '\"text\"'"
        raise typer.BadParameter(f"this is not JSON: {error}{hint}", param_hint=name) from error


def _value(text: bytes) -> Any:
    return json.loads(text, parse_constant=_no_constant, parse_float=_float)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON value")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is too large a number")
    return value
