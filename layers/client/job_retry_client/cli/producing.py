"""``enqueue``: one job, or many from lines of JSON."""

import os
import stat
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from typing import IO, Annotated, Any

import typer
from rich.progress import TextColumn

from job_retry_client.batches import BatchError
from job_retry_client.cli import reading
from job_retry_client.cli.bulk import Bulk, progress_bar
from job_retry_client.cli.options import Parallel, RunAfter, check_finite, moment
from job_retry_client.cli.parallel import mapped
from job_retry_client.cli.session import Session
from job_retry_client.errors import JobQueueError
from job_retry_client.models import Job, NewJob
from job_retry_client.queue import JobQueue
from job_retry_client.transports.base import is_header_text

_BATCH = 100  # jobs of a request

_Lines = list[tuple[int, int, NewJob | reading.LineError]]
"""The number of each line, where it ends in the file, and its job."""


def enqueue(  # noqa: PLR0913 - each is an option
    session: Session,
    job_type: Annotated[
        str | None,
        typer.Argument(metavar="JOB_TYPE", help="Says which handler works on it."),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Argument(
            metavar="PAYLOAD", help="JSON text, @FILE for a file's, or - for standard input's."
        ),
    ] = None,
    *,
    queue: Annotated[
        str | None, typer.Option("--queue", "-q", help="That it goes to.", show_default="default")
    ] = None,
    priority: Annotated[int | None, typer.Option(help="0 to 9, 9 first.")] = None,
    run_after: RunAfter = None,
    max_attempts: Annotated[int | None, typer.Option(help="Runs before it is dead.")] = None,
    backoff_seconds: Annotated[
        int | None, typer.Option(help="The wait after the first failure; doubled by each further.")
    ] = None,
    max_backoff_seconds: Annotated[int | None, typer.Option(help="No wait is longer.")] = None,
    jitter: Annotated[
        float | None, typer.Option(help="The share of a wait, 0 to 1, that is random.")
    ] = None,
    lease_seconds: Annotated[int | None, typer.Option(help="How long a claim holds it.")] = None,
    unique_key: Annotated[
        str | None,
        typer.Option(help="While a job with it is queued or running, this one is not added."),
    ] = None,
    unique_for_seconds: Annotated[
        int | None, typer.Option(help="And for so long from the first enqueue.")
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="For 24 hours, the job is added once under it.")
    ] = None,
    many: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Enqueue a job for each line, a JSON object of the job's fields; - for standard "
            "input. The other options are for lines that do not say otherwise.",
        ),
    ] = None,
    parallel: Parallel = 4,
) -> None:
    """Add a job to a queue, or many with --many."""
    check_finite(jitter, "--jitter")
    given = {
        "job_type": job_type,
        "queue": queue,
        "max_attempts": max_attempts,
        "backoff_seconds": backoff_seconds,
        "run_after": moment(session, run_after),
        "priority": priority,
        "lease_seconds": lease_seconds,
        "max_backoff_seconds": max_backoff_seconds,
        "jitter": jitter,
        "unique_key": unique_key,
        "unique_for_seconds": unique_for_seconds,
        "idempotency_key": idempotency_key,
    }
    said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if many is not None:
        if not {"unique_key", "idempotency_key"}.isdisjoint(said) or payload is not None:
            raise typer.BadParameter("payloads and keys stand in the lines", param_hint="--many")
        _enqueue_many(session, many, said, parallel)
        return
    if job_type is None:
        raise typer.BadParameter("which job?", param_hint="JOB_TYPE")
    if idempotency_key is not None and not is_header_text(idempotency_key):
        raise typer.BadParameter(
            "it is a header: printable ASCII, no blanks around", param_hint="--idempotency-key"
        )
    job = session.queue.enqueue(**said, payload=reading.document(payload, "PAYLOAD"))
    session.answer(job.answer, _told(job))


def _enqueue_many(
    session: Session, source: str, defaults: Mapping[str, Any], parallel: int
) -> None:
    queue = session.queue  # no line is read without a way to the queue
    bulk = Bulk(session)
    bulk.counts["enqueued"] = 0

    def send(lines: _Lines) -> list[Job | JobQueueError]:
        return _sent(queue, [job for _, _, job in lines])

    with (
        bulk.told_when_interrupted(),
        reading.opened(source, "--many") as file,
        progress_bar(session, TextColumn("{task.fields[jobs]} jobs")) as progress,
    ):
        task = progress.add_task("Enqueueing", total=_size(file), jobs=0)
        chunks = bulk.until_stopped(_chunks(file, defaults))
        for lines, outcomes in mapped(send, chunks, parallel):
            _count(bulk, session, [number for number, _, _ in lines], outcomes)
            done = bulk.counts["enqueued"] + bulk.counts["there_already"]
            progress.update(task, completed=lines[-1][1], jobs=done)
    bulk.end()


def _count(
    bulk: Bulk, session: Session, numbers: list[int], outcomes: list[Job | JobQueueError]
) -> None:
    # an error of a whole request is every line's, and told once
    for _, same in groupby(zip(numbers, outcomes, strict=True), lambda pair: id(pair[1])):
        group = list(same)
        (first, outcome), (last, _) = group[0], group[-1]
        if isinstance(outcome, JobQueueError):
            where = {"line": first} if first == last else {"lines": f"{first}-{last}"}
            bulk.failed(outcome, count=len(group), **where)
        else:
            bulk.counts["there_already" if outcome.duplicate else "enqueued"] += 1
            if session.options.as_json:
                session.answer(outcome.answer, "")


def _chunks(file: IO[bytes], defaults: Mapping[str, Any]) -> Iterator[_Lines]:
    position = 0

    def counted() -> Iterator[bytes]:
        nonlocal position
        for line in reading.lines(file, "--many"):
            position += len(line)
            yield line

    lines = ((number, position, job) for number, job in reading.jobs(counted(), defaults))
    while chunk := list(islice(lines, _BATCH)):
        yield chunk


def _sent(queue: JobQueue, jobs: list[NewJob | reading.LineError]) -> list[Job | JobQueueError]:
    """Enqueue those that are jobs, and return what became of each."""
    try:
        stored = iter(queue.enqueue_many(each for each in jobs if isinstance(each, NewJob)))
        return [next(stored) if isinstance(each, NewJob) else each for each in jobs]
    except BatchError as error:
        outcomes = iter(error.outcomes)
        return [next(outcomes) if isinstance(each, NewJob) else each for each in jobs]
    except ValueError as error:  # of one of them, and none was stored
        if len(jobs) == 1:
            return [reading.LineError(str(error))]
        return [outcome for each in jobs for outcome in _sent(queue, [each])]


def _size(file: IO[bytes]) -> int | None:
    """Return the bytes of a file; None where that cannot be known."""
    try:
        found = os.fstat(file.fileno())
    except OSError:  # no real file
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _told(job: Job) -> str:
    if job.duplicate:
        return f"job {job.id} was there already: {job.status} in {job.queue}"
    return f"job {job.id} is {job.status} in {job.queue}"
