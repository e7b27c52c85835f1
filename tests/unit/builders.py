"""What the unit tests build from: a clock that stands still, jobs, queues, odd stores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

from job_retry import ids
from job_retry.claiming import ClaimRequest
from job_retry.decisions import DEFAULT_LEASE_SECONDS
from job_retry.engine import Engine
from job_retry.job import Document, Job, NewJob, Status
from job_retry.memory import MemoryStore
from job_retry.store import ChangedError

if TYPE_CHECKING:
    from job_retry.job import Attempt
    from job_retry.store import JobStore, Row
    from job_retry.transitions import Action

T0 = 1_893_456_000_000
"""2030-01-01T00:00:00Z, when every test begins."""

SECOND = 1000
LEASE_MS = DEFAULT_LEASE_SECONDS * SECOND


@dataclass
class FakeClock:
    """A clock that a test moves."""

    now: int = T0

    def __call__(self) -> int:
        """Return the moment it stands at."""
        return self.now

    def advance(self, *, seconds: float = 0, ms: int = 0) -> None:
        """Move it forward."""
        self.now += round(seconds * SECOND) + ms


@dataclass
class Queue:
    """An engine on a store, with the clock that drives it and what its observer was told."""

    store: JobStore = field(default_factory=MemoryStore)
    clock: FakeClock = field(default_factory=FakeClock)
    random: Random = field(default_factory=lambda: Random(1))
    require_lease_token: bool = False
    seen: list[tuple[Action, Job]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Put the engine together."""
        self.engine = Engine(
            self.store,
            clock=self.clock,
            random=self.random,
            require_lease_token=self.require_lease_token,
            observer=lambda action, job: self.seen.append((action, job)),
        )

    def enqueue(self, job_type: str = "mail", **more: Any) -> Job:
        """Enqueue a job, of one type unless it matters."""
        return self.engine.enqueue(NewJob(job_type=job_type, **more))

    def claim(self, *queues: str, **more: Any) -> list[Job]:
        """Claim jobs, of the default queue unless others are named."""
        return self.engine.claim(ClaimRequest(queues=queues or ("default",), **more)).jobs

    def claim_one(self, **more: Any) -> Job:
        """Claim the one job there is."""
        (job,) = self.claim(**more)
        return job

    def stored(self, job_id: int) -> tuple[Job, list[Attempt]] | None:
        """Return all that is kept of a job."""
        return self.store.read_whole(job_id)

    def record(self, job_id: int) -> Job:
        """Return a job as it stands, with its documents."""
        found = self.store.read_whole(job_id)
        assert found is not None
        return found[0]

    def history(self, job_id: int) -> list[Attempt]:
        """Return a job's failed attempts."""
        found = self.store.read_whole(job_id)
        assert found is not None
        return found[1]

    def in_state(self, status: Status, **more: Any) -> Job:
        """Bring a new job into a state by the queue's own verbs."""
        job = self.enqueue(**more)
        if status is Status.CANCELLED:
            return self.engine.cancel(job.id)
        if status is Status.QUEUED:
            return job
        self.claim_one(worker_id="worker-1")
        match status:
            case Status.COMPLETED:
                self.engine.complete(job.id, result='{"ok":true}')
            case Status.DEAD:
                self.engine.fail(job.id, error="boom", retry=False)
        return self.record(job.id)


def run_some(queue: Queue, count: int, /, *, lease_seconds: int = 10, **more: Any) -> list[int]:
    """Enqueue jobs and claim them all."""
    jobs = [queue.enqueue(**more) for _ in range(count)]
    name = str(more.get("queue", "default"))
    while queue.claim(name, max_jobs=10, lease_seconds=lease_seconds):
        pass
    return [job.id for job in jobs]


def a_job(status: Status = Status.QUEUED, **more: Any) -> Job:
    """Return a job as the decisions take it."""
    waiting = Job(
        id=ids.new_id(T0, Random(7)),
        queue="default",
        job_type="mail",
        status=status,
        priority=0,
        lane=0,
        payload=Document(4, "null"),
        attempts=0,
        max_attempts=5,
        backoff_seconds=30,
        lease_seconds=900,
        run_after=T0,
        updated_at=T0,
        enqueue_token="enqueue-token",
    )
    return replace(waiting, **more)


def a_running_job(**more: Any) -> Job:
    """Return a job under its first lease."""
    running: dict[str, Any] = {
        "status": Status.RUNNING,
        "attempts": 1,
        "lease_token": "tok",
        "claimed_by": "worker-1",
        "run_lease_seconds": 900,
        "last_attempted_at": T0,
        "run_after": T0 + LEASE_MS,
    }
    return a_job(**(running | more))


class ContendedStore(MemoryStore):
    """A store in which another worker takes chosen jobs a moment before we do.

    Attributes:
        theirs: the jobs that are lost to the other; None for all of them.
        tried: the jobs we tried to claim, in order.
    """

    def __init__(self, theirs: set[int] | None = None) -> None:
        super().__init__()
        self.theirs = theirs
        self.tried: list[int] = []

    def claim(
        self,
        row: Row,
        *,
        lease_token: str,
        worker_id: str | None,
        lease_seconds: int | None,
        now: int,
    ) -> Job:
        """Claim for the other worker first, where the job is theirs."""
        self.tried.append(row.id)
        if self.theirs is None or row.id in self.theirs:
            super().claim(row, lease_token="theirs", worker_id="other", lease_seconds=None, now=now)
        return super().claim(
            row, lease_token=lease_token, worker_id=worker_id, lease_seconds=lease_seconds, now=now
        )


class LaggingStore(MemoryStore):
    """A store whose cheap reads show the records of a moment that a test chose."""

    def __init__(self) -> None:
        super().__init__()
        self._old: dict[int, Job] | None = None

    def lag_from_here(self) -> None:
        """Show the records as they are now to every cheap read to come."""
        self._old = dict(self._jobs)

    def read(self, job_id: int, *, consistent: bool = False) -> Job | None:
        """Return the record as it is, or as it was."""
        if consistent or self._old is None:
            return super().read(job_id, consistent=consistent)
        return self._old.get(job_id)


class RestlessStore(MemoryStore):
    """A store in which another always changes the job between our read and our write."""

    def apply(self, change: Any) -> Job:
        """Never write."""
        raise ChangedError(self.read(change.before.id))

    def delete(self, change: Any) -> None:
        """Never delete."""
        raise ChangedError(self.read(change.before.id))
