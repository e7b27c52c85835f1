"""``queue``: the settings of a queue."""

from typing import Annotated, TypeAlias

import typer

from job_retry_client.cli.command import add_command, group
from job_retry_client.cli.session import Session
from job_retry_client.cli.tables import queue_card

_DEFAULT = "default"

_Name: TypeAlias = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]
_Setting: TypeAlias = str | None


def show(session: Session, name: _Name) -> None:
    """Show the settings of a queue."""
    settings = session.queue.queue(name)
    session.answer(settings, queue_card(settings))


def change(
    session: Session,
    name: _Name,
    *,
    lanes: Annotated[
        _Setting,
        typer.Option(metavar="N", help="1 to 256: about 250 jobs a second for each."),
    ] = None,
    lease_seconds: Annotated[
        _Setting, typer.Option(metavar="N", help="How long a claim holds a job.")
    ] = None,
    max_attempts: Annotated[
        _Setting, typer.Option(metavar="N", help="Runs before a job is dead.")
    ] = None,
    backoff_seconds: Annotated[
        _Setting, typer.Option(metavar="N", help="The wait after the first failure.")
    ] = None,
) -> None:
    """Change the settings of a queue; in force within 15 seconds.

    What is left out stays, and "default" for N is the queue's default again.
    """
    given = {
        "lanes": lanes,
        "lease_seconds": lease_seconds,
        "max_attempts": max_attempts,
        "backoff_seconds": backoff_seconds,
    }
    said = {each: _number(value, each) for each, value in given.items() if value is not None}
    if not said:
        raise typer.BadParameter("give at least one setting", param_hint="set")
    settings = session.queue.set_queue(name, **said)
    session.answer(settings, queue_card(settings))


def _number(text: str, name: str) -> int | None:
    if text == _DEFAULT:
        return None
    try:
        return int(text)
    except ValueError as error:
        hint = f"--{name.replace('_', '-')}"
        raise typer.BadParameter(
            f"{text!r} is no integer, nor {_DEFAULT!r}", param_hint=hint
        ) from error


app = group("The settings of a queue.")
add_command(app, "show", show)
add_command(app, "set", change)
