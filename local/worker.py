"""`python -m local.worker`: calls handlers one at a time, as one Lambda environment does.

Each line of the standard input is a call, each line on the original standard output its outcome.
The process ends when its input closes, so it never outlives the gateway, however that went.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import queue
import sys
import threading
import time
import traceback
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Handler = Callable[[dict[str, Any], "Context"], Any]


@dataclass(frozen=True)
class Context:
    """The Lambda context of one call."""

    function_name: str
    memory_limit_in_mb: int
    aws_request_id: str
    deadline: float
    function_version: str = "$LATEST"
    log_group_name: str = "local"
    log_stream_name: str = "local"

    @property
    def invoked_function_arn(self) -> str:
        """A stand-in of the right shape."""
        return f"arn:aws:lambda:local:local:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Return how long the call may still take."""
        return max(0, int((self.deadline - time.monotonic()) * 1000))


class _Handlers:
    """The handlers that this process has loaded, by file."""

    def __init__(self) -> None:
        self._loaded: dict[str, Handler] = {}

    def get(self, source: str, attribute: str) -> Handler:
        """Load the file once, under a name of its own: all are called handler.py."""
        if source not in self._loaded:
            name = f"function_{len(self._loaded)}_handler"
            spec = importlib.util.spec_from_file_location(name, source)
            if spec is None or spec.loader is None:
                message = f"{source} is not a Python file"
                raise ImportError(message)
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            self._loaded[source] = getattr(module, attribute)
        return self._loaded[source]


class _MovableClock:
    """The system clock, plus what the tests have moved it by."""

    def __init__(self) -> None:
        self._offset_ms: int | None = None

    def move(self, offset_ms: int | None) -> None:
        if offset_ms is not None and self._offset_ms is None:
            # Imported here, since a real run never touches the layer's clock.
            from job_retry.runtime import use_clock  # noqa: PLC0415

            use_clock(self)
        self._offset_ms = offset_ms

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000 + (self._offset_ms or 0)


class _Log(io.TextIOBase):
    """The standard error, less metrics: they are log lines to Lambda, but noise to a person."""

    def __init__(self) -> None:
        self._line = ""

    def write(self, text: str) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if not line.startswith('{"_aws":'):
                sys.stderr.write(f"{line}\n")
        return len(text)


def _read_calls(calls: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in sys.stdin.buffer:
        calls.put(json.loads(line))
    os._exit(0)  # even in the middle of a call: nobody waits for its outcome


def main() -> None:
    """Serve calls until the input closes."""
    outcomes = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a handler prints is a log line, not an outcome
    sys.stdout = _Log()
    calls: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_calls, args=(calls,), daemon=True).start()
    handlers = _Handlers()
    clock = _MovableClock()
    while True:
        call = calls.get()
        context = Context(
            function_name=call["function"],
            memory_limit_in_mb=call["memory_mb"],
            aws_request_id=str(uuid.uuid4()),
            deadline=time.monotonic() + call["timeout_seconds"],
        )
        try:
            clock.move(call["clock_offset_ms"])
            handler = handlers.get(call["source"], call["attribute"])
            outcome = json.dumps({"result": handler(call["event"], context)})
        except Exception as error:  # noqa: BLE001 - as Lambda does: any error is the call's outcome
            traceback.print_exc()
            outcome = json.dumps({"error": type(error).__name__})
        outcomes.write(outcome.encode() + b"\n")
        outcomes.flush()


if __name__ == "__main__":
    main()
