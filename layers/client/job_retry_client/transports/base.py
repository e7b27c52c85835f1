"""What every way to reach the queue must do."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from job_retry_client.models import TransactItems
    from job_retry_client.operations import Operation


@dataclass(frozen=True)
class Request:
    """What is asked of the queue.

    Attributes:
        operation: the route.
        parameters: of the route's path.
        query: of the address.
        body: JSON text; None for none.
        idempotency_key: under which asking again asks for the same.
    """

    operation: Operation
    parameters: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    idempotency_key: str | None = None

    @property
    def path(self) -> str:
        """The route with its parameters filled in."""
        path = self.operation.route
        for name, given in self.parameters.items():
            path = path.replace(f"{{{name}}}", given)
        return path

    @property
    def headers(self) -> dict[str, str]:
        """HTTP's, in lower case."""
        headers = {} if self.body is None else {"content-type": "application/json"}
        if self.idempotency_key is not None:
            headers["idempotency-key"] = self.idempotency_key
        return headers


@dataclass(frozen=True)
class Answer:
    """What the queue answered.

    Attributes:
        status: HTTP's.
        body: JSON text, or nothing.
        retry_after_seconds: when to ask again, if it says so.
    """

    status: int
    body: str
    retry_after_seconds: float | None = None


class Transport(Protocol):
    """A way to reach the queue; it may be used by several threads at once."""

    def send(self, request: Request) -> Answer:
        """Ask, once.

        Raises:
            NoAnswerError: none came.
        """
        ...


@runtime_checkable
class TransactTransport(Transport, Protocol):
    """A way that also knows how a job is written."""

    def transact(self, body: str) -> TransactItems:
        """Return a job's writes for a transaction, given what `POST /jobs` takes.

        Raises:
            AnswerError: the job is not acceptable.
        """
        ...


@runtime_checkable
class FlushTransport(Transport, Protocol):
    """A way that gathers something which is to be written now and then."""

    def flush(self) -> None:
        """Write it."""
        ...


def is_header_text(text: str) -> bool:
    """Return whether a text comes through a header as it is: printable ASCII, no blanks around."""
    return text.isascii() and text.isprintable() and text == text.strip()


def seconds_of(retry_after: str | None) -> float | None:
    """Read a Retry-After header; None where it is missing or says no number, as a date."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return max(0.0, seconds) if isfinite(seconds) else None
