"""A pool of worker processes, each serving one call at a time, as Lambda's environments do."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from local.template import REPOSITORY

if TYPE_CHECKING:
    from local.template import Function

MAX_WORKERS = 8
MAX_RESPONSE_BYTES = 6_291_556  # Lambda's own figure


class InvocationError(Exception):
    """The function gave no result: it raised, crashed, ran too long or returned too much."""


class Worker:
    """One worker process."""

    def __init__(self, environment: dict[str, str]) -> None:
        """Start the process with exactly this environment."""
        # A session of its own: Ctrl-C is for the server, which lets running calls finish.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "local.worker"],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def call(self, function: Function, event: dict[str, Any], clock_offset_ms: int | None) -> bytes:
        """Run the handler; return the outcome's JSON, or nothing if the process went meanwhile."""
        call = {
            "function": function.name,
            "source": str(function.source),
            "attribute": function.attribute,
            "timeout_seconds": function.timeout_seconds,
            "memory_mb": function.memory_mb,
            "clock_offset_ms": clock_offset_ms,
            "event": event,
        }
        if self._process.stdin is None or self._process.stdout is None:
            return b""
        timer = threading.Timer(function.timeout_seconds, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps(call).encode() + b"\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()
        except BrokenPipeError:
            return b""
        finally:
            timer.cancel()

    def stop(self) -> None:
        """End the process; a call that it is serving then gets no outcome."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Let go of the pipes to the process, which has ended."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):  # what it never read is still buffered
                if pipe is not None:
                    pipe.close()


class WorkerPool:
    """Up to so many workers with the same environment; started when needed, replaced when gone."""

    def __init__(self, environment: dict[str, str], max_workers: int = MAX_WORKERS) -> None:
        """Take calls for functions of this environment."""
        self._environment = environment
        self._max_workers = max_workers
        self._running: set[Worker] = set()
        self._closed = False
        # Last in, first out: a warm worker is taken before a new one is started.
        self._slots: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(max_workers):
            self._slots.put(None)

    def invoke(
        self, function: Function, event: dict[str, Any], clock_offset_ms: int | None = None
    ) -> Any:
        """Return what the handler returns for the event."""
        worker = self._slots.get()
        try:
            if worker is None or not worker.alive:
                self._discard(worker)
                worker = self._start()
            outcome = worker.call(function, event, clock_offset_ms)
            if not outcome:
                self._discard(worker)
                worker = None
                message = f"{function.name} crashed or ran for over {function.timeout_seconds} s"
                raise InvocationError(message)
        finally:
            self._slots.put(worker)
        if len(outcome) > MAX_RESPONSE_BYTES:
            message = f"{function.name} returned more than Lambda's 6 MB"
            raise InvocationError(message)
        decoded = json.loads(outcome)
        if "error" in decoded:
            message = f"{function.name} raised {decoded['error']}"
            raise InvocationError(message)
        return decoded["result"]

    def close(self) -> None:
        """End all workers, at once; calls that still run get an InvocationError."""
        self._closed = True
        for worker in list(self._running):
            worker.stop()
        for slot in [self._slots.get() for _ in range(self._max_workers)]:
            self._discard(slot)
            self._slots.put(None)

    def _start(self) -> Worker:
        if self._closed:
            message = "the server is stopping"
            raise InvocationError(message)
        worker = Worker(self._environment)
        self._running.add(worker)
        return worker

    def _discard(self, worker: Worker | None) -> None:
        if worker is not None:
            worker.stop()
            worker.close()
            self._running.discard(worker)
