"""Asking again: what is safe to repeat, and after which pause."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from job_retry_client.errors import NoAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from job_retry_client.transports.base import Answer, Request, Transport

_BUSY = 429
_UNSURE = (500, 502, 503, 504)


@dataclass(frozen=True)
class Retries:
    """How often and how long to try.

    A request that is safe to repeat is sent again when no answer came or the queue failed; any
    other only when it never left, or was throttled. The pause is what Retry-After says, and at
    least a random one that doubles its range each time ("full jitter").

    Attributes:
        attempts: with the first one.
        first_pause_seconds: the first pause's range.
        longest_pause_seconds: no pause is longer, whatever Retry-After says.
        sleep: waits for seconds.
        draw: returns a random number from 0 up to 1.
    """

    attempts: int = 5
    first_pause_seconds: float = 0.2
    longest_pause_seconds: float = 20.0
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = random.random

    def pauses(self) -> Iterator[float]:
        """Yield the pause before each further attempt, in seconds."""
        longest = self.first_pause_seconds
        for _ in range(self.attempts - 1):
            longest = min(longest, self.longest_pause_seconds)
            yield longest * self.draw()
            longest *= 2

    def wait(self, pause: float, retry_after_seconds: float | None) -> None:
        """Wait before the next attempt, for as long as the queue asks at least."""
        self.sleep(min(max(pause, retry_after_seconds or 0.0), self.longest_pause_seconds))


def is_worth_repeating(status: int, *, is_repeatable: bool) -> bool:
    """Return whether to ask again what had an answer of this HTTP status."""
    return status == _BUSY or (is_repeatable and status in _UNSURE)


def send(
    transport: Transport, request: Request, retries: Retries, *, is_repeatable: bool
) -> tuple[Answer, bool]:
    """Ask the queue until it answers.

    Args:
        transport: the way to reach it.
        request: what to ask.
        retries: how often and how long.
        is_repeatable: whether doing it twice is as good as once.

    Returns:
        The answer, and whether an earlier attempt may have been done before.

    Raises:
        NoAnswerError: none came, and asking once more is not safe or was not of use. Its
            ``was_sent`` speaks of all attempts.
    """
    maybe_done = False
    for pause in chain(retries.pauses(), [None]):
        try:
            answer = transport.send(request)
        except NoAnswerError as error:
            maybe_done = maybe_done or error.was_sent
            if pause is None or (error.was_sent and not is_repeatable):
                error.was_sent = maybe_done
                raise
            retries.wait(pause, None)
            continue
        if pause is None or not is_worth_repeating(answer.status, is_repeatable=is_repeatable):
            break
        maybe_done = True  # even what was throttled may have been in its last step
        retries.wait(pause, answer.retry_after_seconds)
    return answer, maybe_done
