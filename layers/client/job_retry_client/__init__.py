"""job-retry for those who use it: the queue, and workers for it."""

from job_retry_client.batches import BatchError
from job_retry_client.errors import (
    AnswerError,
    ConflictError,
    CredentialsError,
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
from job_retry_client.models import Attempt, Claim, Failure, Job, NewJob, Page, TransactItems
from job_retry_client.queue import JobQueue
from job_retry_client.retries import Retries
from job_retry_client.worker.context import JobContext
from job_retry_client.worker.outcomes import Discard, RetryIn, Snooze
from job_retry_client.worker.worker import Worker

__all__ = [
    "AnswerError",
    "Attempt",
    "BatchError",
    "Claim",
    "ConflictError",
    "CredentialsError",
    "Discard",
    "Failure",
    "InvalidRequestError",
    "Job",
    "JobContext",
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
    "RetryIn",
    "ServerError",
    "Snooze",
    "TooCostlyError",
    "TooLargeError",
    "TransactItems",
    "Worker",
    "WrongStatusError",
]
