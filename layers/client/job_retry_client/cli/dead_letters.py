"""``dlq``: the dead letters, one by one or all."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Annotated, TypeAlias

import typer
from rich.progress import MofNCompleteColumn

from job_retry_client.cli.asking import confirmed
from job_retry_client.cli.bulk import Bulk, progress_bar
from job_retry_client.cli.command import add_command, group
from job_retry_client.cli.jobs import (
    All,
    Cursor,
    InOrder,
    OfQueue,
    OfType,
    Order,
    PerPage,
    check_alone,
    show_all,
    show_page,
)
from job_retry_client.cli.options import Parallel, RunAfter, moment
from job_retry_client.cli.parallel import mapped
from job_retry_client.cli.session import Session
from job_retry_client.errors import JobNotFoundError, JobQueueError, WrongStatusError
from job_retry_client.models import Job

_COUNTED_BEFORE = 100  # so many are listed before the question is asked
_CONFLICT = 409

_JobIds: TypeAlias = Annotated[
    list[int] | None, typer.Argument(metavar="ID", help="The jobs' ids; or --all.")
]
_EveryOne: TypeAlias = Annotated[
    bool, typer.Option("--all", help="All that --queue and --type leave.")
]
_Yes: TypeAlias = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before --all is done.")
]
_Do: TypeAlias = Callable[[int], Job | None]


def list_dead(
    session: Session,
    *,
    queue: OfQueue = None,
    job_type: OfType = None,
    order: InOrder = Order.LATEST_FIRST,
    per_page: PerPage = None,
    cursor: Cursor = None,
    every: All = False,
) -> None:
    """List dead letters: a page of them, or all."""
    if every:
        check_alone(per_page, cursor)
        show_all(session, _walk(session, queue, job_type, order))
        return
    page = session.queue.dead_letters(
        queue=queue, job_type=job_type, per_page=per_page, cursor=cursor, order=order.value
    )
    show_page(session, page)


def requeue(
    session: Session,
    job_ids: _JobIds = None,
    *,
    every: _EveryOne = False,
    queue: OfQueue = None,
    job_type: OfType = None,
    run_after: RunAfter = None,
    yes: _Yes = False,
    parallel: Parallel = 8,
) -> None:
    """Give dead jobs all their attempts again."""
    when = moment(session, run_after)

    def one(job_id: int) -> Job:
        return session.queue.requeue(job_id, run_after=when)

    chosen = _chosen(session, job_ids, every=every, queue=queue, job_type=job_type)
    if every and not yes:
        chosen = _confirmed("Requeue", chosen)
    _run(session, one, "requeued", chosen, parallel, gone_is_fine=every)


def delete(
    session: Session,
    job_ids: _JobIds = None,
    *,
    every: _EveryOne = False,
    queue: OfQueue = None,
    job_type: OfType = None,
    yes: _Yes = False,
    parallel: Parallel = 8,
) -> None:
    """Drop dead jobs and all that belongs to them."""

    def one(job_id: int) -> None:
        # the queue deletes whatever has ended, also what was requeued and is completed by now
        status = session.queue.get(job_id).status
        if status != "dead":
            detail = f"job {job_id} is {status}, and no dead letter"
            problem = {"detail": detail, "code": "not_dead", "job_status": status}
            raise WrongStatusError(_CONFLICT, problem)
        session.queue.delete(job_id)

    chosen = _chosen(session, job_ids, every=every, queue=queue, job_type=job_type)
    if every and not yes:
        chosen = _confirmed("Delete", chosen)
    _run(session, one, "deleted", chosen, parallel, gone_is_fine=every)


def _walk(session: Session, queue: str | None, job_type: str | None, order: Order) -> Iterator[Job]:
    return session.queue.walk(status="dead", queue=queue, job_type=job_type, order=order.value)


def _chosen(
    session: Session,
    job_ids: list[int] | None,
    *,
    every: bool,
    queue: str | None,
    job_type: str | None,
) -> Iterable[int]:
    if every == bool(job_ids):
        raise typer.BadParameter("give ids, or --all", param_hint="ID")
    if job_ids:
        if queue is not None or job_type is not None:
            raise typer.BadParameter("goes with --all only", param_hint="--queue, --type")
        return list(dict.fromkeys(job_ids))
    # the latest first: what dies again meanwhile is not met a second time
    return (each.id for each in _walk(session, queue, job_type, Order.LATEST_FIRST))


def _confirmed(verb: str, job_ids: Iterable[int]) -> Iterable[int]:
    """Ask, once it is known how many there are about.

    Raises:
        typer.Abort: the answer is no.
    """
    rest = iter(job_ids)
    first = list(islice(rest, _COUNTED_BEFORE + 1))
    if first:
        many = len(first) > _COUNTED_BEFORE
        count = f"over {_COUNTED_BEFORE}" if many else str(len(first))
        if not confirmed(f"{verb} {count} dead letter{'' if len(first) == 1 else 's'}?"):
            raise typer.Abort
    return chain(first, rest)


def _run(
    session: Session,
    do: _Do,
    done: str,
    job_ids: Iterable[int],
    parallel: int,
    *,
    gone_is_fine: bool,
) -> None:
    """Do it to each, and tell what became of them."""
    bulk = Bulk(session)
    bulk.counts[done] = 0

    def outcome(job_id: int) -> Job | JobQueueError | None:
        try:
            return do(job_id)
        except JobQueueError as error:
            return error

    with (
        bulk.told_when_interrupted(),
        progress_bar(session, MofNCompleteColumn()) as progress,
    ):
        total = len(job_ids) if isinstance(job_ids, list) else None
        task = progress.add_task(done.capitalize(), total=total)
        for job_id, result in mapped(outcome, bulk.until_stopped(job_ids), parallel):
            if gone_is_fine and isinstance(result, (JobNotFoundError, WrongStatusError)):
                bulk.counts["gone_meanwhile"] += 1
            elif isinstance(result, JobQueueError):
                bulk.failed(result, job=job_id)
            else:
                bulk.counts[done] += 1
                if result is not None and session.options.as_json:
                    session.answer(result.answer, "")
            progress.advance(task)
    bulk.end()


app = group("The dead letters: jobs out of retries.")
add_command(app, "list", list_dead)
add_command(app, "requeue", requeue)
add_command(app, "delete", delete)
