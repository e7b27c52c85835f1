"""PUT /queues/{queue}."""

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from job_retry.lanes import MAX_LANES, QueueRecord, resized
from job_retry.schemas.fields import BackoffSeconds, Body, LeaseSeconds, MaxAttempts


class QueueBody(Body):
    """A queue's settings; what is left out stays, and null is the API's default again."""

    lanes: Annotated[int, Field(ge=1, le=MAX_LANES)] | None = None
    lease_seconds: LeaseSeconds | None = None
    max_attempts: MaxAttempts | None = None
    backoff_seconds: BackoffSeconds | None = None

    def changed(self, record: QueueRecord, now: int) -> QueueRecord:
        """Return a queue's record with these settings."""
        given: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        lanes = given.pop("lanes", record.lanes)
        return replace(resized(record, lanes or 1, now), **given)
