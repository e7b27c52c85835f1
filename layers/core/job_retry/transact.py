"""A job in a caller's own transaction: its row and its job are stored together, or neither.

For code that has this layer, the tables and the right to write to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from job_retry import writes
from job_retry.bodies import body_from, text_within
from job_retry.schemas.enqueue import EnqueueBody

if TYPE_CHECKING:
    from job_retry.engine import Engine
    from job_retry.job import Job


@dataclass(frozen=True, slots=True)
class TransactJob:
    """A job that is not stored yet, and what stores it.

    Attributes:
        job: as it will stand.
        entries: of ``TransactItems``, one to three, for a low-level client (a resource's
            would translate the values once more): the record; its payload, where that stands
            apart; the record of its unique key, if it has one.
    """

    job: Job
    entries: list[dict[str, Any]]


def transact_job(body: str, *, engine: Engine, jobs_table: str, control_table: str) -> TransactJob:
    """Return a new job, and the entries of a ``TransactWriteItems`` call that store it.

    Send them at once: the job's id, lane and run_after are of this moment. Where they are never
    sent, there is no job. A cancelled transaction has stored nothing, and its
    ``CancellationReasons`` tell, entry by entry, by ``ConditionalCheckFailed``:

    - of the key's record: another job holds the key, and ``Item`` names it as ``job_id``;
      here it is no duplicate, since the caller's row would then stand without a job of its own;
    - of the record or its payload: another job has drawn this id, one time in 4,096 for two of
      the same millisecond, or these very entries were stored before. Ask for new ones.

    A call whose answer was lost may be repeated as it is under its ``ClientRequestToken``, which
    the AWS SDKs do by themselves. The observer, and so the metrics, are not told of the job.

    Args:
        body: what ``POST /jobs`` takes, JSON text.
        engine: of the queue.
        jobs_table: its name.
        control_table: its name.

    Raises:
        InvalidJsonError, InvalidFieldError, TooLargeError: the body is not acceptable.
        StoreError: the queue's record, or the key's, could not be read.
    """
    text = text_within(body, EnqueueBody.max_body)
    job, keys = engine.prepare(body_from(text, EnqueueBody).new_job())
    payload = writes.payload_put(jobs_table, job)
    puts = [
        writes.record_put(jobs_table, job),
        *([] if payload is None else [payload]),
        *(writes.key_put(control_table, key) for key in keys),
    ]
    return TransactJob(job, [{"Put": put} for put in puts])
