"""What several worker programs tell, in one stream."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING

from tests.local.processes import PATIENCE_SECONDS, Program

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = "tests/e2e/worker_program.py"
NEVER = 1_000_000  # jobs before a worker hangs


class WorkerProgram(Program):
    """`worker_program.py`, running."""

    def __init__(self, url: str, queue: str, hangs_after: int = NEVER) -> None:
        """Start it."""
        command = [sys.executable, PROGRAM, url, queue, str(hangs_after)]
        super().__init__(command, PYTHONPATH="layers/client")


@dataclass(frozen=True)
class Entry:
    """Something that a worker told: ``begin``, ``end`` or ``hang``, and of which job."""

    worker: WorkerProgram
    what: str
    job_id: int


class Journal:
    """All that the workers tell, in the order in which it comes."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._coming: Queue[Entry] = Queue()

    def follow(self, worker: WorkerProgram) -> WorkerProgram:
        """Take in what a worker tells from now on."""
        Thread(target=self._read, args=[worker], daemon=True).start()
        return worker

    def read_until(self, enough: Callable[[list[Entry]], bool]) -> None:
        """Take entries until there are enough.

        Raises:
            queue.Empty: nothing came for a minute.
        """
        while not enough(self.entries):
            self.entries.append(self._coming.get(timeout=PATIENCE_SECONDS))

    def rest(self) -> None:
        """Take what has come."""
        while not self._coming.empty():
            self.entries.append(self._coming.get())

    def jobs(self, what: str, worker: WorkerProgram | None = None) -> list[int]:
        """Return the jobs of which this was told, in order; by one worker, or by any."""
        return [
            each.job_id
            for each in self.entries
            if each.what == what and worker in (None, each.worker)
        ]

    def _read(self, worker: WorkerProgram) -> None:
        for line in worker.lines():
            what, job_id = line.split(maxsplit=1)
            if what != "counts":
                self._coming.put(Entry(worker, what, int(job_id)))
