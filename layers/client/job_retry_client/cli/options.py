"""Options and arguments that several commands have."""

from datetime import datetime
from math import isfinite
from typing import Annotated, TypeAlias

import typer

from job_retry_client.cli.moments import parse
from job_retry_client.cli.session import Session

JobId: TypeAlias = Annotated[int, typer.Argument(metavar="ID", help="The job's id.")]

LeaseToken: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--lease-token",
        "--token",
        help="The lease token of the claim, by which a job that is somebody else's by now is "
        "refused.",
    ),
]

RunAfter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="MOMENT",
        help="Not before this moment: 2026-12-01T14:00:00Z, '2026-12-01 14:00' in your time "
        "zone, +90s, +10m, +2h or +1d from now, or milliseconds since 1970.",
    ),
]

Parallel: TypeAlias = Annotated[int, typer.Option(min=1, max=32, help="Requests at the same time.")]


def moment(session: Session, text: str | None) -> datetime | int | None:
    """Return the moment that an option names.

    Raises:
        typer.BadParameter: it names none.
    """
    if text is None:
        return None
    try:
        return parse(text, session.clock())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--run-after") from error


def check_finite(number: float | None, name: str) -> None:
    """Check that a number is one; no range of Typer's leaves NaN out.

    Raises:
        typer.BadParameter: it is NaN or infinite.
    """
    if number is not None and not isfinite(number):
        raise typer.BadParameter(f"{number} is no number to go by", param_hint=name)
