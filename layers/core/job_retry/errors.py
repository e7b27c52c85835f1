"""Everything that can be wrong with a request, in the queue's own words.

One base; each child's ``code`` is what a program may rely on. The domain knows nothing
of HTTP: ``api.py`` holds the one table from these to answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from job_retry.names import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from job_retry.job import Job
    from job_retry.transitions import Action


class JobRetryError(Exception):
    """Something about the request or the queue's state forbids it.

    Nothing was changed; of a `StoreError` alone that is not certain.
    """

    code: str = "error"


class InvalidFieldError(JobRetryError):
    """Fields of the request are not acceptable.

    Attributes:
        fields: name as the caller wrote it (see `readable`), and what is wrong, of each.
        field: the first one's name.
    """

    code = "invalid_field"

    def __init__(self, field: str, message: str, *more: tuple[str, str]) -> None:
        self.fields = [(readable(name), what) for name, what in ((field, message), *more)]
        self.field = self.fields[0][0]
        super().__init__("; ".join(f"{each[:100]}: {what}" for each, what in self.fields[:20]))


class InvalidJsonError(JobRetryError):
    """The request's body is not JSON in UTF-8."""

    code = "invalid_json"


class MediaTypeError(JobRetryError):
    """The request's body is not declared as JSON."""

    code = "unsupported_media_type"


class TooLargeError(JobRetryError):
    """A field's JSON text is over its size limit."""

    code = "too_large"

    def __init__(self, field: str, size: int, limit: int) -> None:
        super().__init__(f"{field} is {size:,} bytes of JSON; the limit is {limit:,}")
        self.field = field


class TooCostlyError(JobRetryError):
    """A list would read more of the index than one request may.

    Attributes:
        next_cursor: where the reading stopped; a list with this cursor goes on from there.
        jobs: of this page, found before.
    """

    code = "too_costly"

    def __init__(self, reads: int, next_cursor: str | None, jobs: Sequence[Job] = ()) -> None:
        way_out = "" if next_cursor is None else ", or go on from next_cursor in place of page"
        super().__init__(f"more than {reads:,} reads: narrow the filter (status, queue){way_out}")
        self.next_cursor = next_cursor
        self.jobs = jobs


class JobNotFoundError(JobRetryError):
    """There is no job with this id."""

    code = "not_found"

    def __init__(self, job_id: int | str) -> None:
        super().__init__(f"there is no job {job_id}")


class QueueNotFoundError(JobRetryError):
    """There is no queue of this name."""

    code = "not_found"

    def __init__(self, name: str) -> None:
        super().__init__(f"queue {name!r} never had a job, nor settings")


class StateError(JobRetryError):
    """The job's present state forbids the request.

    Attributes:
        job: the job as it stands.
    """

    def __init__(self, message: str, job: Job) -> None:
        super().__init__(message)
        self.job = job


class WrongStatusError(StateError):
    """The action is not possible from the job's status.

    Attributes:
        code: ``not_running``, ``not_queued``, ``not_dead`` or ``not_ended``.
    """

    def __init__(self, action: Action, expected: frozenset[str], job: Job) -> None:
        super().__init__(f"cannot {action} job {job.id}: it is {job.status}", job)
        self.code = f"not_{next(iter(expected))}" if len(expected) == 1 else "not_ended"


class LeaseLostError(StateError):
    """The lease token is not the one that holds the job: it expired, or was settled."""

    code = "lease_lost"

    def __init__(self, job: Job) -> None:
        super().__init__(f"this lease no longer holds job {job.id}: it is {job.status}", job)


class KeyReusedError(JobRetryError):
    """A key stands for a job that was asked to do something else, or is gone."""

    code = "key_reused"

    def __init__(self, job_id: int, reason: str) -> None:
        super().__init__(f"this key stands for job {job_id}, {reason}")
        self.job_id = job_id


class KeyTakenByOtherError(JobRetryError):
    """Another job has taken the key of the job that was to be requeued."""

    code = "key_taken"

    def __init__(self, job_id: int, holder_id: int) -> None:
        super().__init__(f"the unique key of job {job_id} is held by job {holder_id}")
        self.job_id = holder_id


class StoreError(JobRetryError):
    """The store could not serve the request; it may be sent again after a pause."""


class StoreBusyError(StoreError):
    """DynamoDB throttled the request, or the job is fought over."""

    code = "throttled"


class StoreUnavailableError(StoreError):
    """DynamoDB did not answer, or failed."""

    code = "unavailable"
