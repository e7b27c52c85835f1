"""Questions to a person at the terminal."""

from __future__ import annotations

import sys
from typing import TextIO

import typer


def confirmed(question: str) -> bool:
    """Ask, on standard error, until the answer is yes or no; nobody to ask is a no.

    Typer's own question takes Ctrl-C for a no, and this is told by another exit code.

    Raises:
        KeyboardInterrupt: that is pressed in place of an answer.
    """
    given: TextIO | None = sys.stdin  # typed as never None, and None where it is closed
    while True:
        typer.echo(f"{question} [y/N]: ", nl=False, err=True)
        try:
            line = given.readline() if given is not None else ""
        except KeyboardInterrupt:
            typer.echo(err=True)  # the shell's prompt is on a line of its own
            raise
        if not line.endswith("\n"):
            typer.echo(err=True)
        answer = line.strip().lower()
        if answer in ("y", "yes"):
            return True
        if not line or answer in ("", "n", "no"):
            return False
        typer.echo("yes or no?", err=True)
