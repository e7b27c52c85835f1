"""The queue as a program sees it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from job_retry_client import operations
from job_retry_client.batches import Batch, BatchError, send_all
from job_retry_client.connect import transport_of
from job_retry_client.errors import (
    JobNotFoundError,
    JobQueueError,
    NoAnswerError,
    QueueNotFoundError,
    TooCostlyError,
    WrongStatusError,
    error_of,
)
from job_retry_client.json_text import dump, dump_given, load_object
from job_retry_client.models import Claim, Failure, Job, NewJob, Page, TransactItems
from job_retry_client.retries import Retries, send
from job_retry_client.transports.base import (
    FlushTransport,
    Request,
    TransactTransport,
    is_header_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from job_retry_client.operations import Operation
    from job_retry_client.transports.base import Answer, Transport

_NO_CONTENT = 204
_REDIRECT = 300
_ERROR = 400
_SHOWN = 500
_KEPT_ERROR = 4096  # characters; the queue keeps as many bytes
_MOST_ENQUEUED = 100
_MOST_SETTLED = 25
_LONGEST_PAGE = 100


class JobQueue:
    """A job-retry queue; one object may serve all threads of a program.

    Args:
        transport: the way to reach it; `JobQueue.connect` finds one by an address.
        retries: how requests that are safe to repeat are repeated.
        repeat_enqueues: enqueue under a key, so that an enqueue whose answer was lost is safe to
            repeat, too. It costs 3 write units a job; without it such a loss is a
            `NoAnswerError`, and whether the job is there, only the queue knows.
    """

    def __init__(
        self, transport: Transport, *, retries: Retries | None = None, repeat_enqueues: bool = True
    ) -> None:
        self.transport = transport
        self._retries = retries or Retries()
        self._repeat_enqueues = repeat_enqueues

    @classmethod
    def connect(
        cls,
        address: str | None = None,
        *,
        token: str | Callable[[], str] | None = None,
        profile: str | None = None,
        region: str | None = None,
        retries: Retries | None = None,
        repeat_enqueues: bool = True,
    ) -> JobQueue:
        """Return the queue at an address.

        Args:
            address: ``https://…``, ``http://127.0.0.1:3000``, ``lambda:STACK`` or
                ``in-process:``; by default the environment's JOB_RETRY_URL.
            token: a bearer token, or a function that returns one; by default the environment's
                JOB_RETRY_TOKEN. Without one, https requests are signed with AWS credentials.
            profile: of the AWS configuration.
            region: of the queue, where neither address nor environment tell it.
            retries: as of `JobQueue`.
            repeat_enqueues: as of `JobQueue`.

        Raises:
            CredentialsError: the token cannot be one; of what a function returns, each request
                raises it.
            JobQueueError: no such way, or its credentials are missing.
        """
        transport = transport_of(address, token=token, profile=profile, region=region)
        return cls(transport, retries=retries, repeat_enqueues=repeat_enqueues)

    # -- those who have work to be done ------------------------------------------------

    def enqueue(  # noqa: PLR0913 - each is a field of NewJob
        self,
        job_type: str,
        payload: Any = None,
        *,
        queue: str | None = None,
        max_attempts: int | None = None,
        backoff_seconds: int | None = None,
        run_after: datetime | int | None = None,
        priority: int | None = None,
        lease_seconds: int | None = None,
        max_backoff_seconds: int | None = None,
        jitter: float | None = None,
        unique_key: str | None = None,
        unique_for_seconds: int | None = None,
        idempotency_key: str | None = None,
    ) -> Job:
        """Store a job and return it; or the one that its key stands for, a ``duplicate``.

        Args:
            job_type: as `NewJob` says, and so with all others.
            payload: any JSON value.
            queue: that it goes to.
            max_attempts: runs before it is dead.
            backoff_seconds: after the first failure.
            run_after: not before this moment.
            priority: 0 to 9, 9 first.
            lease_seconds: of a claim.
            max_backoff_seconds: no wait is longer.
            jitter: the share of a wait that is random.
            unique_key: of which one job may be queued or running.
            unique_for_seconds: or was enqueued in that time.
            idempotency_key: under which it is added once in 24 hours.

        Raises:
            AnswerError: the queue refused, as `InvalidRequestError` or `KeyConflictError` say.
            NoAnswerError: only the queue knows.
            TypeError, ValueError: the payload is no JSON value, a time has no time zone, or the
                idempotency key is not of printable ASCII characters.
        """
        new = NewJob(
            job_type,
            payload,
            queue,
            max_attempts,
            backoff_seconds,
            run_after,
            priority,
            lease_seconds,
            max_backoff_seconds,
            jitter,
            unique_key,
            unique_for_seconds,
        )
        key = self._key(idempotency_key)
        request = Request(operations.ENQUEUE, body=dump_given(vars(new)), idempotency_key=key)
        return Job.from_answer(self._ask(request, is_repeatable=key is not None))

    def enqueue_many(self, jobs: Iterable[NewJob]) -> list[Job]:
        """Store many jobs, a hundred in a request, and return them in order.

        Raises:
            BatchError: some were not stored; its ``outcomes`` tell which, and why.
            TypeError, ValueError: as of `enqueue`; none was stored.
        """
        members = [vars(new) | {"idempotency_key": self._key(new.idempotency_key)} for new in jobs]
        is_repeatable = all(each["idempotency_key"] is not None for each in members)
        batch = self._batch(operations.ENQUEUE_MANY, _MOST_ENQUEUED, is_repeatable=is_repeatable)
        outcomes = send_all(batch, [dump_given(each) for each in members])
        stored = [each for each in outcomes if isinstance(each, Job)]
        if len(stored) < len(outcomes):
            raise BatchError(outcomes)
        return stored

    def transact_item(self, new: NewJob) -> TransactItems:
        """Return the writes that store a job, for a transaction of the caller's own.

        Put its ``entries`` among the ``TransactItems`` of ``transact_write_items`` of a DynamoDB
        client: the caller's rows and the job are stored together, or not at all. It is to be
        sent within seconds. A `unique_key` that another job holds cancels the transaction.

        Args:
            new: the job; an ``idempotency_key`` makes no sense here.

        Raises:
            JobQueueError: the queue is not reached ``in-process:``.
            InvalidRequestError: the job is not acceptable.
        """
        if not isinstance(self.transport, TransactTransport):
            raise JobQueueError("a job in a transaction takes the in-process: transport")
        return self.transport.transact(dump_given(vars(new)))

    def cancel(self, job: Job | int) -> Job:
        """Take a job that is queued out for good, and return it.

        Raises:
            JobNotFoundError, WrongStatusError: nothing was changed.
        """
        request = Request(operations.CANCEL, _path(job))
        answer, maybe_done = self._send(request, is_repeatable=True)
        try:
            return Job.from_answer(_read(answer))
        except WrongStatusError as error:
            if maybe_done and error.job_status == "cancelled":
                return self.get(job)
            raise

    # -- workers -----------------------------------------------------------------------

    def claim(
        self,
        queues: str | Sequence[str] = "default",
        *,
        worker_id: str | None = None,
        job_types: Sequence[str] | None = None,
        lease_seconds: int | None = None,
        max_jobs: int = 1,
    ) -> Claim:
        """Lease due jobs.

        Args:
            queues: one, or several in order of preference.
            worker_id: who claims, for people to see.
            job_types: to take no others.
            lease_seconds: how long; by default what the job or its queue says.
            max_jobs: to 25.

        Returns:
            The jobs with their lease tokens, or when to ask again.
        """
        named = [queues] if isinstance(queues, str) else list(queues)
        body = {
            "queues": named,
            "worker_id": worker_id,
            "job_types": None if job_types is None else list(job_types),
            "lease_seconds": lease_seconds,
            "max_jobs": max_jobs,
        }
        # a claim whose answer was lost is a lease that ends by itself
        answer = self._ask(Request(operations.CLAIM, body=dump_given(body)), is_repeatable=True)
        jobs = tuple(Job.from_answer(each) for each in answer["jobs"])
        return Claim(
            jobs,
            answer.get("retry_after_seconds"),
            lanes_unseen=answer.get("lanes_unseen") is True,
        )

    def complete(
        self, job: Job | int, result: Any = None, *, lease_token: str | None = None
    ) -> Job:
        """End a claimed job, and return it.

        Args:
            job: as the claim returned it, or its id.
            result: any JSON value.
            lease_token: of the claim, where ``job`` is an id.

        Raises:
            LeaseLostError, WrongStatusError, JobNotFoundError: nothing was changed.
            TypeError, ValueError: the result is no JSON value.
        """
        token = _token(job, lease_token)
        return self._settle(operations.COMPLETE, job, token, {"result": result})

    def fail(
        self,
        job: Job | int,
        error: str,
        *,
        lease_token: str | None = None,
        retry_in_seconds: int | None = None,
        retry: bool = True,
    ) -> Job:
        """End a run that failed, and return the job: queued again, or dead.

        Args:
            job: as the claim returned it, or its id.
            error: why; the first 4 KB are kept.
            lease_token: of the claim, where ``job`` is an id.
            retry_in_seconds: the wait, in place of the job's backoff.
            retry: False for straight to the dead letters.

        Raises:
            LeaseLostError, WrongStatusError, JobNotFoundError: nothing was changed.
        """
        members = {
            "error": _beginning(error),
            "retry_in_seconds": retry_in_seconds,
            "retry": retry,
        }
        return self._settle(operations.FAIL, job, _token(job, lease_token), members)

    def heartbeat(
        self,
        job: Job | int,
        *,
        lease_token: str | None = None,
        lease_seconds: int | None = None,
        progress: Any = None,
    ) -> Job:
        """Renew a lease, and return the job.

        Args:
            job: as the claim returned it, or its id.
            lease_token: of the claim, where ``job`` is an id.
            lease_seconds: how long from now; by default as long as the claim.
            progress: any JSON value to 1 KB, for people to see.

        Raises:
            LeaseLostError, WrongStatusError, JobNotFoundError: nothing was changed.
        """
        members = {"lease_seconds": lease_seconds, "progress": progress}
        return self._settle(operations.HEARTBEAT, job, _token(job, lease_token), members)

    def release(
        self,
        job: Job | int,
        *,
        lease_token: str | None = None,
        run_after: datetime | int | None = None,
        delay_seconds: int | None = None,
    ) -> Job:
        """Give a claimed job back, which costs it no attempt, and return it.

        Args:
            job: as the claim returned it, or its id.
            lease_token: of the claim, where ``job`` is an id.
            run_after: when it is due again; by default now.
            delay_seconds: the same, from now.

        Raises:
            LeaseLostError, WrongStatusError, JobNotFoundError: nothing was changed.
        """
        members = {"run_after": run_after, "delay_seconds": delay_seconds}
        return self._settle(operations.RELEASE, job, _token(job, lease_token), members)

    def complete_many(self, jobs: Iterable[tuple[Job, Any]]) -> list[Job | JobQueueError]:
        """End many claimed jobs with their results, 25 in a request.

        Returns:
            The job or the error of each, in order.

        Raises:
            TypeError, ValueError: a result is no JSON value; nothing was changed.
        """
        settled = [(job, {"result": result}) for job, result in jobs]
        return self._settle_many(operations.COMPLETE_MANY, settled)

    def fail_many(self, jobs: Iterable[tuple[Job, Failure]]) -> list[Job | JobQueueError]:
        """End many runs that failed, 25 in a request.

        Returns:
            The job or the error of each, in order.
        """
        settled = [
            (job, {**vars(failure), "error": _beginning(failure.error)}) for job, failure in jobs
        ]
        return self._settle_many(operations.FAIL_MANY, settled)

    def _settle_many(
        self, operation: Operation, settled: Sequence[tuple[Job, Mapping[str, Any]]]
    ) -> list[Job | JobQueueError]:
        bodies = [
            dump_given({"id": job.id, "lease_token": job.lease_token, **members})
            for job, members in settled
        ]
        is_repeatable = all(job.lease_token is not None for job, _ in settled)
        return send_all(self._batch(operation, _MOST_SETTLED, is_repeatable=is_repeatable), bodies)

    # -- people ------------------------------------------------------------------------

    def get(self, job: Job | int) -> Job:
        """Return a job with its payload, result and history.

        Raises:
            JobNotFoundError: there is none.
        """
        return Job.from_answer(self._ask(Request(operations.GET, _path(job)), is_repeatable=True))

    def dead_letters(
        self,
        *,
        queue: str | None = None,
        job_type: str | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        order: str | None = None,
    ) -> Page:
        """Return a page of dead jobs, those that died last first; as `list`."""
        query = {"queue": queue, "job_type": job_type, "cursor": cursor, "order": order}
        return self._page(operations.DEAD_LETTERS, query, per_page)

    def requeue(self, job: Job | int, *, run_after: datetime | int | None = None) -> Job:
        """Give a dead job all its attempts again, and return it.

        Raises:
            JobNotFoundError, WrongStatusError: nothing was changed.
            KeyConflictError: nor here; another job has taken its unique key.
            NoAnswerError: only the queue knows; look at the job.
        """
        body = dump_given({"run_after": run_after})
        request = Request(operations.REQUEUE, _path(job), body=body)
        # not repeated: it may have run and died again meanwhile
        return Job.from_answer(self._ask(request, is_repeatable=False))

    def delete(self, job: Job | int) -> None:
        """Drop an ended job and all that belongs to it.

        Raises:
            JobNotFoundError, WrongStatusError: nothing was changed.
        """
        answer, maybe_done = self._send(Request(operations.DELETE, _path(job)), is_repeatable=True)
        try:
            _read(answer)
        except JobNotFoundError:
            if not maybe_done:
                raise

    def queue(self, name: str) -> Mapping[str, Any]:
        """Return a queue's settings, as the API shows them.

        Raises:
            QueueNotFoundError: it never had a job, nor settings.
        """
        return self._ask_queue(Request(operations.GET_QUEUE, {"queue": name}))

    def set_queue(self, name: str, **settings: int | None) -> Mapping[str, Any]:
        """Change a queue's settings, and return them; in force within 15 seconds.

        Args:
            name: of the queue.
            settings: ``lanes``, ``lease_seconds``, ``max_attempts``, ``backoff_seconds``; what is
                left out stays, and None is the API's default again.
        """
        return self._ask_queue(Request(operations.SET_QUEUE, {"queue": name}, body=dump(settings)))

    def walk(
        self,
        *,
        status: str | None = None,
        queue: str | None = None,
        job_type: str | None = None,
        order: str | None = None,
    ) -> Iterator[Job]:
        """Yield all jobs that `list` has, page by page, however many reads it takes."""
        cursor = None
        while True:
            try:
                page = self.list(
                    status=status,
                    queue=queue,
                    job_type=job_type,
                    order=order,
                    cursor=cursor,
                    per_page=_LONGEST_PAGE,
                )
            except TooCostlyError as error:
                page = _page_of(error.problem)
                if page.next_cursor is None:
                    raise
            yield from page.jobs
            cursor = page.next_cursor
            if cursor is None:
                return

    def flush(self) -> None:
        """Write what the way to the queue has gathered, such as metrics, before a pause."""
        if isinstance(self.transport, FlushTransport):
            self.transport.flush()

    def list(
        self,
        *,
        status: str | None = None,
        queue: str | None = None,
        job_type: str | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        order: str | None = None,
    ) -> Page:
        """Return a page of jobs.

        Args:
            status: queued, running, completed, dead or cancelled; all if left out.
            queue: of one queue only.
            job_type: of one type only.
            per_page: to 100.
            cursor: ``next_cursor`` of the page before.
            order: ``desc`` for the latest `run_after` first, or ``asc``.

        Raises:
            TooCostlyError: it would take over 10,000 reads; `walk` goes on all the same.
        """
        query = {
            "status": status,
            "queue": queue,
            "job_type": job_type,
            "cursor": cursor,
            "order": order,
        }
        return self._page(operations.LIST, query, per_page)

    # ----------------------------------------------------------------------------------

    def _key(self, given: str | None) -> str | None:
        if given is None:
            return str(uuid.uuid4()) if self._repeat_enqueues else None
        # of a batch as well: one key is to be the same everywhere
        if not is_header_text(given):
            raise ValueError("an idempotency key is a header: printable ASCII, no blanks around")
        return given

    def _settle(
        self, operation: Operation, job: Job | int, token: str | None, members: dict[str, Any]
    ) -> Job:
        body = dump_given({**members, "lease_token": token})
        # Without a token, doing it again could settle the run of another worker.
        request = Request(operation, _path(job), body=body)
        return Job.from_answer(self._ask(request, is_repeatable=token is not None))

    def _page(
        self, operation: Operation, query: dict[str, str | None], per_page: int | None
    ) -> Page:
        given = {name: value for name, value in query.items() if value is not None}
        if per_page is not None:
            given["per_page"] = str(per_page)
        return _page_of(self._ask(Request(operation, query=given), is_repeatable=True))

    def _batch(self, operation: Operation, most: int, *, is_repeatable: bool) -> Batch:
        def ask(jobs: Sequence[str]) -> Sequence[Mapping[str, Any]]:
            request = Request(operation, body=f'{{"jobs":[{",".join(jobs)}]}}')
            results: Sequence[Mapping[str, Any]]
            results = self._ask(request, is_repeatable=is_repeatable)["results"]
            return results

        return Batch(ask, most, self._retries, is_repeatable)

    def _ask_queue(self, request: Request) -> Mapping[str, Any]:
        try:
            return self._ask(request, is_repeatable=True)
        except JobNotFoundError as error:
            raise QueueNotFoundError(error.status, error.problem) from None

    def _ask(self, request: Request, *, is_repeatable: bool) -> dict[str, Any]:
        return _read(self._send(request, is_repeatable=is_repeatable)[0])

    def _send(self, request: Request, *, is_repeatable: bool) -> tuple[Answer, bool]:
        return send(self.transport, request, self._retries, is_repeatable=is_repeatable)


def _read(answer: Answer) -> dict[str, Any]:
    content = load_object(answer.body)
    if answer.status >= _ERROR:
        problem = {"detail": answer.body[:_SHOWN]} if content is None else content
        raise error_of(answer.status, problem, answer.retry_after_seconds)
    if answer.status == _NO_CONTENT:
        return {}
    if content is None or answer.status >= _REDIRECT:
        shown = f"HTTP status {answer.status}, {answer.body[:_SHOWN]!r}"
        raise NoAnswerError(f"another did, with {shown}; is the address right?", was_sent=True)
    return content


def _page_of(answer: Mapping[str, Any]) -> Page:
    jobs = tuple(Job.from_answer(each) for each in answer["items"])
    return Page(jobs, answer.get("next_cursor"), answer.get("next_page"))


def _path(job: Job | int) -> dict[str, str]:
    return {"job_id": str(job.id if isinstance(job, Job) else job)}


def _token(job: Job | int, lease_token: str | None) -> str | None:
    if lease_token is None and isinstance(job, Job):
        return job.lease_token
    return lease_token


def _beginning(error: str) -> str:
    return error[:_KEPT_ERROR]
