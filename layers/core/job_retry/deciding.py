"""Decide purely, then write once: what every verb of the engine stands on."""

from collections.abc import Callable
from contextlib import suppress
from random import Random

from job_retry.claiming import Claimer
from job_retry.clock import Clock
from job_retry.decisions import Change
from job_retry.errors import JobNotFoundError, JobRetryError, StoreBusyError, StoreError
from job_retry.expiry import Expirer
from job_retry.job import Job
from job_retry.queues import QueueDirectory
from job_retry.store import ChangedError, JobStore, Observer
from job_retry.transitions import Action
from job_retry.unique import has_ended

ROUNDS = 10
"""Decisions on one request before the job is called too busy."""

TOO_BUSY = "others keep changing this job"


class Deciding:
    """The engine's parts, and the one way in which it changes a job."""

    def __init__(
        self,
        store: JobStore,
        *,
        clock: Clock,
        random: Random,
        require_lease_token: bool = False,
        observer: Observer = lambda _action, _job: None,
    ) -> None:
        """Put the queue together.

        Args:
            store: where the jobs are.
            clock: what time it is.
            random: where ids, tokens, jitter and choices come from; unguessable in earnest.
            require_lease_token: refuse to settle a job without the lease's token.
            observer: told of each write.
        """
        self._store = store
        self._clock = clock
        self._random = random
        self._require_lease_token = require_lease_token
        self._observer = observer
        self._queues = QueueDirectory(store, clock, random)
        self._claimer = Claimer(store, random)
        self._expirer = Expirer(store, random, self._observe)

    def now(self) -> int:
        """Return what time it is, in milliseconds."""
        return self._clock()

    def _decide(self, action: Action, job_id: int, decide: Callable[[Job], Change | None]) -> Job:
        """Read, decide, write under the condition that what was read still holds.

        The first read is the cheap one. A decision to write is safe on a stale record:
        the condition fails, shows the job as it is, and the decision is made again. A
        decision not to write is not safe, whether it refuses or finds the request recorded
        already, and is made again on a consistent read.
        """
        job = self._store.read(job_id)
        current = False
        for _ in range(ROUNDS):
            try:
                if job is None:
                    raise JobNotFoundError(job_id)
                change = decide(job)
            except JobRetryError:
                if current:
                    raise
                change = None
            if change is None:
                if job is not None and current:
                    return job
                job, current = self._store.read(job_id, consistent=True), True
                continue
            try:
                after = self._store.apply(change)
            except ChangedError as changed:
                job, current = changed.job, changed.job is not None
                continue
            self._observe(action, after)
            return after
        raise StoreBusyError(TOO_BUSY)

    def _observe(self, action: Action, job: Job) -> None:
        """Tell of a write, and free the key of a job that ended by it."""
        self._observer(action, job)
        if job.unique is not None and has_ended(job) and action is not Action.DELETE:
            with suppress(StoreError):  # it is then written over by whoever wants it
                self._store.free_key(job.unique, self._clock())
