"""What the holder of a lease sends: complete, fail, heartbeat, release."""

from typing import Any, ClassVar, Self

from pydantic import model_validator

from job_retry.errors import InvalidFieldError
from job_retry.json_text import JsonText
from job_retry.schemas.fields import (
    Body,
    DelaySeconds,
    ErrorText,
    JobId,
    LeaseSeconds,
    LeaseToken,
    Moment,
    Progress,
    Result,
)


class CompleteBody(Body):
    """POST /jobs/{id}/complete."""

    json_texts: ClassVar[frozenset[str]] = frozenset({"result"})

    lease_token: LeaseToken | None = None
    result: Result = JsonText("null")


class FailBody(Body):
    """POST /jobs/{id}/fail."""

    max_body: ClassVar[int] = 6_000_000  # Lambda's own: no error is too long to be reported

    lease_token: LeaseToken | None = None
    error: ErrorText
    retry_in_seconds: DelaySeconds | None = None
    retry: bool = True

    @model_validator(mode="after")
    def _no_delay_without_retry(self) -> Self:
        if not self.retry and self.retry_in_seconds is not None:
            raise InvalidFieldError("retry_in_seconds", "makes no sense with retry: false")
        return self


class HeartbeatBody(Body):
    """POST /jobs/{id}/heartbeat."""

    json_texts: ClassVar[frozenset[str]] = frozenset({"progress"})

    lease_token: LeaseToken | None = None
    lease_seconds: LeaseSeconds | None = None
    progress: Progress | None = None


class ReleaseBody(Body):
    """POST /jobs/{id}/release."""

    lease_token: LeaseToken | None = None
    run_after: Moment | None = None
    delay_seconds: DelaySeconds | None = None

    @model_validator(mode="after")
    def _one_way_to_say_when(self) -> Self:
        if self.run_after is not None and self.delay_seconds is not None:
            raise InvalidFieldError("delay_seconds", "stands beside run_after: give one of them")
        return self


class _Item(Body):
    """One job of a batch."""

    id: JobId

    def settlement(self) -> dict[str, Any]:
        """Return what is said of it, but for its id."""
        return {name: given for name, given in self if name != "id"}


class CompleteItem(_Item, CompleteBody):
    """One job of POST /jobs/complete."""


class FailItem(_Item, FailBody):
    """One job of POST /jobs/fail."""
