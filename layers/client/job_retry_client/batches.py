"""Many jobs in one request: cut to size, and what was too busy sent again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from job_retry_client.errors import (
    AnswerError,
    JobQueueError,
    NoAnswerError,
    QueueBusyError,
    error_of,
)
from job_retry_client.models import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from job_retry_client.retries import Retries

_MOST_BYTES = 4_000_000  # of one request: an answer repeats them, and may have 6 MB
_ERROR = 400


class BatchError(JobQueueError):
    """Some jobs of a batch were not done.

    Attributes:
        outcomes: of all, in order: the job, or the error.
    """

    def __init__(self, outcomes: Sequence[Job | JobQueueError]) -> None:
        errors = [each for each in outcomes if isinstance(each, JobQueueError)]
        super().__init__(f"{len(errors)} of {len(outcomes)} jobs were not done: {errors[0]}")
        self.outcomes = outcomes


@dataclass(frozen=True)
class Batch:
    """A kind of request for many jobs.

    Attributes:
        send: asks the queue, given the JSON text of each job, and returns its answer for each.
        most: jobs that one request may have.
        retries: how often what was too busy is sent again.
    """

    send: Callable[[Sequence[str]], Sequence[Mapping[str, Any]]]
    most: int
    retries: Retries


def send_all(batch: Batch, jobs: Sequence[str]) -> list[Job | JobQueueError]:
    """Return what became of each job, in order; errors are returned, not raised.

    Args:
        batch: how to ask.
        jobs: what is asked for each, as JSON text.
    """
    outcomes: dict[int, Job | JobQueueError] = {}
    waiting = list(range(len(jobs)))
    for pause in [*batch.retries.pauses(), None]:
        for chunk in _chunks(waiting, jobs, batch.most):
            outcomes.update(zip(chunk, _send(batch, [jobs[each] for each in chunk]), strict=True))
        waiting = [each for each in waiting if isinstance(outcomes[each], QueueBusyError)]
        if pause is None or not waiting:
            break
        batch.retries.wait(pause, 1.0)
    return [outcomes[number] for number in range(len(jobs))]


def _send(batch: Batch, jobs: Sequence[str]) -> list[Job | JobQueueError]:
    try:
        return [_outcome(each) for each in batch.send(jobs)]
    except (AnswerError, NoAnswerError) as error:
        return [error] * len(jobs)


def _outcome(result: Mapping[str, Any]) -> Job | JobQueueError:
    if result["status"] >= _ERROR:
        return error_of(result["status"], result["problem"])
    return Job.from_answer(result["job"])


def _chunks(numbers: Sequence[int], jobs: Sequence[str], most: int) -> Iterator[list[int]]:
    chunk: list[int] = []
    size = 0
    for number in numbers:
        if chunk and (len(chunk) == most or size + len(jobs[number]) > _MOST_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(number)
        size += len(jobs[number])
    if chunk:
        yield chunk
