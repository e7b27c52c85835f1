"""One stretch of a worker's work: from its first claim until nothing is in hand any more."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING

from job_retry_client.errors import InvalidRequestError
from job_retry_client.models import Failure
from job_retry_client.queue import JobQueue
from job_retry_client.retries import Retries
from job_retry_client.worker.context import JobContext
from job_retry_client.worker.descriptions import describe
from job_retry_client.worker.leases import LeaseKeeper
from job_retry_client.worker.ledger import MOST_CLAIMED, Ledger
from job_retry_client.worker.numbers import wait_of
from job_retry_client.worker.outcomes import Released
from job_retry_client.worker.polling import Polling
from job_retry_client.worker.settling import Settler
from job_retry_client.worker.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from job_retry_client.models import Claim, Job
    from job_retry_client.worker.handlers import Handlers
    from job_retry_client.worker.outcomes import Outcome

MOST_JOB_TYPES = 100
"""That a claim may name."""

_UNWORKED = Released()

# A worker repeats by itself: its pauses end when it is to stop, and it knows until when a lease
# is worth a request.
_ONCE = Retries(attempts=1)

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
    """How a worker works; `Worker` says what each is.

    Attributes:
        last_words_seconds: for telling the queue what became of the last jobs.
    """

    queues: Sequence[str]
    worker_id: str
    concurrency: int
    grace_seconds: float
    max_poll_seconds: float
    last_words_seconds: float = 5.0


class Crew:
    """The threads of a worker, for one stretch of work.

    Args:
        queue: that jobs are claimed from.
        handlers: that work on them.
        settings: how.
        plan: returns what the next claim asks for, or None if there is to be none.
        may_start: whether a job that was claimed is to be worked on; otherwise it is given back.
        ends_at: by then, on the clock, all must be done; None for no limit.
        renews_leases: whether to send heartbeats.
        of_unfinished: what the queue is told of jobs whose handlers do not end in time.
        clock: returns seconds, from any moment on.
    """

    def __init__(  # noqa: PLR0913 - each is told above
        self,
        queue: JobQueue,
        handlers: Handlers,
        settings: Settings,
        plan: Callable[[], ClaimPlan | None],
        *,
        may_start: Callable[[Job], bool] = lambda _: True,
        ends_at: float | None = None,
        renews_leases: bool = True,
        of_unfinished: Outcome = _UNWORKED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = JobQueue(queue.transport, retries=_ONCE)
        self._handlers = handlers
        self._settings = settings
        self._plan = plan
        self._may_start = may_start
        self._ends_at = ends_at
        self._of_unfinished = of_unfinished
        self._clock = clock
        self._stop = Event()
        self._hurry = Event()
        self._failure: BaseException | None = None
        self._polling = Polling(settings.max_poll_seconds)
        self.ledger = Ledger(settings.concurrency)
        self._keeper = LeaseKeeper(self._queue, renews=renews_leases, clock=clock)
        self._settler = Settler(self._queue, self.ledger, self._keeper, clock=clock)
        self._slots = Slots(settings.concurrency, "handler", self._work_on)

    def work(self, *, until_idle: bool) -> None:
        """Claim and work until stopped, or until the plan ends.

        Args:
            until_idle: end, too, when nothing is due and nothing in hand. Where a claim has not
                looked at all lanes, it takes several in vain to say so.

        Raises:
            InvalidRequestError, TypeError, ValueError: the queue does not understand what the
                worker claims.
        """
        try:
            self._keeper.start()
            self._settler.start()
            # Claims are another thread's: one that hangs must not hold up the end.
            Thread(target=self._claim, args=(until_idle,), name="claims", daemon=True).start()
            self.ledger.wait_until_claimed(self._may_go_on, self._rest())
            self._let_finish()
        finally:
            self._stop.set()
            self._give_up()
            for part in (self._slots, self._settler, self._keeper):
                part.close()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Claim nothing more; running handlers have the grace time. Asked again, they have none."""
        (self._hurry if self._stop.is_set() else self._stop).set()
        self.ledger.wake()

    # -- the thread that claims --------------------------------------------------------

    def _claim(self, until_idle: bool) -> None:  # noqa: FBT001 - a thread's argument
        try:
            self._claim_and_start(until_idle=until_idle)
        except BaseException as error:  # noqa: BLE001 - `work` raises it
            self._failure = error
            self._stop.set()
        finally:
            self.ledger.end_claims()

    def _claim_and_start(self, *, until_idle: bool) -> None:
        while self._may_go_on() and self._rest() != 0:
            room = self.ledger.wait_for_room(self._may_go_on, self._rest())
            plan = self._plan()  # after the wait, which may have left little time
            if plan is None:
                return
            if room == 0:
                continue
            # What a handler does while the claim is under way may have come too late for it.
            changes, was_empty = self.ledger.changes, self.ledger.is_empty
            claimed_at = self._clock()
            try:
                claim = self._ask(plan, min(room, MOST_CLAIMED))
            except (TypeError, ValueError):
                raise
            except Exception as error:
                if isinstance(error, InvalidRequestError) and error.code:
                    raise  # without a code it is not the queue that speaks
                # whatever else it is, it may pass
                _logger.warning("cannot claim: %r", error)
                self._wait(self._polling.after_error(error))
                continue
            self._polling.note_answer()
            if claim:
                self._polling.note_jobs()
                self._start(claim, claimed_at)
                continue
            if not until_idle:
                self._wait(self._polling.after_answer(claim.retry_after_seconds))
            elif not self._wait_for_more(claim, changes, was_empty=was_empty):
                return

    def _wait_for_more(self, claim: Claim, changes: int, *, was_empty: bool) -> bool:
        """Wait before the next claim, after one in vain; or say that nothing is due."""
        if not was_empty:  # what is in hand may lead to other jobs
            pause = self._polling.after_answer(claim.retry_after_seconds)
            self.ledger.wait_for_change(changes, self._may_go_on, self._shortened(pause))
            return True
        look_again = self._polling.before_idle(lanes_unseen=claim.lanes_unseen)
        if look_again is None:
            return False
        self._wait(look_again)
        return True

    def _may_go_on(self) -> bool:
        return not self._stop.is_set()

    def _rest(self) -> float | None:
        return None if self._ends_at is None else max(0.0, self._ends_at - self._clock())

    def _shortened(self, seconds: float) -> float:
        rest = self._rest()
        return seconds if rest is None else min(seconds, rest)

    def _wait(self, seconds: float) -> None:
        self._stop.wait(wait_of(self._shortened(seconds)))

    def _ask(self, plan: ClaimPlan, max_jobs: int) -> Claim:
        return self._queue.claim(
            self._settings.queues,
            worker_id=self._settings.worker_id,
            job_types=plan.job_types,
            lease_seconds=plan.lease_seconds,
            max_jobs=max_jobs,
        )

    def _start(self, claim: Claim, claimed_at: float) -> None:
        for job in claim:
            context = JobContext(job, self._keeper.report)
            self.ledger.start(context)
            self._keeper.keep(context, claimed_at)
            if self._may_go_on() and self._may_start(job):
                self._slots.add(context)
            else:
                self._end(context, _UNWORKED)
        if not self._may_go_on():
            self._interrupt()  # those that began too late to be told

    # -- the threads of the handlers ---------------------------------------------------

    def _work_on(self, context: JobContext) -> None:
        if context.is_over:  # given up before its turn
            return
        # what begins after the lease's end would be the run of a job that others may have
        is_late = context.lease_lost or self._keeper.is_over(context)
        outcome = _UNWORKED if is_late else self._outcome(context)
        self._end(context, outcome)

    def _outcome(self, context: JobContext) -> Outcome:
        try:
            return self._handlers.run(context)
        except BaseException as error:  # noqa: BLE001 - of an exception that is not whole
            return Failure(describe(error))

    # -- ends --------------------------------------------------------------------------

    def _end(self, context: JobContext, outcome: Outcome) -> None:
        """Have the queue told what became of a run, unless that is settled already."""
        if context.end():
            self._tell(context, outcome)

    def _tell(self, context: JobContext, outcome: Outcome) -> None:
        is_lost = context.is_taken_away
        self.ledger.finish(context, is_to_be_told=not is_lost)
        if is_lost:
            self._keeper.let_go(context)
            self.ledger.count("lost")
        else:
            self._settler.add(context, outcome)

    def _interrupt(self) -> None:
        for context in self.ledger.left():
            context.interrupt()

    def _let_finish(self) -> None:
        if not self._may_go_on():
            self._interrupt()
        rest = self._rest()
        grace = self._settings.grace_seconds if rest is None else rest
        self.ledger.wait_until_empty(lambda: not self._hurry.is_set(), grace)

    def _give_up(self) -> None:
        """Let go the jobs whose handlers are not done; what these come to is dropped."""
        for context in self.ledger.left():
            if context.end():
                context.interrupt()
                context.cancel()
                self._tell(context, self._of_unfinished)
        self.ledger.wait_until_told(self._settings.last_words_seconds)
        for context in self.ledger.untold():
            _logger.warning("job %d: its outcome could not be told in time", context.job.id)
            self.ledger.told(context, "lost")
