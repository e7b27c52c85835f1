"""The command line as a whole."""

import importlib.metadata
from typing import Annotated

import typer

from job_retry_client.cli import dead_letters, jobs, leases, producing, queues, watching, working
from job_retry_client.cli.command import AsJson, Profile, Region, Url, add_command, group
from job_retry_client.cli.session import Session

app = group("Jobs, workers and dead letters of job-retry, a durable job queue.")


def _version(is_asked: bool) -> None:  # noqa: FBT001 - Typer calls it
    if not is_asked:
        return
    try:
        version = importlib.metadata.version("job-retry-client")
    except importlib.metadata.PackageNotFoundError:
        version = "(not installed: run from its folder)"
    typer.echo(f"job-retry {version}")
    raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    *,
    url: Url = None,
    token: Annotated[
        str | None,
        typer.Option(
            help="Bearer token in place of an AWS signature; stands before the command. By "
            "default the environment's JOB_RETRY_TOKEN.",
        ),
    ] = None,
    profile: Profile = None,
    region: Region = None,
    as_json: AsJson = False,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    session: Session = context.obj or Session()
    context.obj = session.with_options(
        url=url, token=token, profile=profile, region=region, as_json=as_json
    )


add_command(app, "enqueue", producing.enqueue)
add_command(app, "claim", leases.claim)
add_command(app, "complete", leases.complete)
add_command(app, "fail", leases.fail)
add_command(app, "heartbeat", leases.heartbeat)
add_command(app, "release", leases.release)
add_command(app, "get", jobs.get)
add_command(app, "list", jobs.list_jobs)
add_command(app, "cancel", jobs.cancel)
add_command(app, "delete", jobs.delete)
add_command(app, "watch", watching.watch)
app.add_typer(dead_letters.app, name="dlq")
app.add_typer(queues.app, name="queue")
app.add_typer(working.app, name="worker")
