"""Programs of the local run, started as a user starts them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from local.template import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

PATIENCE_SECONDS = 60
START = (sys.executable, "-m", "local")


class Program:
    """A running program with a group of its own, as a terminal gives it, and all its children."""

    def __init__(self, command: Sequence[str], **environment: str) -> None:
        """Start it in the repository."""
        self._mark = f"TEST_PROGRAM={uuid.uuid4().hex}"
        name, _, value = self._mark.partition("=")
        self._process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env={**_terminal(), **environment, name: value},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self.output = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self._process.communicate()

    def wait_for(self, text: str) -> str:
        """Read the standard output up to the line that has this text; return the line."""
        return self._read_to(text, self._process.stdout)

    def wait_for_error(self, text: str) -> str:
        """Read the standard error up to the line that has this text; return the line."""
        return self._read_to(text, self._process.stderr)

    def lines(self) -> Iterator[str]:
        """Yield the standard output's lines as they come, to its end."""
        assert self._process.stdout is not None
        yield from self._process.stdout

    def wait(self) -> int:
        """Wait for the end, and return the exit code."""
        return self._process.wait(PATIENCE_SECONDS)

    def end(self) -> tuple[int, str, str]:
        """Wait for the end; return the exit code and the rest of both outputs."""
        output, errors = self._process.communicate(timeout=PATIENCE_SECONDS)
        return self._process.returncode, output, errors

    def interrupt(self) -> None:
        """Press Ctrl-C, which reaches the whole group."""
        os.killpg(self.pid, signal.SIGINT)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program alone."""
        self._process.send_signal(number)

    def children(self, name: str = "") -> list[int]:
        """Return the processes that it started, and theirs, if their command has this name."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                marked = self._mark in (process / "environ").read_text(errors="replace").split("\0")
                command = (process / "cmdline").read_text(errors="replace")
            except OSError:  # it has ended, or is not ours to look at
                continue
            if marked and name in command and process.name != str(self.pid):
                found.append(int(process.name))
        return found

    def _read_to(self, text: str, stream: IO[str] | None) -> str:
        assert stream is not None
        for line in stream:
            self.output += line
            if text in line:
                return line
        raise AssertionError(f"{text!r} never came: {self.output!r}, {self.end()!r}")


class LocalRun(Program):
    """`make start`, or `python -m local` alone, that has come up."""

    def __init__(
        self, data: Path, port: int, *, with_make: bool = False, **environment: str
    ) -> None:
        """Start it and wait until it says where it is."""
        alone = [*START, "--port", str(port), "--data", str(data)]
        command = ["make", "start", f"PORT={port}", f"DATA={data}"] if with_make else alone
        super().__init__(command, **environment)
        self.url = self.wait_for("is running on").split()[4]
        self.wait_for("Enqueue a job")
        self.first_command = self.wait_for("curl").strip()


def _terminal() -> dict[str, str]:
    """Return the environment that a user's terminal would have, though `make test` runs us."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}


def wait_until_gone(pids: list[int]) -> None:
    """Return once all of these processes have ended."""
    for pid in pids:
        try:
            watched = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended = select.select([watched], [], [], PATIENCE_SECONDS)[0]
        os.close(watched)
        assert ended, f"process {pid} still runs"
