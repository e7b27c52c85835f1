"""Virtual time: tasks that wait for each other and for the clock, in one thread.

The code under test is written for threads that block. Here each is a greenlet; whatever
would block puts it to sleep and lets the next one run, so that a thousand workers take a
moment, and the same seed gives the same run to the last digit.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from greenlet import getcurrent, greenlet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
R = TypeVar("R")

EPOCH_MS = 1_900_000_000_000
"""The moment at which every run begins: some day in 2030."""


class Task(greenlet):
    """One thread of the modelled world.

    Attributes:
        calls: calls to DynamoDB that it made one after the other.
    """

    calls: int = 0


class World:
    """The clock, and everything that waits for it.

    Attributes:
        now: seconds since the run began.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._hub = getcurrent()
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._order = count()  # what is due at one moment happens in the order it was asked for

    def clock(self) -> int:
        """Return the moment in milliseconds since 1970, as the engine wants it."""
        return EPOCH_MS + int(self.now * 1000)

    def at(self, moment: float, call: Callable[[], object]) -> None:
        """Have something called at a moment."""
        heappush(self._events, (moment, next(self._order), call))

    def spawn(self, call: Callable[..., object], *arguments: Any) -> Task:
        """Start a task; it runs when the present one next waits."""
        task = Task(lambda: call(*arguments), self._hub)
        self.at(self.now, task.switch)
        return task

    def sleep(self, seconds: float) -> None:
        """Let others run for so long."""
        self.at(self.now + seconds, self.current().switch)
        self._hub.switch()

    def current(self) -> Task:
        """Return the running task."""
        task = getcurrent()
        if not isinstance(task, Task):
            raise RuntimeError("only a task can wait")  # noqa: TRY004 - a misuse, not a value
        return task

    def run(self, until: float) -> None:
        """Let everything happen that is due before a moment.

        Raises:
            Exception: whatever a task raises.
        """
        events = self._events
        while events and events[0][0] < until:
            self.now, _, call = heappop(events)
            call()
        self.now = until

    def run_all(self, call: Callable[[T], R], arguments: Iterable[T]) -> list[R]:
        """Do what `job_retry.parallel.run_all` does with threads: all at once, results in order.

        The caller is charged the longest of the calls' own sequences of calls.
        """
        listed = list(arguments)
        if len(listed) <= 1:
            return [call(each) for each in listed]
        parent = self.current()
        outcomes: dict[int, R | Exception] = {}
        tasks: list[Task] = []

        def one(place: int, argument: T) -> None:
            try:
                outcomes[place] = call(argument)
            except Exception as error:  # noqa: BLE001 - raised below, when all have ended
                outcomes[place] = error
            if len(outcomes) == len(listed):
                self.at(self.now, parent.switch)

        for place, argument in enumerate(listed):
            tasks.append(self.spawn(one, place, argument))
        self._hub.switch()
        parent.calls += max(task.calls for task in tasks)
        results: list[R] = []
        for place in range(len(listed)):
            outcome = outcomes[place]
            if isinstance(outcome, Exception):
                raise outcome
            results.append(outcome)
        return results
