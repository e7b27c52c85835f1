"""A worker, as a program declares it."""

from __future__ import annotations

import os
import signal
import socket
from queue import Empty, SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, TypeVar

from job_retry_client.worker import numbers
from job_retry_client.worker.aws_lambda import LambdaWorker
from job_retry_client.worker.coroutines import CLEAN_UP_SECONDS
from job_retry_client.worker.crew import MOST_JOB_TYPES, ClaimPlan, Crew, Settings
from job_retry_client.worker.handlers import Handler, Handlers, Middleware, Registered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from job_retry_client.queue import JobQueue

H = TypeVar("H", bound=Handler)
M = TypeVar("M", bound=Middleware)

_SIGNAL, _END = "signal", "end"
_LOOK_SECONDS = 0.5
_LEAST_POLL_SECONDS = 0.1  # less is a loop that costs reads all the time


class Worker:
    """Claims jobs and has handlers work on them; one `run`, or one invocation, at a time.

    Args:
        queue: that the jobs are in. The worker asks it once each time, and repeats by itself.
        queues: names, in order of preference.
        concurrency: jobs at a time, each in a thread of its own; coroutines share one.
        lease_seconds: of its claims; by default what the job or its queue says. Heartbeats renew
            it, so it is how long a dead worker's jobs are stuck, not how long a job may take.
        grace_seconds: for running handlers once the worker is to stop; ``math.inf`` waits for
            them for ever, or until a second signal.
        max_poll_seconds: an idle worker looks at least so often; it costs a read each time, so
            it is 0.1 or more. With ``math.inf`` it looks when the queue says so.
        max_seconds: that a handler takes where its own `max_seconds` is not set; only a Lambda
            worker asks, which must know what it can still start.
        claims_all_types: also claim jobs that there is no handler for, to give them back with a
            line in the log; otherwise they are left to others.
        worker_id: for people to see; by default the host's name and the process's number.

    Raises:
        TypeError, ValueError: a number is none that a worker can keep to.
    """

    def __init__(  # noqa: PLR0913 - each is told above
        self,
        queue: JobQueue,
        queues: str | Sequence[str] = "default",
        *,
        concurrency: int = 10,
        lease_seconds: int | None = None,
        grace_seconds: float = 20.0,
        max_poll_seconds: float = 20.0,
        max_seconds: float = 60.0,
        claims_all_types: bool = True,
        worker_id: str | None = None,
    ) -> None:
        self._queue = queue
        self._lease_seconds = (
            None if lease_seconds is None else numbers.count("lease_seconds", lease_seconds)
        )
        self._max_seconds = numbers.seconds("max_seconds", max_seconds)
        self._claims_all_types = claims_all_types
        self._settings = Settings(
            queues=[queues] if isinstance(queues, str) else list(queues),
            worker_id=worker_id or f"{socket.gethostname()}:{os.getpid()}"[-128:],
            concurrency=numbers.count("concurrency", concurrency),
            grace_seconds=numbers.seconds("grace_seconds", grace_seconds),
            max_poll_seconds=numbers.seconds(
                "max_poll_seconds", max_poll_seconds, _LEAST_POLL_SECONDS
            ),
        )
        self._handlers = Handlers()
        self._crew: Crew | None = None
        self._is_stopped = False

    def handler(self, job_type: str, *, max_seconds: float | None = None) -> Callable[[H], H]:
        """Register a function, or a coroutine function, that works on jobs of a type.

        It is given a `JobContext`. What it returns is the job's result; an exception is a failed
        run, but for `Discard`, `RetryIn` and `Snooze`.

        Args:
            job_type: which jobs.
            max_seconds: that it takes at most; a Lambda worker starts it only with so much time.

        Raises:
            TypeError: the parentheses were forgotten, or what is registered is no function.
            ValueError: the type is empty or has a handler already, or the time is none.
        """
        if not isinstance(job_type, str):
            raise TypeError('say of which type: @worker.handler("send_mail")')
        if not job_type:
            raise ValueError("a job type is not empty")
        if max_seconds is not None:
            numbers.seconds("max_seconds", max_seconds)

        def register(handler: H) -> H:
            self._handlers.add(job_type, Registered(handler, max_seconds))
            return handler

        return register

    def middleware(self, middleware: M) -> M:
        """Register a function that stands around each run, for timing, logging or tracing.

        It is given the `JobContext` and what it is to call with it, and returns what that
        returns. What is registered first is outermost.

        Raises:
            TypeError: it is no function, or a coroutine function.
        """
        self._handlers.add_middleware(middleware)
        return middleware

    def run(self, *, until_idle: bool = False) -> Mapping[str, int]:
        """Work until SIGTERM, SIGINT or `stop`; return how many jobs came to what.

        Then it claims nothing more, gives running handlers the grace time, and releases the jobs
        of those that are not done, which costs them no attempt. A second signal ends the grace.

        Args:
            until_idle: end, too, once nothing is due.

        Raises:
            InvalidRequestError, TypeError, ValueError: the queue does not understand what the
                worker claims, or there are too few or too many types to claim.
            RuntimeError: it runs already, in another thread or around the handler that asks.
        """
        with self._handlers.in_use(CLEAN_UP_SECONDS):
            return self._run(until_idle=until_idle)

    def _run(self, *, until_idle: bool) -> Mapping[str, int]:
        crew = Crew(self._queue, self._handlers, self._settings, self._plan)
        self._crew = crew
        if self._is_stopped:
            self._is_stopped = False
            crew.stop()
        failures: list[BaseException] = []
        # The signals' handlers do no more than put something in: they may come in the middle of
        # anything, and of each other.
        news: SimpleQueue[str] = SimpleQueue()

        def work() -> None:
            try:
                crew.work(until_idle=until_idle)
            except BaseException as error:  # noqa: BLE001 - it is raised below
                failures.append(error)
            finally:
                news.put(_END)

        before = _on_stop_signals(lambda: news.put(_SIGNAL))
        try:
            Thread(target=work, name="worker", daemon=True).start()
            while (heard := _heard(news)) != _END:
                if heard == _SIGNAL:
                    crew.stop()
        finally:
            crew.stop()  # where another signal's handler has raised something
            for number, handler in before.items():
                signal.signal(number, handler)
        if failures:
            raise failures[0]
        return crew.ledger.counts

    def stop(self) -> None:
        """Let `run` end as SIGTERM does; from another thread, or from a handler.

        Before the first `run` has begun, it lets that end at once.
        """
        if self._crew is None:
            self._is_stopped = True
        else:
            self._crew.stop()

    def lambda_handler(self) -> Callable[[Any, Any], dict[str, Any]]:
        """Return a Lambda function's handler: it works until nothing is due or time is short.

        It starts no job whose handler may take longer than the invocation still lasts. The event
        does not matter; any will do that wakes it. While the worker is at work already, it raises
        a RuntimeError.
        """
        return LambdaWorker(
            self._queue, self._handlers, self._settings, self._job_types, self._max_seconds
        )

    def _plan(self) -> ClaimPlan:
        return ClaimPlan(self._job_types(), self._lease_seconds)

    def _job_types(self) -> list[str] | None:
        job_types = self._handlers.job_types
        if self._claims_all_types:
            return None
        if not 0 < len(job_types) <= MOST_JOB_TYPES:
            raise ValueError(
                f"claims_all_types=False takes handlers for 1 to {MOST_JOB_TYPES} job types, "
                f"not {len(job_types)}"
            )
        return job_types


def _heard(news: SimpleQueue[str]) -> str | None:
    """Wait for news, but not for long: of signals that come together, none may end the wait.

    Python runs a signal's handler only once the main thread goes on by itself.
    """
    try:
        return news.get(timeout=_LOOK_SECONDS)
    except Empty:
        return None


def _on_stop_signals(stop: Callable[[], None]) -> dict[int, Any]:
    """Have SIGTERM and SIGINT call this, and return what they did before."""
    if current_thread() is not main_thread():
        return {}
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {each: signal.signal(each, lambda *_: stop()) for each in numbers}
    # one that was not set by Python cannot be set again by it
    return {number: handler for number, handler in before.items() if handler is not None}
