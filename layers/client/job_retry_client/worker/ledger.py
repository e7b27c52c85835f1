"""What a worker has in hand, for all its threads to see and wait for."""

from __future__ import annotations

from collections import Counter
from threading import Condition
from typing import TYPE_CHECKING

from job_retry_client.worker.numbers import wait_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry_client.worker.context import JobContext


MOST_CLAIMED = 25
"""Jobs that one claim may bring."""

_LINGER_SECONDS = 0.005


class Ledger:
    """The runs of a worker: those going on, and those whose outcome the queue is to be told.

    Args:
        concurrency: runs at a time.
    """

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._changed = Condition()
        self._running: set[JobContext] = set()
        self._untold: set[JobContext] = set()
        self._is_claiming = True
        self._changes = 0
        self._counts: Counter[str] = Counter()

    @property
    def running(self) -> int:
        """How many handlers are at work."""
        return len(self._running)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in hand: no run, and no outcome to be told."""
        return not (self._running or self._untold)

    @property
    def changes(self) -> int:
        """How often a run ended, or the queue was told an outcome."""
        return self._changes

    @property
    def counts(self) -> dict[str, int]:
        """How many jobs came to what."""
        with self._changed:
            return dict(self._counts)

    def start(self, context: JobContext) -> None:
        """Note that a run begins."""
        with self._changed:
            self._running.add(context)

    def finish(self, context: JobContext, *, is_to_be_told: bool) -> None:
        """Note that a run is over, and whether the queue is to be told its outcome."""
        with self._changed:
            self._running.discard(context)
            if is_to_be_told:
                self._untold.add(context)
            self._change()

    def told(self, context: JobContext, what: str) -> None:
        """Note that the queue knows an outcome, or that it is given up; the first time counts."""
        with self._changed:
            if context in self._untold:
                self._untold.remove(context)
                self._counts[what] += 1
                self._change()

    def count(self, what: str) -> None:
        """Note something that happened to a job."""
        with self._changed:
            self._counts[what] += 1

    def end_claims(self) -> None:
        """Note that no more jobs will come."""
        with self._changed:
            self._is_claiming = False
            self._change()

    def wake(self) -> None:
        """Let those who wait look again."""
        with self._changed:
            self._changed.notify_all()

    def left(self) -> list[JobContext]:
        """Return the runs that go on."""
        with self._changed:
            return list(self._running)

    def untold(self) -> list[JobContext]:
        """Return the runs whose outcome the queue has not been told."""
        with self._changed:
            return list(self._untold)

    def wait_for_room(self, may_wait: Callable[[], bool], seconds: float | None) -> int:
        """Wait until jobs may be claimed, and return how many; it may be 0 all the same.

        Where there is a little, it waits a few milliseconds for more: jobs that were claimed
        together often end together, and can then be followed by one claim. Outcomes that pile
        up, because the queue cannot be told, take room as well.

        Args:
            may_wait: is asked again after `wake`.
            seconds: to wait at most; None for no limit.
        """
        with self._changed:
            if self._changed.wait_for(lambda: self._room > 0 or not may_wait(), wait_of(seconds)):
                enough = min(self._concurrency, MOST_CLAIMED)
                self._changed.wait_for(
                    lambda: self._room >= enough or not may_wait(), _LINGER_SECONDS
                )
            return max(self._room, 0) if may_wait() else 0

    def wait_for_change(
        self, changes: int, may_wait: Callable[[], bool], seconds: float | None
    ) -> None:
        """Wait until there are more `changes` than the caller saw."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._changes != changes or not may_wait(), wait_of(seconds)
            )

    def wait_until_claimed(self, may_wait: Callable[[], bool], seconds: float | None) -> None:
        """Wait until no more jobs will come."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._is_claiming and may_wait()), wait_of(seconds))

    def wait_until_empty(self, may_wait: Callable[[], bool], seconds: float | None) -> None:
        """Wait until nothing is in hand, and nothing more will come."""
        with self._changed:
            self._changed.wait_for(
                lambda: not may_wait() or (self.is_empty and not self._is_claiming),
                wait_of(seconds),
            )

    def wait_until_told(self, seconds: float) -> None:
        """Wait until the queue has been told all, and nothing more will come."""
        with self._changed:
            self._changed.wait_for(
                lambda: not (self._untold or self._is_claiming), wait_of(seconds)
            )

    @property
    def _room(self) -> int:
        return self._concurrency - max(len(self._running), len(self._untold) - self._concurrency)

    def _change(self) -> None:
        self._changes += 1
        self._changed.notify_all()
