"""The process's standard streams: errors that say which of them it is."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


class OutputError(OSError):
    """Standard output takes no more, as on a full disk."""


class Output(io.TextIOWrapper):
    """Standard output whose errors can be told from those of a program's own files."""

    def write(self, text: str, /) -> int:
        """Write."""
        with _told():
            return super().write(text)

    def flush(self) -> None:
        """Write what is waiting."""
        with _told():
            super().flush()


def prepare() -> None:
    """Set the process's streams up for the command line.

    Raises:
        OutputError: standard output is closed.
    """
    # typed as never None, and None where it is closed
    output: TextIO | None = sys.stdout
    if output is None:
        raise OutputError("standard output is closed")
    if isinstance(output, io.TextIOWrapper):
        sys.stdout = Output(
            output.buffer,
            output.encoding,
            "replace",  # a terminal that lacks a character shows a ?
            line_buffering=output.line_buffering,
            write_through=output.write_through,  # as with PYTHONUNBUFFERED
        )
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")


@contextmanager
def flushed() -> Iterator[None]:
    """Write at the end what is waiting, so that no error of it comes after the exit code.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            give_up_output()


def give_up_output() -> None:
    """Let what is written from now on, and waits to be written, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def standard_input() -> IO[bytes]:
    """Return standard input.

    Raises:
        OSError: it is closed.
    """
    given: TextIO | None = sys.stdin  # as above
    if given is None:
        raise OSError(0, "it is closed")
    return given.buffer


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (BrokenPipeError, OutputError):  # that the reader is gone is no error
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {error.strerror}") from error
