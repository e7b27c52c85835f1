"""The claim: what is asked for and what it brought, and what a process remembers between claims."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from job_retry.contention import Contention
from job_retry.job import Job, Status
from job_retry.lanes import Partition, QueueRecord
from job_retry.looks import Looks
from job_retry.patience import MAX_SECONDS, Patience
from job_retry.store import JobStore, Row
from job_retry.taking import Taking

MAX_RETRY_AFTER_SECONDS = MAX_SECONDS
_RETRY_AFTER_CONFLICTS_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """Who asks for which jobs.

    Attributes:
        queues: names, in order of preference.
        worker_id: who asks, for people to read.
        job_types: which types will do; empty for all.
        lease_seconds: in place of the job's own.
        max_jobs: how many at most.
    """

    queues: Sequence[str] = ("default",)
    worker_id: str | None = None
    job_types: frozenset[str] = frozenset()
    lease_seconds: int | None = None
    max_jobs: int = 1


@dataclass(slots=True)
class Taken:
    """What one look at the queues brought.

    Attributes:
        at: when it looked, milliseconds.
        jobs: claimed.
        next_due: when the next waiting job is due, if one was seen.
        conflicts: writes lost to other workers.
        rows: of the index that it read.
        gave_up: there were more due jobs, but others were always quicker.
        lanes_unseen: there are lanes that it did not look at, so jobs may be due in these.
        pause: seconds after which new jobs may have come.
    """

    at: int
    jobs: list[Job] = field(default_factory=list)
    next_due: int | None = None
    conflicts: int = 0
    rows: int = 0
    gave_up: bool = False
    lanes_unseen: bool = False
    pause: float = MAX_RETRY_AFTER_SECONDS

    @property
    def retry_after_seconds(self) -> float:
        """Say when to come back, in seconds: when something is due, at most 20."""
        if self.gave_up:
            return _RETRY_AFTER_CONFLICTS_SECONDS
        if self.next_due is None:
            return round(self.pause, 3)
        return round(min(max(self.next_due - self.at, 0) / 1000, self.pause), 3)


class Claimer:
    """Takes due jobs; remembers from claim to claim where they were and who else came."""

    def __init__(self, store: JobStore, random: Random) -> None:
        self._store = store
        self._random = random
        self._contention = Contention(random)
        self._looks = Looks(random)
        self._patience = Patience(random)
        self._partitions: dict[str, tuple[QueueRecord, list[Partition]]] = {}

    def take(
        self,
        request: ClaimRequest,
        queues: Sequence[QueueRecord],
        now: int,
        again: Sequence[Row] = (),
    ) -> Taken:
        """Claim due jobs of these queues, highest priority first, oldest first.

        Nothing due is hidden behind something that is not: each partition is looked at by
        itself, and read on past jobs of other types.

        Args:
            request: who asks for which jobs.
            queues: their records, in order of preference.
            now: milliseconds.
            again: jobs that were just queued again. Each is the first of its priority: it
                has waited before, and hardly anybody else has seen it there.

        Raises:
            StoreError: no answer, and no job to hand over either.
        """
        claim = Taking(
            self._store, self._random, self._contention, self._looks, request, Taken(now), again
        )
        for queue in queues:
            claim.take_from(self._partitions_of(queue))
            if claim.is_over() or claim.failure:
                break
        taken = claim.taken
        if taken.jobs:
            self._patience.found(request.queues, now)
            return taken
        if claim.failure is not None:
            raise claim.failure
        pause = self._patience.pause(
            request.queues, now, others_found=taken.conflicts > 0, due=taken.next_due
        )
        taken.pause = min(taken.pause, pause)
        return taken

    def _partitions_of(self, queue: QueueRecord) -> list[Partition]:
        """Return where a queue's waiting jobs are: as long as its record is the same, the same."""
        record, partitions = self._partitions.get(queue.name, (None, []))
        if record is not queue:
            partitions = queue.partitions(Status.QUEUED)
            self._partitions[queue.name] = (queue, partitions)
        return partitions
