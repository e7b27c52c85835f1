"""GET /jobs and GET /dlq: the query string."""

import re
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from job_retry.errors import InvalidFieldError
from job_retry.job import Status
from job_retry.listing import ListRequest
from job_retry.schemas.fields import Body, JobType, Queue

_DIGITS = re.compile(r"[0-9]{1,9}")


def _integer(given: object) -> object:
    """Read what a query string can only write as text; leave the rest to be refused."""
    return int(given) if isinstance(given, str) and _DIGITS.fullmatch(given) else given


def _status(given: object) -> object:
    if given not in list(Status):
        message = f"must be one of {', '.join(Status)}"
        raise ValueError(message)
    return Status(str(given))


class DeadLettersQuery(Body):
    """GET /dlq."""

    queue: Queue | None = None
    job_type: JobType | None = None
    page: Annotated[int, BeforeValidator(_integer), Field(ge=1)] = 1
    per_page: Annotated[int, BeforeValidator(_integer), Field(ge=1, le=100)] = 25
    cursor: Annotated[str, StringConstraints(max_length=1024)] | None = None
    order: Literal["asc", "desc"] = "desc"

    @model_validator(mode="after")
    def _one_way_to_turn_pages(self) -> Self:
        if self.cursor is not None and self.page != 1:
            raise InvalidFieldError("page", "stands beside cursor: give one of them")
        return self

    def request(self) -> ListRequest:
        """Return it as the engine takes it."""
        return ListRequest(
            status=self._listed_status(),
            queue=self.queue,
            job_type=self.job_type,
            page=self.page,
            per_page=self.per_page,
            cursor=self.cursor,
            newest_first=self.order == "desc",
        )

    def _listed_status(self) -> Status | None:
        return Status.DEAD


class ListQuery(DeadLettersQuery):
    """GET /jobs: the same, of any status."""

    status: Annotated[Status, BeforeValidator(_status)] | None = None

    def _listed_status(self) -> Status | None:
        return self.status
