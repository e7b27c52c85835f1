"""job-retry for those who use it: the queue, and workers for it."""

from job_retry_client.batches import BatchError
from job_retry_client.errors import (
    AnswerError,
    ConflictError,
    InvalidRequestError,
    JobNotFoundError,
    JobQueueError,
    KeyConflictError,
    LeaseLostError,
    NoAnswerError,
    NotAllowedError,
    QueueBusyError,
    QueueNotFoundError,
    ServerError,
    TooCostlyError,
    TooLargeError,
    WrongStatusError,
)
from job_retry_client.models import Attempt, Claim, Job, NewJob, Page, TransactItems
from job_retry_client.queue import JobQueue
from job_retry_client.retries import Retries

__all__ = [
    "AnswerError",
    "Attempt",
    "BatchError",
    "Claim",
    "ConflictError",
    "InvalidRequestError",
    "Job",
    "JobNotFoundError",
    "JobQueue",
    "JobQueueError",
    "KeyConflictError",
    "LeaseLostError",
    "NewJob",
    "NoAnswerError",
    "NotAllowedError",
    "Page",
    "QueueBusyError",
    "QueueNotFoundError",
    "Retries",
    "ServerError",
    "TooCostlyError",
    "TooLargeError",
    "TransactItems",
    "WrongStatusError",
]
