"""Telling the queue what became of jobs, many in one request where many end at once."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from threading import Condition, Thread
from typing import TYPE_CHECKING

from job_retry_client.errors import InvalidRequestError, JobQueueError
from job_retry_client.models import Failure, Job
from job_retry_client.worker.leases import LOST
from job_retry_client.worker.outcomes import Completed, Released

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from job_retry_client.queue import JobQueue
    from job_retry_client.worker.context import JobContext
    from job_retry_client.worker.leases import LeaseKeeper
    from job_retry_client.worker.ledger import Ledger
    from job_retry_client.worker.outcomes import Outcome

_MOST = 25
_LINGER_SECONDS = 0.005
_PAUSE_SECONDS = 1.0

_logger = logging.getLogger("job_retry_client.worker")


@dataclass(frozen=True)
class Settlement:
    """What became of a run."""

    context: JobContext
    outcome: Outcome


class Settler:
    """Tells the queue outcomes, in the order in which they come in.

    It waits a few milliseconds for the next one while other handlers are at work, and what
    comes in during a request goes with the next: the busier the worker, the fewer requests.

    Args:
        queue: that is told.
        ledger: where it is noted.
        keeper: of the leases, which are kept until the queue has been told.
        clock: returns seconds, from any moment on.
    """

    def __init__(
        self,
        queue: JobQueue,
        ledger: Ledger,
        keeper: LeaseKeeper,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = queue
        self._ledger = ledger
        self._keeper = keeper
        self._clock = clock
        self._changed = Condition()
        self._waiting: list[Settlement] = []
        self._is_closed = False

    def start(self) -> None:
        """Begin, in a thread of its own."""
        Thread(target=self._serve, name="settler", daemon=True).start()

    def add(self, context: JobContext, outcome: Outcome) -> None:
        """Have the queue told what became of a run."""
        with self._changed:
            self._waiting.append(Settlement(context, outcome))
            self._changed.notify_all()

    def close(self) -> None:
        """End the thread, once it has told what it is telling."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def settle(self, settlements: Sequence[Settlement]) -> list[Settlement]:
        """Tell the queue outcomes, and return those to be told again."""
        again = []
        for settlement, answer in self._told(settlements):
            if isinstance(answer, Job):
                self._end(settlement, _what(settlement.outcome, answer))
            elif isinstance(answer, LOST):
                self._lose(settlement, answer)
            elif isinstance(answer, InvalidRequestError) and not isinstance(
                settlement.outcome, Failure
            ):
                # too large, say: the queue has changed nothing, and the run has not succeeded
                again.append(
                    Settlement(
                        settlement.context, Failure(f"the queue refused the outcome: {answer}")
                    )
                )
            elif self._keeper.is_over(settlement.context):
                self._lose(settlement, answer)
            else:
                _logger.warning("job %d: %s", settlement.context.job.id, answer)
                again.append(settlement)
        return again

    def _serve(self) -> None:
        while True:
            batch = self._take()
            if not batch:
                return
            try:
                again = self.settle(batch)
            except Exception:
                _logger.exception("the outcomes of %d jobs could not be told", len(batch))
                again = []
                for settlement in batch:
                    self._end(settlement, "lost")
            with self._changed:
                if not self._is_closed:
                    self._waiting[:0] = again
                    if again:
                        self._changed.wait(_PAUSE_SECONDS)

    def _take(self) -> list[Settlement]:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            until = self._clock() + _LINGER_SECONDS
            while len(self._waiting) < _MOST and self._ledger.running and not self._is_closed:
                if (rest := until - self._clock()) <= 0:
                    break
                self._changed.wait(rest)
            batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            return batch

    def _told(
        self, settlements: Sequence[Settlement]
    ) -> list[tuple[Settlement, Job | JobQueueError]]:
        completed = [(e, e.outcome) for e in settlements if isinstance(e.outcome, Completed)]
        failed = [(e, e.outcome) for e in settlements if isinstance(e.outcome, Failure)]
        released = [(e, e.outcome) for e in settlements if isinstance(e.outcome, Released)]
        answers = [
            *self._queue.complete_many((each.context.job, done.result) for each, done in completed),
            *self._queue.fail_many((each.context.job, failure) for each, failure in failed),
            *(self._release(each.context.job, outcome) for each, outcome in released),
        ]
        order = [each for each, _ in [*completed, *failed, *released]]
        return list(zip(order, answers, strict=True))

    def _release(self, job: Job, outcome: Released) -> Job | JobQueueError:
        try:
            return self._queue.release(job, delay_seconds=outcome.delay_seconds)
        except JobQueueError as error:
            return error

    def _lose(self, settlement: Settlement, error: JobQueueError) -> None:
        _logger.warning(
            "job %d: its outcome is dropped, it may run again: %s", settlement.context.job.id, error
        )
        settlement.context.lose_lease()
        self._end(settlement, "lost")

    def _end(self, settlement: Settlement, what: str) -> None:
        self._keeper.let_go(settlement.context)
        self._ledger.told(what)


def _what(outcome: Outcome, job: Job) -> str:
    if isinstance(outcome, Completed):
        return "completed"
    if isinstance(outcome, Released):
        return "released"
    return "dead" if job.status == "dead" else "failed"
