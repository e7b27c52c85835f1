"""Threads that wait for something to do."""

from __future__ import annotations

import logging
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_logger = logging.getLogger("job_retry_client.worker")


class Slots(Generic[T]):
    """Threads that work on what is added, each on one thing at a time.

    They are started when there is something for them. They do not keep the process alive: a
    handler that goes on after its job was given back ends with it, and so does a request that
    hangs. The standard library's pools would wait for both.

    Args:
        number: of threads at most.
        name: of the threads.
        work: is called with each thing, in one of them.
    """

    def __init__(self, number: int, name: str, work: Callable[[T], None]) -> None:
        self._number = number
        self._name = name
        self._work = work
        self._added: SimpleQueue[T | None] = SimpleQueue()
        self._lock = Lock()
        self._started = 0

    def add(self, thing: T) -> None:
        """Have something worked on by the next free thread."""
        self._added.put(thing)
        with self._lock:
            if self._started < self._number:
                self._started += 1
                name = f"{self._name}-{self._started}"
                Thread(target=self._serve, name=name, daemon=True).start()

    def close(self) -> None:
        """End each thread once it has done what was added before."""
        with self._lock:
            for _ in range(self._started):
                self._added.put(None)

    def _serve(self) -> None:
        while (thing := self._added.get()) is not None:
            self._try(thing)

    def _try(self, thing: T) -> None:
        try:
            self._work(thing)
        except Exception:
            _logger.exception("in thread %s", self._name)
