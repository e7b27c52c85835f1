"""What can go wrong between a program and the queue.

One base; what the queue answered is an `AnswerError`, whose ``code`` says more finely what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class JobQueueError(Exception):
    """The queue did not do what was asked."""


class NoAnswerError(JobQueueError):
    """No answer came.

    Attributes:
        was_sent: whether the queue may have done what was asked all the same.
    """

    def __init__(self, reason: str, *, was_sent: bool) -> None:
        super().__init__(f"the queue did not answer: {reason}")
        self.was_sent = was_sent


class CredentialsError(JobQueueError):
    """What tells who is calling cannot be sent, such as a token with a line break in it.

    Its text does not show it.
    """


class AnswerError(JobQueueError):
    """The queue answered that it would not.

    Attributes:
        status: HTTP's.
        code: of the problem, such as ``lease_lost``.
        problem: the whole problem document, RFC 9457.
        retry_after_seconds: when to ask again, if the answer says so.
    """

    def __init__(
        self,
        status: int,
        problem: Mapping[str, Any],
        retry_after_seconds: float | None = None,
    ) -> None:
        detail = problem.get("detail") or problem.get("title") or problem.get("message")
        super().__init__(str(detail or f"HTTP status {status}"))
        self.status = status
        self.code = str(problem.get("code", ""))
        self.problem = problem
        self.retry_after_seconds = retry_after_seconds


class InvalidRequestError(AnswerError):
    """Something in the request is not acceptable; ``problem["errors"]`` names the fields."""


class TooLargeError(InvalidRequestError):
    """The payload, the result or the progress is over its size limit."""


class TooCostlyError(InvalidRequestError):
    """A list would cost too many reads; ``problem`` has ``items`` and ``next_cursor``."""


class NotAllowedError(AnswerError):
    """The caller is not known, or may not do this."""


class JobNotFoundError(AnswerError):
    """There is no such job."""


class QueueNotFoundError(AnswerError):
    """The queue never had a job, nor settings."""


class ConflictError(AnswerError):
    """The state of the job, or of its key, forbids this; nothing was changed."""

    @property
    def job_status(self) -> str | None:
        """What the job is instead."""
        status = self.problem.get("job_status")
        return None if status is None else str(status)


class WrongStatusError(ConflictError):
    """The job's status forbids this: ``not_running``, ``not_queued``, ``not_dead`` …."""


class LeaseLostError(ConflictError):
    """The lease token holds the job no longer: the lease ended, the job may be somebody else's."""


class KeyConflictError(ConflictError):
    """The unique or idempotency key stands for another job."""


class QueueBusyError(AnswerError):
    """The queue is throttled or unavailable just now; asked again later, it may do."""


class ServerError(AnswerError):
    """The queue failed."""


_BY_CODE: dict[str, type[AnswerError]] = {
    "too_large": TooLargeError,
    "too_costly": TooCostlyError,
    "not_found": JobNotFoundError,
    "not_running": WrongStatusError,
    "not_queued": WrongStatusError,
    "not_dead": WrongStatusError,
    "not_ended": WrongStatusError,
    "lease_lost": LeaseLostError,
    "key_reused": KeyConflictError,
    "key_taken": KeyConflictError,
}

_BY_STATUS: dict[int, type[AnswerError]] = {
    401: NotAllowedError,
    403: NotAllowedError,
    409: ConflictError,
    413: TooLargeError,
    429: QueueBusyError,
    503: QueueBusyError,
}

_SERVER = 500


def error_of(
    status: int, problem: Mapping[str, Any], retry_after_seconds: float | None = None
) -> AnswerError:
    """Return the error that an answer stands for.

    Args:
        status: HTTP's, 400 or above.
        problem: the answer's body; of a gateway's own answers, what it had.
        retry_after_seconds: of the answer's header.
    """
    kind = _BY_CODE.get(str(problem.get("code", ""))) or _BY_STATUS.get(status)
    if kind is None:
        kind = ServerError if status >= _SERVER else InvalidRequestError
    return kind(status, problem, retry_after_seconds)
