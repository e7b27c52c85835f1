"""Which function works on which type of job, and what stands around it."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from job_retry_client.models import Failure
from job_retry_client.worker.context import JobContext
from job_retry_client.worker.coroutines import EventLoop
from job_retry_client.worker.descriptions import text_of
from job_retry_client.worker.outcomes import (
    Discard,
    Released,
    RetryIn,
    Snooze,
    outcome_of_error,
    outcome_of_result,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from job_retry_client.worker.outcomes import Outcome

Handler: TypeAlias = Callable[[JobContext], Any]
"""Works on a job; what it returns is the job's result. It may be a coroutine function."""

Middleware: TypeAlias = Callable[[JobContext, Handler], Any]
"""Stands around a run: calls the handler that it is given, and returns what that returns."""

_UNKNOWN_DELAY_SECONDS = 60
_MOST_MISSED = 1_000  # job types that are remembered as told

_logger = logging.getLogger("job_retry_client.worker")


@dataclass(frozen=True)
class Registered:
    """A handler, and the seconds that it takes at most; None if that is not known."""

    handler: Handler
    max_seconds: float | None


class Handlers:
    """The handlers of a worker, by job type, and its middleware."""

    def __init__(self) -> None:
        self._registered: dict[str, Registered] = {}
        self._middleware: list[Middleware] = []
        self._missed: set[str] = set()
        self._lock = Lock()
        self._in_use = Lock()
        self.event_loop = EventLoop()

    @property
    def job_types(self) -> list[str]:
        """The types that there is a handler for."""
        return list(self._registered)

    @contextmanager
    def in_use(self, clean_up_seconds: float) -> Iterator[None]:
        """Work with the handlers, alone: the end closes the event loop that all of them share.

        Args:
            clean_up_seconds: that coroutines have at the end.

        Raises:
            RuntimeError: they are at work already.
        """
        if not self._in_use.acquire(blocking=False):
            raise RuntimeError("this worker is at work already; make another one to run beside it")
        try:
            try:
                yield
            finally:
                self.event_loop.close(clean_up_seconds)
        finally:
            self._in_use.release()

    def add(self, job_type: str, registered: Registered) -> None:
        """Register a handler.

        Raises:
            TypeError: it is nothing that can be called.
            ValueError: the type has one.
        """
        if not callable(registered.handler):
            raise TypeError(f"a handler is a function, not {registered.handler!r}")
        if job_type in self._registered:
            raise ValueError(f"job type {job_type!r} has a handler already")
        self._registered[job_type] = registered

    def add_middleware(self, middleware: Middleware) -> None:
        """Let something stand around each run; what was added first is outermost.

        Raises:
            TypeError: it cannot be called, or is a coroutine function; a handler's coroutine has
                ended when a middleware gets its result.
        """
        if not callable(middleware):
            raise TypeError(f"a middleware is a function, not {middleware!r}")
        if inspect.iscoroutinefunction(middleware):
            raise TypeError("a middleware is no coroutine function")
        self._middleware.append(middleware)

    def max_seconds(self, job_type: str, default: float) -> float:
        """Return what a run of this type takes at most, in seconds."""
        found = self._registered.get(job_type)
        return default if found is None or found.max_seconds is None else found.max_seconds

    def run(self, context: JobContext) -> Outcome:
        """Work on a job, and return what became of it; nothing is raised."""
        found = self._registered.get(context.job.job_type)
        if found is None:
            return self._miss(context.job.job_type)
        call = self._driven(found.handler)
        for middleware in reversed(self._middleware):
            call = _around(middleware, call)
        try:
            outcome = outcome_of_result(call(context))
        except BaseException as error:  # noqa: BLE001 - SystemExit, too, is a failed run
            _log(context, error)
            return outcome_of_error(error)
        if isinstance(outcome, Failure):
            _logger.warning("job %d: %s", context.job.id, outcome.error)
        return outcome

    def _driven(self, handler: Handler) -> Handler:
        def call(context: JobContext) -> Any:
            result = handler(context)
            return self.event_loop.run(result, context) if inspect.iscoroutine(result) else result

        return call

    def _miss(self, job_type: str) -> Outcome:
        with self._lock:
            is_new = job_type not in self._missed
            if len(self._missed) >= _MOST_MISSED:
                self._missed.clear()
            self._missed.add(job_type)
        if is_new:
            _logger.error(
                "no handler for job type %r: its jobs are given back, every %d s",
                job_type,
                _UNKNOWN_DELAY_SECONDS,
            )
        return Released(_UNKNOWN_DELAY_SECONDS)


def _log(context: JobContext, error: BaseException) -> None:
    """Log that a run failed, and why; what was given up before is told elsewhere."""
    if isinstance(error, Snooze) or context.is_over:
        return
    is_said = isinstance(error, (Discard, RetryIn))  # on purpose: a line is enough
    _logger.warning(
        "job %d: the handler of %r failed%s",
        context.job.id,
        context.job.job_type,
        f": {type(error).__name__}: {text_of(error)}" if is_said else "",
        exc_info=None if is_said and error.__cause__ is None else error,
    )


def _around(middleware: Middleware, call: Handler) -> Handler:
    return lambda context: middleware(context, call)
