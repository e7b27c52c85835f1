"""What the queue can do: each verb decides purely, then writes once.

An engine is given its store, its clock and its source of chance, and keeps nothing but a
short memory of the queues' records.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import NamedTuple

from job_retry import decisions, ids
from job_retry.claiming import Claimer, ClaimRequest, Taken
from job_retry.clock import Clock
from job_retry.decisions import Change
from job_retry.delivery import deliverable
from job_retry.errors import (
    InvalidFieldError,
    JobNotFoundError,
    JobRetryError,
    KeyReusedError,
    KeyTakenByOtherError,
    QueueNotFoundError,
    StoreBusyError,
    StoreError,
)
from job_retry.expiry import Expirer
from job_retry.job import Attempt, Job, KeyRecord, NewJob
from job_retry.lanes import QueueRecord
from job_retry.listing import ListAnswer, ListRequest, list_jobs
from job_retry.queues import QueueDirectory
from job_retry.store import ChangedError, IdTakenError, JobStore, KeyTakenError, Observer
from job_retry.transitions import Action
from job_retry.unique import content_of, has_ended, is_held, new_keys

_YOUNG_MS = 60_000
_ROUNDS = 10  # decisions on one request before the job is called too busy


class Enqueued(NamedTuple):
    """What became of an enqueue.

    Attributes:
        job: the new one, or the one that the key stands for.
        is_duplicate: whether it was there already.
    """

    job: Job
    is_duplicate: bool = False


class Engine:
    """The queue."""

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

    # -- enqueue and look --------------------------------------------------------------

    def enqueue(self, new: NewJob) -> Job:
        """Store a new job and return it, or the one that its key stands for."""
        return self.enqueue_once(new).job

    def enqueue_once(self, new: NewJob) -> Enqueued:
        """Store a new job, unless a key that it comes with stands for another.

        Raises:
            KeyReusedError: the key stands for a job that was asked to do something else.
        """
        record = self._queues.ensure(new.queue, new.priority)
        seen: dict[str, KeyRecord] = {}
        for _ in range(_ROUNDS):
            now = self._clock()
            job = decisions.enqueue(
                new,
                record,
                job_id=ids.new_id(now, self._random),
                lane=self._random.randrange(record.lanes_write(now)),
                enqueue_token=f"{self._random.getrandbits(64):016x}",
                now=now,
            )
            try:
                self._store.add(job, new_keys(new, job.id, now, seen))
            except IdTakenError:
                continue
            except KeyTakenError as taken:
                for key in taken.records:
                    holder = self._store.read(key.job_id, consistent=True)
                    if is_held(key, holder, now):
                        return Enqueued(_same_request(new, key, holder), is_duplicate=True)
                    seen[key.key] = key
                continue
            self._observe(Action.ENQUEUE, job)
            self._queues.count(record)
            return Enqueued(job)
        raise StoreBusyError(_TOO_BUSY)

    def get(self, job_id: int) -> tuple[Job, list[Attempt]]:
        """Return a job with payload, result and history.

        Raises:
            JobNotFoundError: there is none.
        """
        found = self._store.read_whole(job_id)
        if found is None:
            raise JobNotFoundError(job_id)
        return found

    def list_jobs(self, request: ListRequest) -> ListAnswer:
        """Return a page of jobs.

        Raises:
            InvalidFieldError: a junk cursor.
            TooCostlyError: it would take over 10,000 reads.
        """
        if request.queue is None:
            return list_jobs(self._store, request, self._queues.all())
        return list_jobs(
            self._store, request, [self._queues.get(request.queue, read_since=self._clock())]
        )

    # -- claim -------------------------------------------------------------------------

    def claim(self, request: ClaimRequest) -> Taken:
        """Lease due jobs to a worker, each with its payload and a fresh lease token.

        Before it says that there is nothing, it makes sure that no new priority was
        overlooked, and takes up leases that have expired.
        """
        now = self._clock()
        records = [self._queues.get(name) for name in request.queues]
        taken = self._claimer.take(request, records, now)
        if not taken.jobs:
            fresh = [self._queues.get(name, read_since=now) for name in request.queues]
            if self._expirer.expire_some(fresh, now) or fresh != records:
                taken = self._claimer.take(request, fresh, now)
        for job in taken.jobs:
            self._observe(Action.CLAIM, job)
        taken.jobs = deliverable(self._store, taken.jobs, self._give_back)
        return taken

    def _give_back(self, job: Job) -> None:
        with suppress(JobRetryError):  # at worst the lease ends by itself
            self.release(job.id, lease_token=job.lease_token)

    # -- what the holder of a lease does -----------------------------------------------

    def heartbeat(
        self,
        job_id: int,
        *,
        lease_token: str | None = None,
        lease_seconds: int | None = None,
        progress: str | None = None,
    ) -> Job:
        """Renew a lease; see `decisions.heartbeat`.

        Raises:
            JobNotFoundError, WrongStatusError, LeaseLostError: nothing was changed.
        """
        self._check_token(lease_token)
        now = self._clock()
        return self._decide(
            Action.HEARTBEAT,
            job_id,
            lambda job: decisions.heartbeat(
                job,
                lease_token=lease_token,
                lease_seconds=lease_seconds,
                progress=progress,
                now=now,
            ),
        )

    def complete(self, job_id: int, *, lease_token: str | None = None, result: str = "null") -> Job:
        """End a job with its result, JSON text; asked again, the same answer.

        Raises:
            JobNotFoundError, WrongStatusError, LeaseLostError: nothing was changed.
        """
        self._check_token(lease_token)
        now = self._clock()
        return self._decide(
            Action.COMPLETE,
            job_id,
            lambda job: decisions.complete(job, lease_token=lease_token, result=result, now=now),
        )

    def fail(
        self,
        job_id: int,
        *,
        error: str,
        lease_token: str | None = None,
        retry_in_seconds: int | None = None,
        retry: bool = True,
    ) -> Job:
        """End a run that failed: queued again after its backoff, or dead.

        Args:
            job_id: which job.
            error: why; cut at 4 KB.
            lease_token: of the claim.
            retry_in_seconds: the wait, in place of the formula.
            retry: False for straight to dead.

        Raises:
            JobNotFoundError, WrongStatusError, LeaseLostError: nothing was changed.
        """
        self._check_token(lease_token)
        now = self._clock()
        job = self._decide(
            Action.FAIL,
            job_id,
            lambda job: decisions.fail(
                job,
                lease_token=lease_token,
                error=error,
                retry_in_seconds=retry_in_seconds,
                retry=retry,
                now=now,
                random=self._random,
            ),
        )
        # written now or before, it is this error; the record has its beginning only
        return replace(job, last_error=decisions.cut_error(error, decisions.MAX_ERROR_BYTES))

    def release(
        self,
        job_id: int,
        *,
        lease_token: str | None = None,
        run_after: int | None = None,
        delay_seconds: int | None = None,
    ) -> Job:
        """Give a claimed job back unworked, due at once, then, or after a delay.

        Raises:
            JobNotFoundError, WrongStatusError, LeaseLostError: nothing was changed.
        """
        self._check_token(lease_token)
        now = self._clock()
        return self._decide(
            Action.RELEASE,
            job_id,
            lambda job: decisions.release(
                job,
                lease_token=lease_token,
                run_after=run_after,
                delay_seconds=delay_seconds,
                now=now,
            ),
        )

    # -- what a person does ------------------------------------------------------------

    def cancel(self, job_id: int) -> Job:
        """Take a waiting job out for good.

        Raises:
            JobNotFoundError, WrongStatusError: nothing was changed.
        """
        now, fingerprint = self._clock(), self._new_fingerprint()
        return self._decide(
            Action.CANCEL,
            job_id,
            lambda job: decisions.cancel(job, fingerprint=fingerprint, now=now),
        )

    def requeue(self, job_id: int, *, run_after: int | None = None) -> Job:
        """Give a dead job all its attempts again, and its unique key.

        Raises:
            JobNotFoundError, WrongStatusError: nothing was changed.
            KeyTakenByOtherError: nor here; another job holds the key.
        """
        now, fingerprint = self._clock(), self._new_fingerprint()
        seen: KeyRecord | None = None
        for _ in range(_ROUNDS):
            try:
                return self._decide(
                    Action.REQUEUE,
                    job_id,
                    lambda job, seen=seen: decisions.requeue(  # type: ignore[misc]
                        job,
                        run_after=run_after,
                        fingerprint=fingerprint,
                        now=now,
                        lane=self._lane_in_use(job, now),
                        key_seen=seen,
                    ),
                )
            except KeyTakenError as taken:
                for key in taken.records:
                    if key.job_id != job_id and is_held(
                        key, self._store.read(key.job_id, consistent=True), now
                    ):
                        raise KeyTakenByOtherError(job_id, key.job_id) from None
                    seen = key
        raise StoreBusyError(_TOO_BUSY)

    def delete(self, job_id: int) -> None:
        """Drop an ended job and all that belongs to it.

        Raises:
            JobNotFoundError, WrongStatusError: nothing was changed.
        """
        for _ in range(_ROUNDS):
            job = self._store.read(job_id, consistent=True)
            if job is None:
                self._finish_delete(job_id)
                return
            try:
                self._store.delete(decisions.delete(job))
            except ChangedError:
                continue
            self._observe(Action.DELETE, job)
            return
        raise StoreBusyError(_TOO_BUSY)

    def _finish_delete(self, job_id: int) -> None:
        """Remove what an earlier delete that broke off has left of a job."""
        # a very young job's payload may be there because its record is about to be
        is_young = ids.created_at(job_id) > self._clock() - _YOUNG_MS
        if is_young or not self._store.sweep(job_id):
            raise JobNotFoundError(job_id)

    def _lane_in_use(self, job: Job, now: int) -> int | None:
        """Return another lane for a job whose own is closed since the queue shrank."""
        lanes = self._queues.get(job.queue).lanes_write(now)
        return None if job.lane < lanes else self._random.randrange(lanes)

    # -- queues ------------------------------------------------------------------------

    def queue(self, name: str) -> QueueRecord:
        """Return a queue's record.

        Raises:
            QueueNotFoundError: it never had a job, nor settings.
        """
        record = self._store.queue(name)
        if record is None:
            raise QueueNotFoundError(name)
        return record

    def set_queue(
        self, name: str, change: Callable[[QueueRecord, int], QueueRecord]
    ) -> QueueRecord:
        """Change a queue's settings and return its record; everyone sees it in ten seconds.

        Args:
            name: of the queue.
            change: returns the record with other settings, given it and the time.
        """
        now = self._clock()
        return self._queues.change(name, lambda record: change(record, now))

    # -- by the clock ------------------------------------------------------------------

    def expire_leases(self, *, may_go_on: Callable[[], bool] = lambda: True) -> int:
        """Take up every lease that has ended, and return how many; see `Expirer`.

        Then bring the lanes of queues that shrank in order.
        """
        records = self._queues.all()
        expired = self._expirer.expire_all(records, self._clock(), may_go_on)
        for record in records:
            if record.lanes_ever > record.lanes and may_go_on():
                self._queues.settle_lanes(record)
        return expired

    # -- decide, then write once -------------------------------------------------------

    def _decide(self, action: Action, job_id: int, decide: Callable[[Job], Change | None]) -> Job:
        """Read, decide, write under the condition that what was read still holds.

        The first read is the cheap one. A decision to write is safe on a stale record:
        the condition fails, shows the job as it is, and the decision is made again. A
        decision not to write is not safe, whether it refuses or finds the request recorded
        already, and is made again on a consistent read.
        """
        job = self._store.read(job_id)
        current = False
        for _ in range(_ROUNDS):
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
        raise StoreBusyError(_TOO_BUSY)

    def _observe(self, action: Action, job: Job) -> None:
        """Tell of a write, and free the key of a job that ended by it."""
        self._observer(action, job)
        if job.unique is not None and has_ended(job) and action is not Action.DELETE:
            with suppress(StoreError):  # it is then written over by whoever wants it
                self._store.free_key(job.unique, self._clock())

    def _check_token(self, lease_token: str | None) -> None:
        if self._require_lease_token and lease_token is None:
            raise InvalidFieldError("lease_token", "is required here")

    def _new_fingerprint(self) -> str:
        return f"{self._random.getrandbits(96):024x}"


def _same_request(new: NewJob, key: KeyRecord, holder: Job | None) -> Job:
    """Return the job that a key stands for, if it is what is asked for again."""
    if key.content != content_of(new):
        raise KeyReusedError(key.job_id, "which has another job_type or payload")
    if holder is None:
        raise KeyReusedError(key.job_id, "which was deleted")
    return holder


_TOO_BUSY = "others keep changing this job"
