"""Which queues there are, remembered for a while in a warm function."""

from dataclasses import dataclass

from job_retry.clock import Clock
from job_retry.store import JobStore, QueueRecord

CACHE_MS = 10_000
"""How long a record is taken as read. Whoever finds nothing looks again before saying so,
so a new priority is at most put off for this long, never missed."""


@dataclass(frozen=True, slots=True)
class _Known:
    record: QueueRecord
    read_at: int


class QueueDirectory:
    """The queues' records, as this process last read them."""

    def __init__(self, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
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
            return QueueRecord(name)
        return self._remember(record)

    def ensure(self, name: str, priority: int) -> QueueRecord:
        """Return a queue's record, once it says that jobs of this priority may be there."""
        record = self.get(name) if name in self._known else QueueRecord(name)
        if priority in record.priorities:
            return record
        return self._remember(self._store.register(name, priority))

    def all(self) -> list[QueueRecord]:
        """Read the records of all queues now."""
        return self._store.queues()

    def _remember(self, record: QueueRecord) -> QueueRecord:
        self._known[record.name] = _Known(record, self._clock())
        return record
