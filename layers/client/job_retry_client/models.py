"""What the queue answers, as Python objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class Attempt:
    """A run of a job that failed or whose lease ended."""

    attempt: int
    worker_id: str | None
    started_at: datetime
    ended_at: datetime
    error: str


@dataclass(frozen=True)
class Job:
    """A job as the queue showed it.

    Attributes:
        payload: any JSON value; None also where a list left a large one out, and then
            ``answer["payload_bytes"]`` is its size. So too with ``result``.
        run_after: not before this moment will anything happen to the job by itself.
        lease_token: of the claim that brought it; None in every other answer.
        duplicate: an enqueue brought it, and it was there before; perhaps by the enqueue's own
            earlier attempt, whose answer was lost.
        history: of a job that was asked for by its id, oldest first.
        answer: all that the queue said, as JSON has it.
    """

    id: int
    queue: str
    job_type: str
    status: str
    priority: int
    payload: Any = field(repr=False)
    attempts: int
    max_attempts: int
    backoff_seconds: int
    max_backoff_seconds: int | None
    jitter: float | None
    lease_seconds: int
    run_after: datetime
    created_at: datetime
    updated_at: datetime
    claimed_at: datetime | None
    claimed_by: str | None
    lease_expires_at: datetime | None
    last_attempted_at: datetime | None
    last_error: str | None
    progress: Any
    result: Any = field(repr=False)
    completed_at: datetime | None
    died_at: datetime | None
    cancelled_at: datetime | None
    unique_key: str | None
    lease_token: str | None = field(repr=False)
    duplicate: bool
    history: tuple[Attempt, ...] = field(repr=False)
    answer: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Job:
        """Read a job of an answer."""
        get = answer.get
        return cls(
            id=answer["id"],
            queue=answer["queue"],
            job_type=answer["job_type"],
            status=answer["status"],
            priority=answer["priority"],
            payload=get("payload"),
            attempts=answer["attempts"],
            max_attempts=answer["max_attempts"],
            backoff_seconds=answer["backoff_seconds"],
            max_backoff_seconds=get("max_backoff_seconds"),
            jitter=get("jitter"),
            lease_seconds=answer["lease_seconds"],
            run_after=_moment(answer["run_after"]),
            created_at=_moment(answer["created_at"]),
            updated_at=_moment(answer["updated_at"]),
            claimed_at=_moment_or_none(get("claimed_at")),
            claimed_by=get("claimed_by"),
            lease_expires_at=_moment_or_none(get("lease_expires_at")),
            last_attempted_at=_moment_or_none(get("last_attempted_at")),
            last_error=get("last_error"),
            progress=get("progress"),
            result=get("result"),
            completed_at=_moment_or_none(get("completed_at")),
            died_at=_moment_or_none(get("died_at")),
            cancelled_at=_moment_or_none(get("cancelled_at")),
            unique_key=get("unique_key"),
            lease_token=get("lease_token"),
            duplicate=bool(get("duplicate")),
            history=tuple(_attempt(each) for each in get("history") or ()),
            answer=answer,
        )


@dataclass(frozen=True)
class NewJob:
    """A job to be enqueued; what is None is the queue's default.

    Attributes:
        job_type: says which handler works on it.
        payload: any JSON value, to 256 KB.
        queue: that it goes to.
        max_attempts: runs before it is dead; 5 unless the queue says otherwise.
        backoff_seconds: the wait after the first failure, doubled by each further one.
        run_after: not before this moment (with a time zone), or integer milliseconds since 1970.
        priority: 0 to 9, 9 first.
        lease_seconds: how long a claim holds it.
        max_backoff_seconds: no wait is longer.
        jitter: the share of a wait, 0 to 1, that is random.
        unique_key: while a job with it is queued or running, this one is not added.
        unique_for_seconds: and for so long from the first enqueue.
        idempotency_key: for 24 hours, this job is added once under it; drawn by the client
            where there is none.
    """

    job_type: str
    payload: Any = None
    queue: str | None = None
    max_attempts: int | None = None
    backoff_seconds: int | None = None
    run_after: datetime | int | None = None
    priority: int | None = None
    lease_seconds: int | None = None
    max_backoff_seconds: int | None = None
    jitter: float | None = None
    unique_key: str | None = None
    unique_for_seconds: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True)
class Failure:
    """Why a run failed, and what is to become of the job; as `JobQueue.fail` has it."""

    error: str
    retry_in_seconds: int | None = None
    retry: bool = True


@dataclass(frozen=True)
class Claim:
    """What a claim brought; true if that is anything.

    Attributes:
        jobs: leased to the caller, each with its lease token.
        retry_after_seconds: when to ask again, where there was nothing.
        lanes_unseen: there was nothing, but the queue has many lanes, and in those that this
            claim did not look at jobs may be due.
    """

    jobs: tuple[Job, ...]
    retry_after_seconds: float | None
    lanes_unseen: bool = False

    @property
    def job(self) -> Job | None:
        """The first, or None."""
        return self.jobs[0] if self.jobs else None

    def __bool__(self) -> bool:
        return bool(self.jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)

    def __len__(self) -> int:
        return len(self.jobs)


@dataclass(frozen=True)
class Page:
    """A page of a list.

    Attributes:
        jobs: latest ``run_after`` first, unless asked for otherwise.
        next_cursor: where the next page begins; None on the last.
        next_page: its number, where pages are counted.
    """

    jobs: tuple[Job, ...]
    next_cursor: str | None
    next_page: int | None

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)

    def __len__(self) -> int:
        return len(self.jobs)


@dataclass(frozen=True)
class TransactItems:
    """A job that is stored by a transaction of the caller's.

    Attributes:
        job: as it will stand.
        entries: for the ``TransactItems`` of ``transact_write_items``, one to three of them.
    """

    job: Job
    entries: tuple[Mapping[str, Any], ...]


def _attempt(answer: Mapping[str, Any]) -> Attempt:
    return Attempt(
        attempt=answer["attempt"],
        worker_id=answer["worker_id"],
        started_at=_moment(answer["started_at"]),
        ended_at=_moment(answer["ended_at"]),
        error=answer["error"],
    )


def _moment(text: str) -> datetime:
    # Python 3.10 does not read the Z
    return datetime.fromisoformat(text.removesuffix("Z") + "+00:00")


def _moment_or_none(text: str | None) -> datetime | None:
    return None if text is None else _moment(text)
