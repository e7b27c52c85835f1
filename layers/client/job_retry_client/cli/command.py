"""What makes a function a command: the options that all have, and errors as exit codes."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from botocore.exceptions import BotoCoreError

from job_retry_client.cli.exits import EXIT_CODES, ExitCode, code_of
from job_retry_client.cli.streams import OutputError, give_up_output
from job_retry_client.errors import JobQueueError

if TYPE_CHECKING:
    from job_retry_client.cli.session import Session

_PANEL = "Options of all commands"

# No environment variables here: the client reads them, after what stands anywhere in the line.
Url: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Where the queue is: https://…, http://127.0.0.1:3000 or lambda:STACK; by default "
        "the environment's JOB_RETRY_URL.",
        rich_help_panel=_PANEL,
    ),
]
Profile: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Profile of the AWS configuration to sign with.", rich_help_panel=_PANEL),
]
Region: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="AWS region, where neither address nor environment tell it.", rich_help_panel=_PANEL
    ),
]
AsJson: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the queue's own JSON, an object a line; errors too, on standard error.",
        rich_help_panel=_PANEL,
    ),
]

_SHARED = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, annotation, default in (
        ("url", Url, None),
        ("profile", Profile, None),
        ("region", Region, None),
        ("as_json", AsJson, False),
    )
]
_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def group(purpose: str) -> typer.Typer:
    """Return an app that commands can be added to.

    Args:
        purpose: the help's first line.
    """
    return typer.Typer(
        help=purpose,
        epilog=EXIT_CODES,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )


def add_command(app: typer.Typer, name: str, function: Callable[..., None]) -> None:
    """Make a function a command, with the options that all commands have.

    Args:
        app: that gets the command.
        name: of the command.
        function: takes the `Session` first and then what Typer reads from its signature; its
            docstring is the help.
    """
    own = list(inspect.signature(function).parameters.values())[1:]
    parameters = [
        _CONTEXT,
        *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own),
        *_SHARED,
    ]

    def run(context: typer.Context, **given: Any) -> None:
        shared = {each.name: given.pop(each.name) for each in _SHARED}
        session: Session = context.obj.with_options(**shared)
        try:
            function(session, **given)
        except (JobQueueError, BotoCoreError, UnicodeError) as error:
            session.error(error)
            raise typer.Exit(code_of(error)) from error
        except OutputError as error:
            session.error(error)
            give_up_output()
            raise typer.Exit(code_of(error)) from error
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None

    # what Typer reads in place of the signature above
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    app.command(name, help=inspect.getdoc(function), epilog=EXIT_CODES)(run)
