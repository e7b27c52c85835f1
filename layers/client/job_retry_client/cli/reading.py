"""What comes in as JSON: on the command line, from files, from standard input."""

from __future__ import annotations

import json
import math
import os
import sys
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

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
            return _value(sys.stdin.buffer.read())
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
    if source == "-":
        yield sys.stdin.buffer
        return
    with _readable(name):
        file = Path(source).open("rb")  # noqa: SIM115 - closed below
    with file:
        yield file


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise typer.BadParameter(f"{error.filename}: {error.strerror}", param_hint=name) from error
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
