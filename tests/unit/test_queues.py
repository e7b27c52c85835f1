"""What a process remembers of the queues."""

from __future__ import annotations

from random import Random

import pytest

from job_retry.job import Status
from job_retry.lanes import CACHE_MS, Partition, QueueRecord
from job_retry.memory import MemoryStore
from job_retry.queues import QueueDirectory
from tests.unit.builders import FakeClock


class CountingStore(MemoryStore):
    """A store that counts how often it is asked about queues."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.registered = 0

    def queue(self, name: str) -> QueueRecord | None:
        """Count, and read."""
        self.reads += 1
        return super().queue(name)

    def register(self, name: str, priority: int) -> QueueRecord:
        """Count, and note."""
        self.registered += 1
        return super().register(name, priority)


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


@pytest.fixture
def moving() -> FakeClock:
    return FakeClock()


@pytest.fixture
def directory(store: CountingStore, moving: FakeClock) -> QueueDirectory:
    return QueueDirectory(store, moving, Random(1))


def test_a_record_is_remembered_for_ten_seconds(
    directory: QueueDirectory, store: CountingStore, moving: FakeClock
) -> None:
    store.register("mail", 0)
    assert CACHE_MS == 10_000
    assert directory.get("mail").priorities == {0}
    store.register("mail", 5)
    moving.advance(ms=CACHE_MS)
    assert directory.get("mail").priorities == {0}
    assert store.reads == 1
    moving.advance(ms=1)
    assert directory.get("mail").priorities == {0, 5}
    assert store.reads == 2


def test_a_clock_that_was_set_back_does_not_freeze_it(
    directory: QueueDirectory, store: CountingStore, moving: FakeClock
) -> None:
    store.register("mail", 0)
    directory.get("mail")
    moving.advance(seconds=-3600)
    store.register("mail", 5)
    assert directory.get("mail").priorities == {0, 5}


def test_a_record_may_be_asked_for_as_it_is_now(
    directory: QueueDirectory, store: CountingStore, moving: FakeClock
) -> None:
    store.register("mail", 0)
    directory.get("mail")
    moving.advance(ms=1)
    store.register("mail", 5)
    assert directory.get("mail", read_since=moving.now).priorities == {0, 5}
    assert directory.get("mail", read_since=moving.now).priorities == {0, 5}
    assert directory.get("mail").priorities == {0, 5}
    assert store.reads == 2


def test_an_unknown_queue_is_empty_and_is_not_remembered(
    directory: QueueDirectory, store: CountingStore
) -> None:
    unknown = directory.get("mail")
    assert unknown == QueueRecord(name="mail")
    assert unknown.partitions(Status.QUEUED) == []
    store.register("mail", 0)
    assert directory.get("mail").priorities == {0}


def test_a_priority_is_registered_once(directory: QueueDirectory, store: CountingStore) -> None:
    for _ in range(3):
        assert directory.ensure("mail", 5).priorities == {5}
    assert (store.registered, store.reads) == (1, 0)
    assert directory.ensure("mail", 0).priorities == {0, 5}
    assert store.registered == 2


def test_it_is_registered_before_the_first_job_is_added(
    directory: QueueDirectory, store: CountingStore
) -> None:
    directory.ensure("mail", 5)
    record = store.queue("mail")
    assert record is not None
    assert record.priorities == {5}


def test_ensure_reads_lanes_anew_after_ten_seconds(
    directory: QueueDirectory, store: CountingStore, moving: FakeClock
) -> None:
    directory.ensure("mail", 5)
    moving.advance(ms=CACHE_MS + 1)
    directory.ensure("mail", 5)
    assert (store.registered, store.reads) == (1, 1)


def test_all_is_never_remembered(directory: QueueDirectory, store: CountingStore) -> None:
    assert directory.all() == []
    store.register("b", 0)
    store.register("a", 0)
    assert [record.name for record in directory.all()] == ["a", "b"]


def test_partitions_stand_by_priority_then_lane() -> None:
    record = QueueRecord(name="q", priorities=frozenset({0, 9, 4}), lanes_read=2)
    assert record.partitions(Status.QUEUED) == [
        Partition(Status.QUEUED, "q", priority, lane) for priority in (9, 4, 0) for lane in (0, 1)
    ]


def test_no_two_partitions_share_a_key() -> None:
    names = ["a", "a.1", "a-1", "1.0", "a#"[:1], "_"]
    partitions = {
        Partition(status, name, priority, lane)
        for status in Status
        for name in names
        for priority in range(10)
        for lane in range(12)
    }
    assert len({partition.key for partition in partitions}) == len(partitions)
