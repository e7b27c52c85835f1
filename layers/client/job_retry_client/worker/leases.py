"""Keeping the leases of the jobs in hand, by heartbeats at a third of each."""

from __future__ import annotations

import logging
import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from job_retry_client.errors import (
    JobNotFoundError,
    JobQueueError,
    LeaseLostError,
    WrongStatusError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry_client.queue import JobQueue
    from job_retry_client.worker.context import JobContext

LOST = (LeaseLostError, WrongStatusError, JobNotFoundError)
"""What the queue answers when a job is no longer this worker's."""

_SENDERS = 8  # so that a heartbeat that hangs holds up no other

_logger = logging.getLogger("job_retry_client.worker")


@dataclass
class Lease:
    """A lease, in seconds of the worker's own clock.

    Attributes:
        context: the run that it is held for.
        length: from one heartbeat to its end.
        ends_at: by then it is surely over, unless renewed. It is reckoned from before the
            request that got it was sent, so it is never later than the queue's own.
        beats_at: when it is to be renewed.
        is_beating: whether that is under way.
    """

    context: JobContext
    length: float
    ends_at: float
    beats_at: float
    is_beating: bool = False


class LeaseKeeper:
    """Renews leases until they are let go.

    Args:
        queue: that gave them.
        renews: whether to renew at all; otherwise it tells only when they end.
        clock: returns seconds, from any moment on.
    """

    def __init__(
        self,
        queue: JobQueue,
        *,
        renews: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = queue
        self._renews = renews
        self._clock = clock
        self._changed = Condition()
        self._leases: dict[int, Lease] = {}
        self._is_closed = False
        self._senders = ThreadPoolExecutor(_SENDERS, "heartbeat")

    def start(self) -> None:
        """Begin, in a thread of its own."""
        Thread(target=self._serve, name="leases", daemon=True).start()

    def keep(self, context: JobContext, claimed_at: float) -> None:
        """Keep a job's lease from now on.

        Args:
            context: the job's run.
            claimed_at: the clock, before the claim was sent.
        """
        length = _length(context)
        lease = Lease(context, length, claimed_at + length, claimed_at + length / 3)
        with self._changed:
            self._leases[context.job.id] = lease
            self._changed.notify_all()

    def let_go(self, context: JobContext) -> None:
        """Keep a lease no longer."""
        with self._changed:
            self._leases.pop(context.job.id, None)

    def is_over(self, context: JobContext) -> bool:
        """Tell whether a lease has surely ended by itself."""
        with self._changed:
            lease = self._leases.get(context.job.id)
            return lease is None or lease.ends_at <= self._clock()

    def report(self, context: JobContext, progress: Any) -> None:
        """Show a job's progress, which renews its lease.

        Raises:
            JobQueueError: the queue did not take it.
        """
        try:
            self._renew(context, progress)
        except LOST:
            self._lose(context)
            raise

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._senders.shutdown(wait=False, cancel_futures=True)

    def tick(self) -> float:
        """Send the heartbeats that are due, and return when to look again by the clock."""
        now = self._clock()
        with self._changed:
            for lease in list(self._leases.values()):
                if lease.ends_at <= now:
                    lease.context.lose_lease(is_certain=False)
                elif self._renews and lease.beats_at <= now and not lease.is_beating:
                    lease.is_beating = True
                    self._senders.submit(self._beat, lease)
            return min((self._next(lease) for lease in self._leases.values()), default=math.inf)

    def _next(self, lease: Lease) -> float:
        if lease.context.lease_lost:
            return math.inf
        return lease.ends_at if lease.is_beating or not self._renews else lease.beats_at

    def _serve(self) -> None:
        while True:
            next_at = self.tick()
            with self._changed:
                if self._is_closed:
                    return
                pause = next_at - self._clock()
                if pause > 0:
                    self._changed.wait(None if math.isinf(pause) else pause)

    def _beat(self, lease: Lease) -> None:
        context = lease.context
        try:
            self._renew(context, None)
        except LOST as error:
            self._lose(context, error)
        except JobQueueError as error:
            _logger.warning("job %d: the heartbeat failed: %s", context.job.id, error)
            with self._changed:
                lease.beats_at = self._clock() + lease.length / 12
        finally:
            with self._changed:
                lease.is_beating = False
                self._changed.notify_all()

    def _renew(self, context: JobContext, progress: Any) -> None:
        sent_at = self._clock()
        self._queue.heartbeat(context.job, progress=progress)
        with self._changed:
            lease = self._leases.get(context.job.id)
            if lease is not None and lease.context is context:
                lease.ends_at = sent_at + lease.length
                lease.beats_at = sent_at + lease.length / 3

    def _lose(self, context: JobContext, error: Exception | None = None) -> None:
        with self._changed:
            lease = self._leases.get(context.job.id)
            if lease is None or lease.context is not context or context.is_over:
                return  # the queue is being told its outcome, and will say what it thinks of it
            del self._leases[context.job.id]
        _logger.warning("job %d: the lease is lost: %s", context.job.id, error)
        context.lose_lease()


def _length(context: JobContext) -> float:
    job = context.job
    if job.lease_expires_at is None or job.claimed_at is None:
        return float(job.lease_seconds)
    return (job.lease_expires_at - job.claimed_at).total_seconds()
