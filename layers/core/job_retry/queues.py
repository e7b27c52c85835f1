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

    def get(self, name: str) -> QueueRecord:
        """Return a queue's record, at most ten seconds old; an unknown queue has no lanes."""
        known = self._known.get(name)
        if known is not None and 0 <= self._clock() - known.read_at < CACHE_MS:
            return known.record
        return self.refresh(name)

    def refresh(self, name: str) -> QueueRecord:
        """Read a queue's record now."""
        record = self._store.queue(name)
        if record is None:  # not remembered: its first job may come at any moment
            return QueueRecord(name)
        return self._remember(record)

    def ensure(self, name: str, priority: int) -> QueueRecord:
        """Return a queue's record, once it says that jobs of this priority may be there."""
        known = self._known.get(name)
        if known is not None and priority in known.record.priorities:
            return self.get(name)
        return self._remember(self._store.register(name, priority))

    def all(self) -> list[QueueRecord]:
        """Read the records of all queues now."""
        return self._store.queues()

    def _remember(self, record: QueueRecord) -> QueueRecord:
        self._known[record.name] = _Known(record, self._clock())
        return record
