"""POST /jobs, and each job of POST /jobs/batch."""

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from job_retry.errors import InvalidFieldError
from job_retry.job import NewJob
from job_retry.json_text import JsonText
from job_retry.names import KEY, KEY_WORDS
from job_retry.schemas.fields import (
    BackoffSeconds,
    Body,
    DelaySeconds,
    JobType,
    LeaseSeconds,
    MaxAttempts,
    Moment,
    Payload,
    Queue,
    UniqueKey,
)


class EnqueueBody(Body):
    """A job to be enqueued."""

    json_texts: ClassVar[frozenset[str]] = frozenset({"payload"})

    job_type: JobType
    queue: Queue = "default"
    payload: Payload = JsonText("null")
    # left out, the queue decides; null is refused all the same
    max_attempts: MaxAttempts = Field(default=None)  # type: ignore[assignment]
    backoff_seconds: BackoffSeconds = Field(default=None)  # type: ignore[assignment]
    run_after: Moment | None = None
    priority: Annotated[int, Field(ge=0, le=9)] = 0
    lease_seconds: LeaseSeconds | None = None
    max_backoff_seconds: DelaySeconds | None = None
    jitter: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None

    unique_key: UniqueKey | None = None
    unique_for_seconds: DelaySeconds | None = None

    @model_validator(mode="after")
    def _no_time_without_key(self) -> Self:
        if self.unique_for_seconds is not None and self.unique_key is None:
            raise InvalidFieldError("unique_for_seconds", "makes no sense without unique_key")
        return self

    def new_job(self, idempotency_key: str | None = None) -> NewJob:
        """Return it as the engine takes it.

        Raises:
            InvalidFieldError: the Idempotency-Key is not acceptable.
        """
        if idempotency_key is not None and not KEY.fullmatch(idempotency_key):
            raise InvalidFieldError("Idempotency-Key", f"must be {KEY_WORDS}")
        given = {"idempotency_key": idempotency_key, **dict(self)}
        return NewJob(**{name: value for name, value in given.items() if value is not None})


class EnqueueItem(EnqueueBody):
    """One job of a batch: no header is its own, so it has its key in the body."""

    idempotency_key: UniqueKey | None = None
