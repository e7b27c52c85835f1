"""What a worker does: ``claim``, ``complete``, ``fail``, ``heartbeat``, ``release``."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from job_retry_client.cli import reading
from job_retry_client.cli.exits import ExitCode
from job_retry_client.cli.options import JobId, LeaseToken, RunAfter, moment
from job_retry_client.cli.session import Session
from job_retry_client.cli.tables import job_card
from job_retry_client.models import Claim, Job


def claim(
    session: Session,
    queue: Annotated[
        list[str] | None,
        typer.Option(
            "--queue",
            "-q",
            help="To claim from; several times for several, in order of preference.",
            show_default="default",
        ),
    ] = None,
    *,
    job_type: Annotated[
        list[str] | None,
        typer.Option("--type", "-t", help="To take no others; several times for several."),
    ] = None,
    worker_id: Annotated[str | None, typer.Option(help="Who claims, for people to see.")] = None,
    lease_seconds: Annotated[
        int | None,
        typer.Option(help="How long to hold the jobs; by default what they say themselves."),
    ] = None,
    max_jobs: Annotated[int, typer.Option(help="Jobs at once, to 25.")] = 1,
    wait: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="Where nothing is due, ask again for so long."),
    ] = 0,
) -> None:
    """Lease due jobs, and print them with their lease tokens.

    Where nothing is due, the exit code is 5.
    """

    def ask() -> Claim:
        return session.queue.claim(
            queue or "default",
            worker_id=worker_id,
            job_types=job_type or None,
            lease_seconds=lease_seconds,
            max_jobs=max_jobs,
        )

    claimed = _awaited(session, ask, wait)
    for job in claimed:
        hint = f"\njob-retry complete {job.id} --lease-token {job.lease_token}\n"
        session.answer(job.answer, Group(job_card(job, session.clock()), Text(hint, "dim")))
    if not claimed:
        seconds = claimed.retry_after_seconds
        where = " in the lanes that were looked at" if claimed.lanes_unseen else ""
        session.note(
            f"nothing is due{where}; ask again in {seconds} s",
            claimed=False,
            retry_after_seconds=seconds,
            **({"lanes_unseen": True} if claimed.lanes_unseen else {}),
        )
        raise typer.Exit(ExitCode.NOTHING_DUE)


def complete(
    session: Session,
    job_id: JobId,
    result: Annotated[
        str | None,
        typer.Argument(
            metavar="RESULT", help="JSON text, @FILE for a file's, or - for standard input's."
        ),
    ] = None,
    *,
    lease_token: LeaseToken = None,
) -> None:
    """End a claimed job whose work is done."""
    value = reading.document(result, "RESULT")
    _show(session, session.queue.complete(job_id, value, lease_token=lease_token))


def fail(
    session: Session,
    job_id: JobId,
    error: Annotated[str, typer.Argument(metavar="ERROR", help="Why.")],
    *,
    lease_token: LeaseToken = None,
    retry_in: Annotated[
        int | None,
        typer.Option(metavar="SECONDS", help="The wait, in place of the job's backoff."),
    ] = None,
    no_retry: Annotated[
        bool, typer.Option("--no-retry", help="Straight to the dead letters.")
    ] = False,
) -> None:
    """End a run that failed: the job is queued again, or dead."""
    job = session.queue.fail(
        job_id, error, lease_token=lease_token, retry_in_seconds=retry_in, retry=not no_retry
    )
    _show(session, job)


def heartbeat(
    session: Session,
    job_id: JobId,
    *,
    lease_token: LeaseToken = None,
    lease_seconds: Annotated[
        int | None, typer.Option(help="How long from now; by default as long as the claim.")
    ] = None,
    progress: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="For people to see, to 1 KB; @FILE and - as well."),
    ] = None,
) -> None:
    """Renew the lease of a claimed job."""
    job = session.queue.heartbeat(
        job_id,
        lease_token=lease_token,
        lease_seconds=lease_seconds,
        progress=reading.document(progress, "--progress"),
    )
    _show(session, job)


def release(
    session: Session,
    job_id: JobId,
    *,
    lease_token: LeaseToken = None,
    run_after: RunAfter = None,
) -> None:
    """Give a claimed job back, which costs it no attempt."""
    job = session.queue.release(
        job_id, lease_token=lease_token, run_after=moment(session, run_after)
    )
    _show(session, job)


def _awaited(session: Session, ask: Callable[[], Claim], seconds: float) -> Claim:
    end = session.clock().timestamp() + seconds
    while True:
        claimed = ask()
        left = end - session.clock().timestamp()
        if claimed or not left > 0:  # also where it is no number
            return claimed
        # some pause even where the queue asks for none, and one last time at the end
        session.sleep(min(max(claimed.retry_after_seconds or 1.0, 0.1), left))


def _show(session: Session, job: Job) -> None:
    session.answer(job.answer, job_card(job, session.clock()))
