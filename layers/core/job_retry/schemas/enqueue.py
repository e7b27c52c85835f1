"""POST /jobs."""

from typing import Annotated, ClassVar

from pydantic import Field

from job_retry.job import NewJob
from job_retry.json_text import JsonText
from job_retry.schemas.fields import (
    Body,
    DelaySeconds,
    JobType,
    LeaseSeconds,
    Moment,
    Payload,
    Queue,
)

_BackoffSeconds = Annotated[int, Field(ge=0, le=7 * 24 * 3600)]


class EnqueueBody(Body):
    """A job to be enqueued."""

    json_texts: ClassVar[frozenset[str]] = frozenset({"payload"})

    job_type: JobType
    queue: Queue = "default"
    payload: Payload = JsonText("null")
    max_attempts: Annotated[int, Field(ge=1, le=1000)] = 5
    backoff_seconds: _BackoffSeconds = 30
    run_after: Moment | None = None
    priority: Annotated[int, Field(ge=0, le=9)] = 0
    lease_seconds: LeaseSeconds | None = None
    max_backoff_seconds: DelaySeconds | None = None
    jitter: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None

    def new_job(self) -> NewJob:
        """Return it as the engine takes it."""
        return NewJob(**{name: given for name, given in self if given is not None})
