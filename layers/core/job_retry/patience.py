"""How long a worker should wait that found nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

MAX_SECONDS = 20.0
_MIN_SECONDS = 0.25
_STEADY_SECONDS = 2.0  # at most, while there is something to do now and then
_LONGER, _SHORTER = 1.5, 0.8  # times, for a claim in vain and for one that brought a job


_LATELY_MS = 20_000


@dataclass(slots=True)
class _Wait:
    seconds: float
    since: int  # when a job was last seen, or the first worker asked
    was_busy: bool = False


class Patience:
    """Grows while workers come in vain and shrinks while they find jobs.

    So a queue is asked in vain about half as often as it gives a job, however many workers
    there are; and one where nothing happens every twenty seconds.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._waits: dict[tuple[str, ...], _Wait] = {}

    def found(self, queues: Sequence[str], now: int) -> None:
        """Note a claim that brought a job."""
        wait = self._wait(queues, now)
        wait.seconds = max(wait.seconds * _SHORTER, _MIN_SECONDS)
        wait.since, wait.was_busy = now, True

    def pause(
        self, queues: Sequence[str], now: int, *, others_found: bool, due: int | None
    ) -> float:
        """Return the seconds to wait after a claim that brought none.

        Args:
            queues: that were asked for.
            now: milliseconds.
            others_found: there were jobs, but others took them.
            due: when the next job is due that was seen. Where jobs came lately, others may
                come before it.
        """
        wait = self._wait(queues, now)
        if others_found:
            wait.since, wait.was_busy = now, True
        idle_ms = now - wait.since
        seconds = wait.seconds * (0.75 + self._random.random() / 2)
        wait.seconds = min(
            wait.seconds * _LONGER, max(idle_ms / 1000, _STEADY_SECONDS), MAX_SECONDS
        )
        if due is None:
            return min(seconds, MAX_SECONDS)
        until_due = max(due - now, 0) / 1000
        busy = wait.was_busy and idle_ms < _LATELY_MS
        return min(until_due, seconds if busy else MAX_SECONDS, MAX_SECONDS)

    def _wait(self, queues: Sequence[str], now: int) -> _Wait:
        return self._waits.setdefault(tuple(queues), _Wait(_MIN_SECONDS, now))
