"""Telling the queue what became of jobs, many in one request where many end at once."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass, replace
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, TypeAlias

from job_retry_client.errors import InvalidRequestError, TooLargeError
from job_retry_client.models import Failure, Job
from job_retry_client.worker.descriptions import text_of
from job_retry_client.worker.leases import LOST
from job_retry_client.worker.outcomes import Completed, Released
from job_retry_client.worker.polling import asked_pause, growing_pause
from job_retry_client.worker.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from job_retry_client.queue import JobQueue
    from job_retry_client.worker.context import JobContext
    from job_retry_client.worker.leases import LeaseKeeper
    from job_retry_client.worker.ledger import Ledger
    from job_retry_client.worker.outcomes import Outcome

_MOST = 25
_LINGER_SECONDS = 0.005
_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0
_LONGEST_ASKED_SECONDS = 20.0
_PATIENCE_SECONDS = 300.0  # with an outcome, before its lease is left to end
_SENDERS = 8  # of releases, which have no batch

_logger = logging.getLogger("job_retry_client.worker")

Answer: TypeAlias = "Job | Exception"


@dataclass(frozen=True)
class Settlement:
    """What became of a run.

    Attributes:
        context: the run.
        outcome: what the queue is to be told.
        since: when, by the clock, the run ended.
        tries: how often the queue was asked, and did not do it.
        due_at: it is not asked before that.
        is_substitute: the queue refused the run's own outcome.
    """

    context: JobContext
    outcome: Outcome
    since: float
    tries: int = 0
    due_at: float = -math.inf
    is_substitute: bool = False


class Settler:
    """Tells the queue outcomes, about in the order in which they come in.

    It waits a few milliseconds for the next one while other handlers are at work, and what
    comes in during a request goes with the next: the busier the worker, the fewer requests.

    Args:
        queue: that is told; it is asked once each time.
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
        self._senders = Slots[Settlement](_SENDERS, "release", lambda each: self._tell([each]))

    def start(self) -> None:
        """Begin, in a thread of its own."""
        Thread(target=self._serve, name="settler", daemon=True).start()

    def add(self, context: JobContext, outcome: Outcome) -> None:
        """Have the queue told what became of a run."""
        settlement = Settlement(context, outcome, self._clock())
        if isinstance(outcome, Released):  # goes alone, and never behind a request that hangs
            self._senders.add(settlement)
        else:
            self._put([settlement])

    def close(self) -> None:
        """End the threads, once they have told what they have; none is told again."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._senders.close()

    def settle(self, settlements: Sequence[Settlement]) -> list[Settlement]:
        """Tell the queue outcomes, and return those that are to be told again, or others instead.

        Raises nothing, whatever one of them is: it must not stand in the way of the others.
        """
        answered = [
            *self._told_many(settlements, Completed),
            *self._told_many(settlements, Failure),
            *((each, self._tell_one(each)) for each in _those(settlements, Released)),
        ]
        again = []
        for settlement, answer in answered:
            next_one = self._conclude(settlement, answer)
            if next_one is not None:
                again.append(next_one)
        return again

    # -- threads -----------------------------------------------------------------------

    def _serve(self) -> None:
        while batch := self._take():
            self._tell(batch)

    def _tell(self, settlements: Sequence[Settlement]) -> None:
        self._put(self.settle(settlements))

    def _put(self, settlements: Sequence[Settlement]) -> None:
        with self._changed:
            # behind the others, so that what cannot be told does not keep them waiting
            self._waiting.extend(settlements)
            self._changed.notify_all()

    def _take(self) -> list[Settlement]:
        """Wait for something to tell; nothing means the end."""
        with self._changed:
            while not (self._due() or self._is_closed):
                next_at = min((each.due_at for each in self._waiting), default=math.inf)
                self._changed.wait(None if math.isinf(next_at) else next_at - self._clock())
            self._changed.wait_for(
                lambda: self._is_closed or not self._ledger.running or len(self._due()) >= _MOST,
                _LINGER_SECONDS,
            )
            batch = (self._waiting if self._is_closed else self._due())[:_MOST]
            taken = set(map(id, batch))
            self._waiting = [each for each in self._waiting if id(each) not in taken]
            return batch

    def _due(self) -> list[Settlement]:
        now = self._clock()
        return [each for each in self._waiting if each.due_at <= now]

    # -- one request -------------------------------------------------------------------

    def _told_many(
        self, settlements: Sequence[Settlement], kind: type[Completed | Failure]
    ) -> list[tuple[Settlement, Answer]]:
        those = _those(settlements, kind)
        if len(those) < 2:  # noqa: PLR2004 - nothing to put together
            return [(each, self._tell_one(each)) for each in those]
        answers: Sequence[Answer]
        try:
            answers = self._ask(kind, those)
        except Exception as error:  # noqa: BLE001 - a result that is no JSON any more, say
            answers = [error] * len(those)
        # What is not acceptable may have been another's fault: a single result that is nested
        # too deeply spoils the whole request.
        return [
            (each, self._tell_one(each) if _is_refused(answer) else answer)
            for each, answer in zip(those, answers, strict=True)
        ]

    def _tell_one(self, settlement: Settlement) -> Answer:
        job, outcome = settlement.context.job, settlement.outcome
        try:
            if isinstance(outcome, Released):
                return self._queue.release(job, delay_seconds=outcome.delay_seconds)
            (answer,) = self._ask(type(outcome), [settlement])
        except Exception as error:  # noqa: BLE001 - as above
            return error
        return answer

    def _ask(self, kind: type[Outcome], those: Sequence[Settlement]) -> Sequence[Answer]:
        outcomes: list[tuple[Job, Any]] = [(each.context.job, each.outcome) for each in those]
        if kind is Completed:
            return self._queue.complete_many((job, done.result) for job, done in outcomes)
        return self._queue.fail_many(outcomes)

    # -- what follows ------------------------------------------------------------------

    def _conclude(self, settlement: Settlement, answer: Answer) -> Settlement | None:
        if isinstance(answer, Job):
            self._end(settlement, _what(settlement.outcome, answer))
        elif isinstance(answer, LOST):
            settlement.context.lose_lease()
            self._lose(settlement, answer)
        elif _is_refused(answer) and not settlement.is_substitute:
            _logger.error("job %d: its outcome is refused: %r", _id(settlement), answer)
            outcome = _instead(settlement.outcome, answer)
            return replace(settlement, outcome=outcome, is_substitute=True)
        elif _is_refused(answer) or self._is_closed or self._keeper.is_over(settlement.context):
            self._lose(settlement, answer)
        else:
            return self._later(settlement, answer)
        return None

    def _later(self, settlement: Settlement, error: Exception) -> Settlement:
        _logger.warning("job %d: its outcome could not be told: %s", _id(settlement), error)
        now = self._clock()
        if now - settlement.since > _PATIENCE_SECONDS:
            self._keeper.let_end(settlement.context)
        pause = growing_pause(settlement.tries, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        pause = max(pause, min(asked_pause(error), _LONGEST_ASKED_SECONDS))
        return replace(settlement, tries=settlement.tries + 1, due_at=now + pause)

    def _lose(self, settlement: Settlement, error: Exception) -> None:
        _logger.warning(
            "job %d: its outcome is dropped, it may run again: %r", _id(settlement), error
        )
        self._end(settlement, "lost")

    def _end(self, settlement: Settlement, what: str) -> None:
        self._keeper.let_go(settlement.context)
        self._ledger.told(settlement.context, what)


def _those(settlements: Sequence[Settlement], kind: type[Outcome]) -> list[Settlement]:
    return [each for each in settlements if isinstance(each.outcome, kind)]


def _is_refused(answer: Answer) -> bool:
    """Tell whether the queue, or already the client, cannot take an outcome as it is."""
    if isinstance(answer, InvalidRequestError):
        # without a code it is not the queue that speaks, but what is in between
        return bool(answer.code) or isinstance(answer, TooLargeError)
    return isinstance(answer, (TypeError, ValueError, RecursionError))


def _instead(outcome: Outcome, error: Exception) -> Failure:
    """Return what the queue surely takes; it has changed nothing, and the run has not succeeded."""
    reason = f"the outcome was refused: {type(error).__name__}: {text_of(error)}"
    if isinstance(outcome, Failure):
        return Failure(f"{outcome.error}\n{reason}", retry=outcome.retry)
    return Failure(reason)


def _what(outcome: Outcome, job: Job) -> str:
    if isinstance(outcome, Completed):
        return "completed"
    if isinstance(outcome, Released):
        return "released"
    return "dead" if job.status == "dead" else "failed"


def _id(settlement: Settlement) -> int:
    return settlement.context.job.id
