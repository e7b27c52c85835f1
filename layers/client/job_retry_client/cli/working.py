"""``worker run``: a program's own worker, from the command line."""

import importlib
import logging
import os
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from job_retry_client.cli.command import add_command, group
from job_retry_client.cli.session import Options, Session
from job_retry_client.connect import TOKEN_VARIABLE, URL_VARIABLE
from job_retry_client.worker.worker import Worker


class LogLevel(str, Enum):
    """How much is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def run(
    session: Session,
    worker: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:WORKER",
            help="The module, found from the current folder too, and the Worker in it.",
        ),
    ],
    *,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End, too, once nothing is due.")
    ] = False,
    log_level: Annotated[
        LogLevel,
        typer.Option(help="What is logged, unless the module sets logging up itself."),
    ] = LogLevel.INFO,
) -> None:
    """Run a worker until SIGTERM or Ctrl-C, and tell how many jobs came to what.

    A worker that connects by the environment gets what --url, --token, --profile and --region
    say.
    """
    _export(session.options)
    found = _found(worker)
    logging.basicConfig(
        level=log_level.value.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    counts = found.run(until_idle=until_idle)
    words = ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in counts.items())
    session.answer(counts, words or "no jobs")


def _export(options: Options) -> None:
    given = {
        URL_VARIABLE: options.url,
        TOKEN_VARIABLE: options.token,
        "AWS_PROFILE": options.profile,
        "AWS_REGION": options.region,
        "AWS_DEFAULT_REGION": options.region,
    }
    os.environ.update({name: value for name, value in given.items() if value})


def _found(name: str) -> Worker:
    """Return the worker of a name.

    Raises:
        typer.BadParameter: there is none. What the module itself raises, it raises.
    """
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise typer.BadParameter(f"{name!r} is not MODULE:WORKER", param_hint="MODULE:WORKER")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # a module that the module misses is for its author to see, with the traceback
        if not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise typer.BadParameter(str(error), param_hint="MODULE:WORKER") from error
    for attribute in path.split("."):
        found = getattr(found, attribute, None)
    if not isinstance(found, Worker):
        raise typer.BadParameter(f"{name} is no Worker", param_hint="MODULE:WORKER")
    return found


app = group("Workers.")
add_command(app, "run", run)
