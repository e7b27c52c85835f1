"""How the number of a queue's lanes changes: pure, and in an order that loses no job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from job_retry.job import Status
from job_retry.lanes import CACHE_MS, MAX_LANES, QueueRecord, grown, resized, settled

T0 = 1_893_456_000_000  # a full minute
SEEN_BY_ALL = CACHE_MS + 5_000


def queue(**fields: int) -> QueueRecord:
    return QueueRecord(name="q", priorities=frozenset({0, 9}), **fields)


def test_a_queue_grows_by_being_read_first() -> None:
    record = resized(queue(), 8, T0)
    assert (record.lanes_read, record.lanes_ever) == (8, 8)
    assert record.lanes_write(T0) == 1
    assert record.lanes_write(T0 + CACHE_MS) == 1
    assert record.lanes_write(T0 + SEEN_BY_ALL) == 8


def test_a_queue_shrinks_by_not_being_written_first() -> None:
    record = resized(resized(queue(), 8, T0), 2, T0 + SEEN_BY_ALL)
    assert record.lanes_write(T0 + SEEN_BY_ALL) == 2
    assert record.lanes_read == 8


def test_a_change_of_mind_amid_growth_never_writes_unread_lanes() -> None:
    growing = resized(queue(), 8, T0)
    for lanes in (1, 4, 16):
        changed = resized(growing, lanes, T0 + 1)
        for now in range(T0 + 1, T0 + 2 * SEEN_BY_ALL, 1000):
            # a reader may know the record of ten seconds ago
            read = changed.lanes_read if now > T0 + 1 + CACHE_MS else growing.lanes_read
            read = 1 if now <= T0 + CACHE_MS else read
            assert changed.lanes_write(now) <= read


def test_the_same_number_again_changes_nothing() -> None:
    record = resized(queue(), 8, T0)
    assert resized(record, 8, T0 + 1) == record


def test_high_lanes_are_read_until_they_are_empty_and_all_know() -> None:
    record = resized(queue(lanes=8, lanes_before=8, lanes_read=8, lanes_ever=8), 2, T0)
    assert settled(record, set(), T0 + 1).lanes_read == 8
    assert settled(record, {5}, T0 + SEEN_BY_ALL).lanes_read == 6
    assert settled(record, set(), T0 + SEEN_BY_ALL).lanes_read == 2


def test_a_job_that_was_overlooked_opens_its_lane_again() -> None:
    record = queue(lanes=2, lanes_before=2, lanes_read=2, lanes_ever=8)
    assert settled(record, {7}, T0).lanes_read == 8


def test_the_dead_are_listed_from_all_lanes_there_ever_were() -> None:
    record = queue(lanes=2, lanes_before=2, lanes_read=2, lanes_ever=4)
    assert len(record.partitions(Status.DEAD)) == 8
    assert len(record.partitions(Status.QUEUED)) == 4
    assert {each.lane for each in record.high_partitions()} == {2, 3}
    assert {each.status for each in record.high_partitions()} == {Status.QUEUED, Status.RUNNING}


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_lane_takes_two_hundred_jobs_a_second_for_a_minute(lanes: int) -> None:
    record = queue(lanes=lanes, lanes_before=lanes, lanes_read=lanes, lanes_ever=lanes)
    enough = 120 * lanes  # one in a hundred is counted
    assert grown(record, enough - 1, T0 + 59_999) == record
    assert grown(record, enough, T0 + 59_999).lanes == 2 * lanes


def test_a_flood_gets_the_lanes_it_needs_at_once() -> None:
    assert grown(queue(), 1000, T0 + 10_000).lanes == 64  # 10,000 a second


def test_growth_waits_until_the_last_one_is_done_and_ends_somewhere() -> None:
    growing = resized(queue(), 2, T0)
    assert grown(growing, 10**6, T0 + 1) == growing
    assert grown(queue(), 10**9, T0 + 59_999).lanes == MAX_LANES
    full = replace(queue(), lanes=MAX_LANES, lanes_read=MAX_LANES, lanes_ever=MAX_LANES)
    assert grown(full, 10**9, T0 + 59_999) == full
