"""A way to the queue, as the contract's tests take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry_client import JobQueue


@dataclass(frozen=True)
class Way:
    """A client, and the clock of the queue that it reaches.

    Attributes:
        queue: the client.
        advance: moves the queue's clock forward, by seconds.
    """

    queue: JobQueue
    advance: Callable[[float], None]
