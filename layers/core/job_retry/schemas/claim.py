"""POST /jobs/claim."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from job_retry.claiming import ClaimRequest
from job_retry.errors import InvalidFieldError
from job_retry.schemas.fields import Body, JobType, LeaseSeconds, Queue, WorkerId


class ClaimBody(Body):
    """Which jobs a worker takes."""

    queue: Queue | None = None
    queues: Annotated[list[Queue], Field(min_length=1, max_length=10)] | None = None
    worker_id: WorkerId | None = None
    job_types: Annotated[list[JobType], Field(min_length=1, max_length=100)] | None = None
    lease_seconds: LeaseSeconds | None = None
    max_jobs: Annotated[int, Field(ge=1, le=25)] = 1

    @model_validator(mode="after")
    def _one_way_to_name_queues(self) -> Self:
        if self.queue is not None and self.queues is not None:
            raise InvalidFieldError("queues", "stands beside queue: give one of them")
        return self

    def request(self) -> ClaimRequest:
        """Return it as the engine takes it."""
        named = self.queues or [self.queue or "default"]
        return ClaimRequest(
            queues=list(dict.fromkeys(named)),  # a queue named twice is asked once
            worker_id=self.worker_id,
            job_types=frozenset(self.job_types or ()),
            lease_seconds=self.lease_seconds,
            max_jobs=self.max_jobs,
        )
