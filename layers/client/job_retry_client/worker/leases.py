"""Keeping the leases of the jobs in hand, by heartbeats at a third of each."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from job_retry_client.errors import (
    JobNotFoundError,
    LeaseLostError,
    WrongStatusError,
)
from job_retry_client.worker.polling import asked_pause
from job_retry_client.worker.slots import Slots

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
        is_to_end: whether it is to be renewed no more.
    """

    context: JobContext
    length: float
    ends_at: float
    beats_at: float
    is_beating: bool = False
    is_to_end: bool = False


class LeaseKeeper:
    """Renews leases until they are let go.

    Args:
        queue: that gave them; it is asked once each time.
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
        # By run, not by job: the worker may get a job again while its own late run goes on.
        self._leases: dict[JobContext, Lease] = {}
        self._is_closed = False
        self._senders = Slots(_SENDERS, "heartbeat", self._beat)

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
            self._leases[context] = lease
            self._changed.notify_all()

    def let_go(self, context: JobContext) -> None:
        """Keep a lease no longer."""
        with self._changed:
            self._leases.pop(context, None)

    def let_end(self, context: JobContext) -> None:
        """Renew a lease no more; it is over once its time is up."""
        with self._changed:
            lease = self._leases.get(context)
            if lease is not None:
                lease.is_to_end = True

    def is_over(self, context: JobContext) -> bool:
        """Tell whether a lease has surely ended by itself, or was let go."""
        with self._changed:
            lease = self._leases.get(context)
            return lease is None or lease.ends_at <= self._clock()

    def report(self, context: JobContext, progress: Any) -> None:
        """Show a job's progress, which renews its lease.

        Raises:
            JobQueueError: the queue did not take it.
            TypeError, ValueError: it is no JSON value.
        """
        try:
            self._renew(context, progress)
        except LOST as error:
            self._lose(context, error)
            raise

    def close(self) -> None:
        """End the threads."""
        with self._changed:
            self._is_closed = True
            self._leases.clear()
            self._changed.notify_all()
        self._senders.close()

    def tick(self) -> float:
        """Send the heartbeats that are due, and return when to look again by the clock."""
        with self._changed:
            now = self._clock()
            for lease in self._leases.values():
                if lease.ends_at <= now:
                    lease.context.lose_lease(is_certain=False)
                elif self._beats_at(lease) <= now:
                    lease.is_beating = True
                    self._senders.add(lease)
            looks = (min(self._beats_at(each), each.ends_at) for each in self._leases.values())
            return min((each for each in looks if each > now), default=math.inf)

    def _beats_at(self, lease: Lease) -> float:
        if not self._renews or lease.is_beating or lease.is_to_end:
            return math.inf
        return lease.beats_at

    def _serve(self) -> None:
        with self._changed:
            while not self._is_closed:
                pause = self.tick() - self._clock()
                if pause > 0:
                    self._changed.wait(None if math.isinf(pause) else pause)

    def _beat(self, lease: Lease) -> None:
        context = lease.context
        try:
            with self._changed:
                if context not in self._leases:  # let go while it waited for its turn
                    return
            self._renew(context, None)
        except LOST as error:
            self._lose(context, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next may do
            _logger.warning("job %d: the heartbeat failed: %r", context.job.id, error)
            self._put_off(lease, asked_pause(error))
        finally:
            with self._changed:
                lease.is_beating = False
                self._changed.notify_all()

    def _put_off(self, lease: Lease, asked: float) -> None:
        """Renew a lease soon again, or when the queue asks for it while there is time."""
        with self._changed:
            now = self._clock()
            lease.beats_at = now + max(lease.length / 12, min(asked, (lease.ends_at - now) / 2))

    def _renew(self, context: JobContext, progress: Any) -> None:
        sent_at = self._clock()
        self._queue.heartbeat(context.job, progress=progress)
        with self._changed:
            lease = self._leases.get(context)
            # of two that cross each other, the later one counts
            if lease is not None and lease.ends_at < sent_at + lease.length:
                lease.ends_at = sent_at + lease.length
                lease.beats_at = sent_at + lease.length / 3
                self._changed.notify_all()

    def _lose(self, context: JobContext, error: Exception) -> None:
        with self._changed:
            lease = self._leases.get(context)
            if lease is None:
                return
            if context.is_over:
                # the queue is being told its outcome, and will say what it thinks of it
                lease.is_to_end = True
                return
            del self._leases[context]
        _logger.warning("job %d: the lease is lost: %s", context.job.id, error)
        context.lose_lease()


def _length(context: JobContext) -> float:
    job = context.job
    if job.lease_expires_at is None or job.claimed_at is None:
        return float(job.lease_seconds)
    return (job.lease_expires_at - job.claimed_at).total_seconds()
