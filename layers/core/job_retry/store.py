"""What the engine asks of whatever keeps the jobs: one verb per write.

The conformance suite in ``tests/store`` holds every store to this.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from job_retry.decisions import Change
from job_retry.job import Attempt, Document, Job, KeyRecord
from job_retry.lanes import Partition, QueueRecord
from job_retry.transitions import Action
from job_retry.unique import KeyWrite


def partition_of(job: Job) -> Partition:
    """Return the index key that a job stands under."""
    return Partition(job.status, job.queue, job.priority, job.lane)


class Row(NamedTuple):
    """A job as the index shows it: perhaps a moment behind the record."""

    id: int
    job_type: str
    run_after: int
    partition: Partition


class Start(NamedTuple):
    """Where in a partition to begin.

    Attributes:
        run_after: rows from this moment on, in the direction of reading.
        inclusive: whether rows of exactly this moment count.
        after_id: begin behind this very row of that moment; ``inclusive`` is then moot.
    """

    run_after: int
    inclusive: bool = True
    after_id: int | None = None


class Page(NamedTuple):
    """Some rows of one partition, and whether the partition may have more."""

    rows: Sequence[Row]
    more: bool


Observer = Callable[[Action, Job], None]
"""Told of each write that happened: the action, and the job as it is then."""


class ChangedError(Exception):
    """A write's condition failed: the job is not what the write was decided on.

    Attributes:
        job: the job as it stands; None if there is none or it could not be seen.
    """

    def __init__(self, job: Job | None) -> None:
        super().__init__("the job changed in between")
        self.job = job


class IdTakenError(Exception):
    """Another job has this id; draw another."""


class KeyTakenError(Exception):
    """A unique key's record is not what the write expected; nothing was written.

    Attributes:
        records: those that stood in the way, as they are.
    """

    def __init__(self, records: Sequence[KeyRecord]) -> None:
        super().__init__("a unique key is taken")
        self.records = records


class JobStore(Protocol):
    """Keeps jobs. Every write names the state it expects; reads of rows may lag."""

    def add(self, job: Job, keys: Sequence[KeyWrite] = ()) -> None:
        """Store a new job and take its keys, or neither.

        Raises `IdTakenError`, `KeyTakenError`.
        """

    def read(self, job_id: int, *, consistent: bool = False) -> Job | None:
        """Return a job's record, without what stands apart from it.

        Args:
            job_id: which job.
            consistent: reflect every write that was answered before; costs twice as much.
        """

    def read_whole(self, job_id: int) -> tuple[Job, list[Attempt]] | None:
        """Return a job with payload and result, and its history, oldest first."""

    def read_many(self, job_ids: Sequence[int]) -> dict[int, Job]:
        """Return the records of those jobs that exist."""

    def read_document(self, job_id: int, document: Document) -> Document:
        """Return a document with its text."""

    def rows(
        self,
        partition: Partition,
        *,
        limit: int,
        newest_first: bool = False,
        start: Start | None = None,
    ) -> Page:
        """Return the first rows of a partition by run_after, at most ``limit``.

        Rows of one moment have an order of the store's own, the same in every reading,
        and reversed with ``newest_first``.
        """

    def claim(
        self,
        row: Row,
        *,
        lease_token: str,
        worker_id: str | None,
        lease_seconds: int | None,
        now: int,
    ) -> Job:
        """Lease a queued, due job in one conditional write. Raises `ChangedError`."""

    def apply(self, change: Change) -> Job:
        """Write a change if the job is still as decided on.

        Raises `ChangedError`, and `KeyTakenError` where the change takes a key.
        """

    def delete(self, change: Change) -> None:
        """Remove a job and all its parts under the same condition; gone already is as good.

        Raises `ChangedError`.
        """

    def sweep(self, job_id: int) -> bool:
        """Remove what an interrupted delete left behind; say whether there was anything."""

    def read_key(self, key: str) -> KeyRecord | None:
        """Return a key's record as it stands; None if nobody has taken it."""

    def take_key(self, write: KeyWrite) -> None:
        """Write a key's record without a job.

        Raises `KeyTakenError`.
        """

    def free_key(self, record: KeyRecord, now: int) -> None:
        """Remove a key's record, once its time is over, if it is still this job and turn's."""

    def queue(self, name: str) -> QueueRecord | None:
        """Return what is known of a queue; None if it never had a job."""

    def queues(self) -> list[QueueRecord]:
        """Return all queues, by name."""

    def register(self, name: str, priority: int) -> QueueRecord:
        """Note that a queue has jobs of a priority, before the first one is added."""

    def save_queue(self, record: QueueRecord) -> QueueRecord | None:
        """Write all of a queue's record but its priorities, as its next version.

        Returns:
            The record as it is then; None if the version is no longer this one's.
        """

    def count_enqueue(self, queue: str, minute: int) -> int:
        """Count a sampled enqueue of this minute, and return how many there are."""
