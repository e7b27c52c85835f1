"""Pauses: of a worker that found nothing, and before it asks again what had failed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from job_retry_client.errors import AnswerError, QueueBusyError

if TYPE_CHECKING:
    from collections.abc import Callable

_SPREAD = 1.2
_FIRST_AFTER_ERROR = 1.0
_LONGEST_AFTER_ERROR = 30.0

# Of a queue with many lanes a claim looks at a quarter, or more: four claims see all of them if one
# warm function answers, and eight if two take turns. It lets a lane alone for half a second once it
# has looked at it, be it for an invocation before this one: the seven pauses are longer together.
_MOST_LOOKS = 8
_NEXT_LOOK_SECONDS = 0.1

_BUSY_SECONDS = 1.0  # what Retry-After says; a job of a batch has no such header


def growing_pause(
    failures: int, first: float, longest: float, draw: Callable[[], float] = random.random
) -> float:
    """Return a pause in seconds that doubles with each failure, less up to a half by chance.

    Args:
        failures: before this one.
        first: the longest pause after the first failure, in seconds.
        longest: the longest of all.
        draw: returns a random number from 0 up to 1.
    """
    return min(first * 2.0 ** min(failures, 32), longest) * (1 + draw()) / 2


def asked_pause(error: Exception) -> float:
    """Return how long the queue asks to be left alone, in seconds; 0 where it does not."""
    if not isinstance(error, AnswerError):
        return 0.0
    least = _BUSY_SECONDS if isinstance(error, QueueBusyError) else 0.0
    return least if error.retry_after_seconds is None else error.retry_after_seconds


class Polling:
    """The pauses between claims.

    Args:
        longest_seconds: no pause after an answer is longer, whatever the queue says.
        draw: returns a random number from 0 up to 1.
    """

    def __init__(self, longest_seconds: float, draw: Callable[[], float] = random.random) -> None:
        self._longest = longest_seconds
        self._draw = draw
        self._errors = 0
        self._looks = 0

    def note_answer(self) -> None:
        """Note that the queue answers."""
        self._errors = 0

    def note_jobs(self) -> None:
        """Note that a claim brought jobs."""
        self._looks = 0

    def after_answer(self, retry_after_seconds: float | None) -> float:
        """Return the pause after a claim that found nothing, in seconds.

        It is what the queue says, or up to a fifth more: the workers of a queue should not all
        come at once.
        """
        asked = 1.0 if retry_after_seconds is None else retry_after_seconds
        return min(asked, self._longest / _SPREAD) * self._spread()

    def before_idle(self, *, lanes_unseen: bool) -> float | None:
        """Return the pause, in seconds, until the claim that shows whether nothing is due.

        None where the one before has shown it, or where so many in a row have brought nothing
        that it must do.

        Args:
            lanes_unseen: the claim that found nothing has not looked at all lanes.
        """
        self._looks += 1
        if not lanes_unseen or self._looks >= _MOST_LOOKS:
            return None
        return self.after_answer(_NEXT_LOOK_SECONDS)

    def after_error(self, error: Exception) -> float:
        """Return the pause after a claim that failed: up to 1 s, 2 s, 4 s … 30 s, at least half.

        Where the queue asks for more, it is that, or up to a fifth more.
        """
        pause = growing_pause(self._errors, _FIRST_AFTER_ERROR, _LONGEST_AFTER_ERROR, self._draw)
        self._errors += 1
        asked = min(asked_pause(error), _LONGEST_AFTER_ERROR)
        return max(pause, asked * self._spread())

    def _spread(self) -> float:
        return 1 + self._draw() * (_SPREAD - 1)
