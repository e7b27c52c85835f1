"""The program on a terminal, as far as its standard error goes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import IO

from local.template import REPOSITORY


def on_terminal(
    *arguments: str, stdin: IO[bytes] | None = None, **environment: str
) -> tuple[int, bytes, bytes]:
    """Run the command line, and return its exit code, its output, and what the terminal got."""
    ours, its = pty.openpty()
    try:
        running = subprocess.Popen(
            [sys.executable, "-m", "job_retry_client", *arguments],
            env={
                **{name: value for name, value in os.environ.items() if name not in _COLOURS},
                "PYTHONPATH": str(REPOSITORY / "layers/client"),
                "TERM": "xterm-256color",
                **environment,
            },
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=its,
        )
    finally:
        os.close(its)
    with running, os.fdopen(ours, "rb", buffering=0) as terminal:
        shown = b"".join(iter(lambda: _read(terminal), b""))
        output, _ = running.communicate()
    return running.returncode, output, shown


_COLOURS = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


def _read(terminal: IO[bytes]) -> bytes:
    try:
        return terminal.read(65536)
    except OSError:  # how Linux tells that the other side is closed
        return b""
