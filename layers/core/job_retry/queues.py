"""Which queues there are, remembered for a while in a warm function."""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import NamedTuple

from job_retry.clock import Clock
from job_retry.errors import StoreBusyError, StoreError
from job_retry.lanes import CACHE_MS, SAMPLE_SHARE, QueueRecord, grown, settled
from job_retry.store import JobStore

_ROUNDS = 10  # tries to change a record that others change too


class _Known(NamedTuple):
    record: QueueRecord
    read_at: int


class QueueDirectory:
    """The queues' records, as this process last read them.

    A record is remembered for ten seconds. Whoever finds nothing looks again before saying
    so: a new priority is at most put off for that long, never missed.
    """

    def __init__(self, store: JobStore, clock: Clock, random: Random) -> None:
        self._store = store
        self._clock = clock
        self._random = random
        self._known: dict[str, _Known] = {}

    def get(self, name: str, *, read_since: int | None = None) -> QueueRecord:
        """Return a queue's record; a queue that had no job yet has no partitions.

        Args:
            name: of the queue.
            read_since: read no earlier than this moment; else at most ten seconds ago.
        """
        known = self._known.get(name)
        now = self._clock()
        oldest = now - CACHE_MS if read_since is None else read_since
        if known is not None and oldest <= known.read_at <= now:
            return known.record
        record = self._store.queue(name)
        if record is None:  # not remembered: its first job may come at any moment
            self._known.pop(name, None)
            return QueueRecord(name=name)
        return self._remember(record)

    def ensure(self, name: str, priority: int) -> QueueRecord:
        """Return a queue's record, once it says that jobs of this priority may be there."""
        record = self.get(name) if name in self._known else QueueRecord(name=name)
        if priority in record.priorities:
            return record
        return self._remember(self._store.register(name, priority))

    def change(self, name: str, change: Callable[[QueueRecord], QueueRecord]) -> QueueRecord:
        """Change a queue's record, and return it; others may be at it too.

        Args:
            name: of the queue.
            change: returns the record with other settings, given it as it stands.
        """
        for _ in range(_ROUNDS):
            record = self._store.queue(name) or QueueRecord(name=name)
            changed = change(record)
            saved = record if changed == record else self._store.save_queue(changed)
            if saved is not None:
                return self._remember(saved)
        raise StoreBusyError("others keep changing this queue")

    def count(self, record: QueueRecord) -> None:
        """Count an enqueue, one in a hundred, and grow a queue that needs more lanes."""
        if self._random.random() >= SAMPLE_SHARE:
            return
        now = self._clock()
        with suppress(StoreError):  # the job is stored; another enqueue will count
            counted = self._store.count_enqueue(record.name, now // 60_000)
            if grown(record, counted, now) != record:
                self.change(record.name, lambda known: grown(known, counted, now))

    def settle_lanes(self, record: QueueRecord) -> None:
        """Read no more lanes of a queue than are in use, and no fewer."""
        occupied = {
            partition.lane
            for partition in record.high_partitions()
            if self._store.rows(partition, limit=1).rows
        }
        if settled(record, occupied, self._clock()) != record:
            self.change(record.name, lambda known: settled(known, occupied, self._clock()))

    def all(self) -> list[QueueRecord]:
        """Read the records of all queues now."""
        return self._store.queues()

    def _remember(self, record: QueueRecord) -> QueueRecord:
        self._known[record.name] = _Known(record, self._clock())
        return record
