"""The threads that handlers run in."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry_client.worker.context import JobContext


class Slots:
    """Threads that wait for runs.

    They do not keep the process alive: a handler that goes on after its job was given back
    ends with it.

    Args:
        number: of threads.
        work: is called with each run, in one of them; raises nothing.
    """

    def __init__(self, number: int, work: Callable[[JobContext], None]) -> None:
        self._number = number
        self._work = work
        self._runs: SimpleQueue[JobContext | None] = SimpleQueue()

    def start(self) -> None:
        """Begin."""
        for number in range(self._number):
            Thread(target=self._serve, name=f"handler-{number + 1}", daemon=True).start()

    def add(self, context: JobContext) -> None:
        """Have a run worked on by the next free thread."""
        self._runs.put(context)

    def close(self) -> None:
        """End each thread after the run that it is at."""
        for _ in range(self._number):
            self._runs.put(None)

    def _serve(self) -> None:
        while (context := self._runs.get()) is not None:
            self._work(context)
