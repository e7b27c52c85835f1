"""One stretch of a worker's work: from its first claim until nothing is in hand any more."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING

from job_retry_client.errors import InvalidRequestError, JobQueueError
from job_retry_client.models import Failure
from job_retry_client.worker.context import JobContext
from job_retry_client.worker.leases import LeaseKeeper
from job_retry_client.worker.ledger import Ledger
from job_retry_client.worker.outcomes import Released
from job_retry_client.worker.polling import Polling
from job_retry_client.worker.settling import Settler
from job_retry_client.worker.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from job_retry_client.models import Claim
    from job_retry_client.queue import JobQueue
    from job_retry_client.worker.handlers import Handlers
    from job_retry_client.worker.outcomes import Outcome

_MOST = 25  # jobs of a claim
_LAST_WORDS_SECONDS = 5.0  # for telling the queue what became of the last jobs

_UNWORKED = Released()

_logger = logging.getLogger("job_retry_client.worker")


@dataclass(frozen=True)
class ClaimPlan:
    """What the next claim asks for.

    Attributes:
        job_types: only these; None for all.
        lease_seconds: how long; None for what the job says.
    """

    job_types: Sequence[str] | None = None
    lease_seconds: int | None = None


@dataclass(frozen=True)
class Settings:
    """How a worker works; `Worker` says what each is."""

    queues: Sequence[str]
    worker_id: str
    concurrency: int
    grace_seconds: float
    max_poll_seconds: float


class Crew:
    """The threads of a worker, for one stretch of work.

    Args:
        queue: that jobs are claimed from.
        handlers: that work on them.
        settings: how.
        plan: returns what the next claim asks for, or None if there is to be none.
        ends_at: by then, on the clock, all must be done; None for no limit.
        renews_leases: whether to send heartbeats.
        of_unfinished: what the queue is told of jobs whose handlers do not end in time.
        clock: returns seconds, from any moment on.
    """

    def __init__(
        self,
        queue: JobQueue,
        handlers: Handlers,
        settings: Settings,
        plan: Callable[[], ClaimPlan | None],
        *,
        ends_at: float | None = None,
        renews_leases: bool = True,
        of_unfinished: Outcome = _UNWORKED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = queue
        self._handlers = handlers
        self._settings = settings
        self._plan = plan
        self._ends_at = ends_at
        self._of_unfinished = of_unfinished
        self._clock = clock
        self._stop = Event()
        self._hurry = Event()
        self._polling = Polling(settings.max_poll_seconds)
        self.ledger = Ledger(settings.concurrency)
        self._keeper = LeaseKeeper(queue, renews=renews_leases, clock=clock)
        self._settler = Settler(queue, self.ledger, self._keeper, clock=clock)
        self._slots = Slots(settings.concurrency, self._work_on)

    def work(self, *, until_idle: bool) -> None:
        """Claim and work until stopped, or until the plan ends.

        Args:
            until_idle: end, too, when nothing is due and nothing in hand.

        Raises:
            InvalidRequestError: the queue does not understand what the worker claims.
        """
        for part in (self._keeper, self._settler, self._slots):
            part.start()
        try:
            self._claim_and_start(until_idle=until_idle)
            self._let_finish()
        finally:
            self._give_up()
            for part in (self._slots, self._settler, self._keeper):
                part.close()

    def stop(self) -> None:
        """Claim nothing more; running handlers have the grace time. Asked again, they have none."""
        (self._hurry if self._stop.is_set() else self._stop).set()
        self.ledger.wake()

    # ----------------------------------------------------------------------------------

    def _claim_and_start(self, *, until_idle: bool) -> None:
        while self._may_go_on() and self._rest() != 0:
            room = self.ledger.wait_for_room(self._may_go_on, self._rest())
            plan = self._plan()  # after the wait, which may have left little time
            if plan is None:
                return
            if room == 0:
                continue
            claimed_at = self._clock()
            claim = self._claim(plan, min(room, _MOST))
            if claim is None:
                self._wait(self._polling.after_error())
            elif claim:
                self._start(claim, claimed_at)
            elif not until_idle:
                self._wait(self._polling.after_answer(claim.retry_after_seconds))
            elif self.ledger.is_empty:
                return
            else:  # what is in hand may lead to other jobs
                self.ledger.wait_for_change(self._may_go_on, self._rest())

    def _may_go_on(self) -> bool:
        return not self._stop.is_set()

    def _rest(self) -> float | None:
        return None if self._ends_at is None else max(0.0, self._ends_at - self._clock())

    def _wait(self, seconds: float) -> None:
        rest = self._rest()
        self._stop.wait(seconds if rest is None else min(seconds, rest))

    def _claim(self, plan: ClaimPlan, max_jobs: int) -> Claim | None:
        try:
            return self._queue.claim(
                self._settings.queues,
                worker_id=self._settings.worker_id,
                job_types=plan.job_types,
                lease_seconds=plan.lease_seconds,
                max_jobs=max_jobs,
            )
        except InvalidRequestError:
            raise
        except JobQueueError as error:
            _logger.warning("cannot claim: %s", error)
            return None

    def _start(self, claim: Claim, claimed_at: float) -> None:
        for job in claim:
            context = JobContext(job, self._keeper.report)
            self.ledger.start(context)
            self._keeper.keep(context, claimed_at)
            if self._may_go_on():  # otherwise it is given back, with all that is left
                self._slots.add(context)

    def _work_on(self, context: JobContext) -> None:
        try:
            outcome = self._handlers.run(context)
        except BaseException as error:  # an exception that cannot even be told
            _logger.exception("job %d", context.job.id)
            outcome = Failure(type(error).__name__)
        is_to_be_told = context.end() and not context.is_taken_away
        self.ledger.finish(context, is_to_be_told=is_to_be_told)
        if is_to_be_told:
            self._settler.add(context, outcome)
        elif context.is_taken_away:
            self._keeper.let_go(context)
            self.ledger.count("lost")

    def _let_finish(self) -> None:
        if self._stop.is_set():
            for context in self.ledger.left():
                context.interrupt()
        rest = self._rest()
        grace = self._settings.grace_seconds if rest is None else rest
        self.ledger.wait_until_empty(lambda: not self._hurry.is_set(), grace)

    def _give_up(self) -> None:
        """Let go the jobs whose handlers are not done; what these come to is dropped."""
        left = [context for context in self.ledger.left() if context.end()]
        for context in left:
            self.ledger.finish(context, is_to_be_told=True)
            self._settler.add(context, self._of_unfinished)
            context.interrupt()
            context.cancel()
        self.ledger.wait_until_told(_LAST_WORDS_SECONDS)
