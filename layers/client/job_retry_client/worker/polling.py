"""When a worker that found nothing looks again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_AFTER_ERROR = 30.0


class Polling:
    """The pauses between claims.

    Args:
        longest_seconds: no pause is longer, whatever the queue says.
        draw: returns a random number from 0 up to 1.
    """

    def __init__(self, longest_seconds: float, draw: Callable[[], float] = random.random) -> None:
        self._longest = longest_seconds
        self._draw = draw
        self._errors = 0

    def after_answer(self, retry_after_seconds: float | None) -> float:
        """Return the pause after a claim that found nothing, in seconds.

        It is what the queue says, or up to a fifth more: the workers of a queue should not all
        come at once.
        """
        self._errors = 0
        asked = 1.0 if retry_after_seconds is None else retry_after_seconds
        return min(asked, self._longest) * (1 + self._draw() / 5)

    def after_error(self) -> float:
        """Return the pause after a claim that failed: up to 1 s, 2 s, 4 s … 30 s, at least half."""
        longest = min(2.0**self._errors, _LONGEST_AFTER_ERROR)
        self._errors = min(self._errors + 1, 10)
        return longest * (1 + self._draw()) / 2
