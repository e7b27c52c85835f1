"""What a handler is given: its job, and news of the lease."""

from __future__ import annotations

from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from job_retry_client.worker.numbers import wait_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry_client.models import Job


class JobContext:
    """A run of a job.

    Attributes:
        job: as the claim returned it.
    """

    def __init__(self, job: Job, report: Callable[[JobContext, Any], None]) -> None:
        self.job = job
        self._report = report
        self._lock = Lock()
        self._is_over = False
        self._interrupted = Event()
        self._lease_lost = False
        self._is_taken_away = False
        self._cancel: Callable[[], object] | None = None
        self._is_cancelled = False

    @property
    def payload(self) -> Any:
        """The job's payload."""
        return self.job.payload

    @property
    def lease_lost(self) -> bool:
        """Whether the lease ended or went to another worker: what the handler does is in vain."""
        return self._lease_lost

    @property
    def should_stop(self) -> bool:
        """Whether to end early: the lease was lost, or the worker is to stop."""
        return self._interrupted.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than until the handler should stop; return whether it should."""
        return self._interrupted.wait(wait_of(seconds))

    def report_progress(self, progress: Any) -> None:
        """Show people how far the job is; renews the lease, too, and costs a heartbeat.

        Args:
            progress: any JSON value to 1 KB.

        Raises:
            LeaseLostError, WrongStatusError, JobNotFoundError: the lease is lost.
            JobQueueError: the queue did not take it; the lease is as it was.
            TypeError, ValueError: it is no JSON value.
        """
        self._report(self, progress)

    # -- for the worker ----------------------------------------------------------------

    def interrupt(self) -> None:
        """Tell the handler that the worker is to stop."""
        self._interrupted.set()

    @property
    def is_over(self) -> bool:
        """Whether it is settled what became of the run."""
        return self._is_over

    @property
    def is_taken_away(self) -> bool:
        """Whether the queue itself said that the lease is lost."""
        return self._is_taken_away

    def lose_lease(self, *, is_certain: bool = True) -> None:
        """Tell the handler that its lease is gone.

        Args:
            is_certain: the queue said so; otherwise only the clock did, and what the handler
                achieves may still count if nobody took the job meanwhile.
        """
        self._lease_lost = True
        self._is_taken_away = self._is_taken_away or is_certain
        self._interrupted.set()

    def on_cancel(self, cancel: Callable[[], object]) -> None:
        """Note how the handler can be ended from outside; at once, if it was to be before."""
        with self._lock:
            self._cancel = cancel
            is_cancelled = self._is_cancelled
        if is_cancelled:
            cancel()

    def cancel(self) -> None:
        """End the handler, if it can be ended from outside, now or later."""
        with self._lock:
            self._is_cancelled = True
            cancel = self._cancel
        if cancel is not None:
            cancel()

    def end(self) -> bool:
        """Take the right to say what became of the run; True for the first who asks alone."""
        with self._lock:
            is_first, self._is_over = not self._is_over, True
            return is_first
