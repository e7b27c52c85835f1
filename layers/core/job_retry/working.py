"""What a worker asks of the engine: a job, and then to settle it."""

from contextlib import suppress
from dataclasses import replace

from job_retry import decisions
from job_retry.claiming import ClaimRequest, Taken
from job_retry.deciding import Deciding
from job_retry.delivery import deliverable
from job_retry.errors import InvalidFieldError, JobRetryError
from job_retry.job import Job
from job_retry.transitions import Action


class Working(Deciding):
    """The verbs of workers."""

    def claim(self, request: ClaimRequest) -> Taken:
        """Lease due jobs to a worker, each with its payload and a fresh lease token.

        Before it says that there is nothing, it makes sure that no new priority was
        overlooked, and takes up leases that have expired. Now and then it begins with the
        latter: the jobs of a dead worker do not wait for an empty queue.
        """
        now = self._clock()
        records = [self._queues.get(name) for name in request.queues]
        first = self._expirer.overdue(records, now)
        again = self._expirer.expire_some(first, now)
        taken = self._claimer.take(request, records, now, again)
        if not taken.jobs:
            fresh = [self._queues.get(name, read_since=now) for name in request.queues]
            again = self._expirer.expire_some([each for each in fresh if each not in first], now)
            if again or fresh != records:
                taken = self._claimer.take(request, fresh, now, again)
        for job in taken.jobs:
            self._observe(Action.CLAIM, job)
        taken.jobs = deliverable(self._store, taken.jobs, self._give_back)
        return taken

    def _give_back(self, job: Job) -> None:
        with suppress(JobRetryError):  # at worst the lease ends by itself
            self.release(job.id, lease_token=job.lease_token)

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

    def _check_token(self, lease_token: str | None) -> None:
        if self._require_lease_token and lease_token is None:
            raise InvalidFieldError("lease_token", "is required here")
