"""Many jobs in one request: cut to size, and what was too busy sent again."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from job_retry_client.errors import (
    AnswerError,
    CredentialsError,
    JobQueueError,
    NoAnswerError,
    error_of,
)
from job_retry_client.models import Job
from job_retry_client.retries import is_worth_repeating

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from job_retry_client.retries import Retries

# Of one request. Lambda takes and returns 6 MB, in which a body is a JSON string: with all its
# quotes and backslashes escaped it may be twice as long.
_MOST_BYTES = 2_500_000
_BUSY_SECONDS = 1.0  # what Retry-After says of a single job
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
        is_repeatable: whether doing it twice is as good as once.
    """

    send: Callable[[Sequence[str]], Sequence[Mapping[str, Any]]]
    most: int
    retries: Retries
    is_repeatable: bool


def send_all(batch: Batch, jobs: Sequence[str]) -> list[Job | JobQueueError]:
    """Return what became of each job, in order; errors are returned, not raised.

    Args:
        batch: how to ask.
        jobs: what is asked for each, as JSON text.
    """
    outcomes: dict[int, Job | JobQueueError] = {}
    waiting = list(range(len(jobs)))
    for pause in chain(batch.retries.pauses(), [None]):
        busy: list[int] = []
        for chunk in _chunks(waiting, jobs, batch.most):
            try:
                results = batch.send([jobs[number] for number in chunk])
            except (AnswerError, CredentialsError, NoAnswerError) as error:
                # of the whole request, which was repeated already
                outcomes.update(dict.fromkeys(chunk, error))
                continue
            for number, result in zip(chunk, results, strict=True):
                outcomes[number] = _outcome(result)
                if is_worth_repeating(result["status"], is_repeatable=batch.is_repeatable):
                    busy.append(number)
        waiting = busy
        if pause is None or not waiting:
            break
        batch.retries.wait(pause, _BUSY_SECONDS)
    return [outcomes[number] for number in range(len(jobs))]


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
