"""A worker inside a Lambda function, which has only so much time."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from job_retry_client.models import Failure
from job_retry_client.worker.crew import MOST_JOB_TYPES, ClaimPlan, Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from job_retry_client.queue import JobQueue
    from job_retry_client.worker.crew import Settings
    from job_retry_client.worker.handlers import Handlers

_LAST_SECONDS = 2.0  # of an invocation, to end in
_LAST_WORDS_SECONDS = 1.5  # of these, to tell the queue how it went
_CLEAN_UP_SECONDS = 0.3  # of these, for coroutines that were cancelled
_LEASE_MARGIN_SECONDS = 1

_logger = logging.getLogger("job_retry_client.worker")


class LambdaWorker:
    """What Lambda calls; see `Worker.lambda_handler`."""

    def __init__(
        self,
        queue: JobQueue,
        handlers: Handlers,
        settings: Settings,
        job_types: Callable[[], Sequence[str] | None],
        max_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = queue
        self._handlers = handlers
        self._settings = settings
        self._job_types = job_types
        self._max_seconds = max_seconds
        self._clock = clock
        self._told: set[str] = set()  # types that the log has been told of as taking too long

    def __call__(self, _event: Any, context: Any) -> dict[str, Any]:
        """Work, and return how many jobs came to what, and why it ended: ``idle`` or ``time``.

        Raises:
            RuntimeError: the worker is at work already.
        """
        try:
            with self._handlers.in_use(_CLEAN_UP_SECONDS):
                return self._work(context)
        finally:
            self._queue.flush()

    def _work(self, context: Any) -> dict[str, Any]:
        ends_at: float = (
            self._clock() + context.get_remaining_time_in_millis() / 1000 - _LAST_SECONDS
        )
        is_short = False

        def rest() -> float:
            return ends_at - self._clock()

        def plan() -> ClaimPlan | None:
            nonlocal is_short
            found = self._plan(rest())
            is_short = found is None
            return found

        self._warn(rest())
        crew = Crew(
            self._queue,
            self._handlers,
            replace(
                self._settings, worker_id=_name(context), last_words_seconds=_LAST_WORDS_SECONDS
            ),
            plan,
            may_start=lambda job: self._may_start(job.job_type, rest()),
            ends_at=ends_at,
            # The leases end when the invocation does: nothing to renew, and nobody waits for
            # long if it is cut off.
            renews_leases=False,
            of_unfinished=Failure(
                "the handler was not done when the Lambda function's time was up"
            ),
            clock=self._clock,
        )
        crew.work(until_idle=True)
        is_short = is_short or rest() <= 0
        summary = {**crew.ledger.counts, "ended_by": "time" if is_short else "idle"}
        _logger.info("%s", summary)
        return summary

    def _plan(self, rest: float) -> ClaimPlan | None:
        """Claim what can be done in the time that is left, in seconds.

        Time only gets less: what is given back because it does not fit is not named again.
        """
        wanted = self._job_types()
        known = self._handlers.job_types
        fitting = [each for each in known if self._needs(each) <= rest]
        if rest <= 0 or (known and not fitting):
            return None
        lease = math.ceil(rest + _LAST_SECONDS) + _LEASE_MARGIN_SECONDS
        if len(fitting) == len(known):
            return ClaimPlan(wanted, lease)
        return ClaimPlan(fitting[:MOST_JOB_TYPES], lease)

    def _may_start(self, job_type: str, rest: float) -> bool:
        """Tell whether a claimed job still fits; the claim may have taken its time."""
        # A type without a handler takes none: to run it is to give it back for a while, and to
        # say so. Given back here it would be due at once, and claimed again and again.
        return job_type not in self._handlers.job_types or self._needs(job_type) <= rest

    def _warn(self, rest: float) -> None:
        """Say of which types no job can be begun, though the invocation has only begun itself.

        Each is told once; if it is all of them, they are told each time, since nothing is done.
        """
        known = self._handlers.job_types
        late = [each for each in known if self._needs(each) > rest]
        new = [each for each in late if each not in self._told]
        if new or (late and len(late) == len(known)):
            _logger.warning(
                "no job is begun of %s: the invocation has %.1f s for handlers, and these may take "
                "%g s or more; raise the function's timeout, or lower max_seconds, of the handler "
                "or of the Worker",
                ", ".join(map(repr, new or late)),
                max(0.0, rest),
                min(map(self._needs, new or late)),
            )
        self._told.update(late)

    def _needs(self, job_type: str) -> float:
        return self._handlers.max_seconds(job_type, self._max_seconds)


def _name(context: Any) -> str:
    """Return what people find the invocation's log by."""
    name = getattr(context, "log_stream_name", None) or getattr(context, "function_name", "lambda")
    return str(name)[-128:]
