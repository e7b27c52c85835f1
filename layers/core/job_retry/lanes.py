"""A queue's record, and how the number of its lanes changes without a job going unseen.

A lane is a share of a queue with an index key of its own, since one key takes 1,000 write
units a second. Writers and readers remember a queue's record for ten seconds, so a change
comes in an order: to grow, first everyone reads the new lanes, then writers use them; to
shrink, first nobody writes the high lanes, then, once they are empty, nobody reads them.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from job_retry.job import Status

CACHE_MS = 10_000
"""How long a queue's record is taken as read."""

_SETTLE_MS = CACHE_MS + 5_000  # after which everyone has seen a change, clocks being what they are
MAX_LANES = 256
_JOBS_PER_SECOND = 200  # that a lane takes well; its ceiling is about 250
_SAMPLED = 100  # one enqueue in so many is counted
_LEAST_SECONDS = 10  # of a minute that a rate is judged by

SAMPLE_SHARE = 1 / _SAMPLED

_LIVE = (Status.QUEUED, Status.RUNNING)


class Partition(NamedTuple):
    """One key of the index: the jobs of one status, queue, priority and lane."""

    status: Status
    queue: str
    priority: int
    lane: int

    @property
    def key(self) -> str:
        """The index's hash key. Queue names have no ``#``, so no two partitions share one."""
        return f"{self.status}#{self.queue}#{self.priority}.{self.lane}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRecord:
    """What is known of a queue.

    Attributes:
        name: of the queue.
        priorities: that its jobs have had.
        lanes: that new jobs are spread over, from ``lanes_from`` on.
        lanes_before: that they are spread over until then.
        lanes_from: milliseconds.
        lanes_read: where queued and running jobs may be.
        lanes_ever: where ended jobs may be.
        lease_seconds: of jobs that name none; None for the API's default. So too the next.
        max_attempts: likewise.
        backoff_seconds: likewise.
        version: counts the changes of all but the priorities.
    """

    name: str
    priorities: frozenset[int] = field(default_factory=frozenset)
    lanes: int = 1
    lanes_before: int = 1
    lanes_from: int = 0
    lanes_read: int = 1
    lanes_ever: int = 1
    lease_seconds: int | None = None
    max_attempts: int | None = None
    backoff_seconds: int | None = None
    version: int = 0

    def lanes_write(self, now: int) -> int:
        """Return how many lanes new jobs are spread over."""
        return self.lanes if now >= self.lanes_from else min(self.lanes, self.lanes_before)

    def partitions(self, status: Status) -> list[Partition]:
        """Return the queue's partitions of a status, highest priority first."""
        lanes = self.lanes_read if status in _LIVE else self.lanes_ever
        return [
            Partition(status, self.name, priority, lane)
            for priority in sorted(self.priorities, reverse=True)
            for lane in range(lanes)
        ]

    def high_partitions(self) -> list[Partition]:
        """Return where jobs of a time with more lanes may still be queued or running."""
        return [
            Partition(status, self.name, priority, lane)
            for status in _LIVE
            for priority in sorted(self.priorities)
            for lane in range(self.lanes, self.lanes_ever)
        ]


def resized(record: QueueRecord, lanes: int, now: int) -> QueueRecord:
    """Return a record with another number of lanes, in the order that loses no job."""
    if lanes == record.lanes:
        return record
    written = record.lanes_write(now)  # fewer than record.lanes while it is still growing
    return replace(
        record,
        lanes=lanes,
        lanes_before=written,
        lanes_from=now + _SETTLE_MS if lanes > written else now,
        lanes_read=max(record.lanes_read, lanes),
        lanes_ever=max(record.lanes_ever, lanes),
    )


def settled(record: QueueRecord, occupied: set[int], now: int) -> QueueRecord:
    """Return a record that reads as many lanes as are written or occupied.

    Judged by what is there, each time anew: a job that slipped between two looks is found
    by the next one.

    Args:
        record: of the queue.
        occupied: lanes of `QueueRecord.high_partitions` with jobs in them.
        now: milliseconds.
    """
    needed = max(record.lanes, 1 + max(occupied, default=0))
    if needed < record.lanes_read and now < record.lanes_from + _SETTLE_MS:
        return record  # somebody may not have seen yet that the high lanes are closed
    return replace(record, lanes_read=needed)


def grown(record: QueueRecord, counted: int, now: int) -> QueueRecord:
    """Return a record with the lanes that a queue's load asks for.

    Args:
        record: of the queue.
        counted: sampled enqueues of this minute of the clock.
        now: milliseconds.
    """
    if now < record.lanes_from or counted * _SAMPLED < record.lanes * _JOBS_PER_SECOND * 60:
        return record
    seconds = max(now // 1000 % 60, _LEAST_SECONDS)
    needed = counted * _SAMPLED / seconds / _JOBS_PER_SECOND
    lanes = record.lanes * 2
    while lanes < min(needed, MAX_LANES):
        lanes *= 2
    return resized(record, min(lanes, MAX_LANES), now)
