"""Queues' records in every store; and lanes that change under load, on dynoxide."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.job import Job, NewJob, Status
from job_retry.lanes import QueueRecord, resized
from job_retry.listing import ListRequest
from job_retry.memory import MemoryStore
from tests.store.builders import NOW, dynamo_store, unique_queue

if TYPE_CHECKING:
    from job_retry.store import JobStore
    from tests.conftest import MakeTables


def test_settings_are_read_back(store: JobStore) -> None:
    name = unique_queue()
    store.register(name, 3)
    known = store.queue(name)
    assert known is not None
    saved = store.save_queue(replace(resized(known, 8, NOW), lease_seconds=60, max_attempts=2))
    assert saved == store.queue(name)
    assert saved is not None
    assert (saved.lanes, saved.lease_seconds, set(saved.priorities)) == (8, 60, {3})
    assert store.save_queue(replace(saved, lease_seconds=None)) == replace(
        saved, lease_seconds=None, version=2
    )


def test_settings_come_before_the_first_job(store: JobStore) -> None:
    name = unique_queue()
    saved = store.save_queue(QueueRecord(name=name, max_attempts=1))
    assert saved == store.queue(name)
    assert saved in store.queues()
    assert store.register(name, 0).max_attempts == 1


def test_who_comes_second_is_told(store: JobStore) -> None:
    record = QueueRecord(name=unique_queue())
    assert store.save_queue(replace(record, max_attempts=1)) is not None
    assert store.save_queue(replace(record, max_attempts=2)) is None
    known = store.queue(record.name)
    assert known is not None
    assert known.max_attempts == 1


def test_enqueues_are_counted_by_the_minute(store: JobStore) -> None:
    name = unique_queue()
    assert [store.count_enqueue(name, 7) for _ in range(3)] == [1, 2, 3]
    assert store.count_enqueue(name, 8) == 1
    assert store.queue(name) is None


class Load:
    """Producers and workers on several warm functions, whose memories lag behind."""

    def __init__(self, store: JobStore) -> None:
        self.now = NOW
        self.random = Random(11)
        self.queue = "load"
        self.engines = [
            Engine(store, clock=lambda: self.now, random=Random(seed)) for seed in range(4)
        ]
        self.expected: set[int] = set()
        self.claimed: list[Job] = []

    def step(self) -> None:
        """Let some seconds pass in which jobs come and go."""
        self.now += self.random.randrange(4000)
        for engine in self.engines:
            new = NewJob(job_type="x", queue=self.queue, priority=self.random.choice([0, 9]))
            self.expected.add(engine.enqueue(new).id)
            if self.random.random() < 0.6:
                self.claimed += engine.claim(ClaimRequest(queues=[self.queue])).jobs
        self.random.choice(self.engines).expire_leases()

    def resize(self, lanes: int) -> None:
        """Change the number of lanes."""
        self.random.choice(self.engines).set_queue(
            self.queue, lambda record, now: resized(record, lanes, now)
        )

    def drain(self) -> None:
        """Claim all that is left, by an engine that has been warm all along."""
        for _ in range(1000):
            jobs = self.engines[0].claim(ClaimRequest(queues=[self.queue], max_jobs=25)).jobs
            self.claimed += jobs
            if not jobs:
                return


@pytest.mark.parametrize(("kind", "seed"), [("dynoxide", 0), *(("memory", n) for n in range(9))])
def test_lanes_that_grow_and_shrink_under_load_lose_nothing(
    request: pytest.FixtureRequest, kind: str, seed: int
) -> None:
    load = Load(MemoryStore() if kind == "memory" else _fresh(request))
    load.random.seed(seed)
    for lanes in (1, 8, 2, 16, 1, 4):
        load.resize(lanes)
        for _ in range(load.random.randrange(1, 15)):
            load.step()
    load.drain()
    assert sorted(job.id for job in load.claimed) == sorted(load.expected)
    engine = load.engines[1]
    listed = {
        job.id for page in range(1, 9) for job in engine.list_jobs(_page(load.queue, page)).jobs
    }
    assert listed == load.expected


def test_a_hot_queue_stands_on_as_many_index_keys_as_it_has_lanes(
    dynoxide_url: str, make_tables: MakeTables
) -> None:
    store = dynamo_store(dynoxide_url, make_tables(dynoxide_url))
    load = Load(store)
    load.resize(8)
    load.now += 60_000
    producers = load.engines
    new = NewJob(job_type="x", queue=load.queue)
    jobs = [producers[number % 4].enqueue(new) for number in range(200)]
    partitions = producers[0].queue(load.queue).partitions(Status.QUEUED)
    rows = [len(store.rows(partition, limit=200).rows) for partition in partitions]
    assert len(rows) == 8
    assert sum(rows) == 200
    assert min(rows) > 0

    def work(engine: Engine) -> list[int]:
        claimed = []
        while taken := engine.claim(ClaimRequest(queues=[load.queue], max_jobs=3)).jobs:
            claimed += [job.id for job in taken]
        return claimed

    workers = [Engine(store, clock=lambda: load.now, random=Random(seed)) for seed in range(16)]
    with ThreadPoolExecutor(len(workers)) as pool:
        claimed = [job_id for ids in pool.map(work, workers) for job_id in ids]
    assert sorted(claimed) == sorted(job.id for job in jobs)


def test_lanes_are_no_longer_read_once_they_are_empty() -> None:
    load = Load(MemoryStore())
    load.resize(8)
    for _ in range(10):
        load.step()
    load.resize(2)
    load.now += 60_000
    load.drain()
    for job in load.claimed:
        load.engines[0].complete(job.id, lease_token=job.lease_token)
    load.engines[0].expire_leases()
    record = load.engines[0].queue(load.queue)
    assert (record.lanes, record.lanes_read, record.lanes_ever) == (2, 2, 8)


def test_a_requeued_job_leaves_a_lane_that_was_closed() -> None:
    store = MemoryStore()
    load = Load(store)
    load.resize(8)
    load.now += 60_000
    engine = load.engines[0]
    for _ in range(30):
        engine.enqueue(NewJob(job_type="x", queue=load.queue, max_attempts=1))
    while jobs := engine.claim(ClaimRequest(queues=[load.queue], max_jobs=10)).jobs:
        for job in jobs:
            engine.fail(job.id, error="no", lease_token=job.lease_token)
    load.resize(1)
    load.now += 60_000
    engine.expire_leases()
    dead = engine.list_jobs(ListRequest(queue=load.queue, status=Status.DEAD, per_page=100)).jobs
    assert len(dead) == 30
    for job in dead:
        engine.requeue(job.id)
    claimed = [
        job
        for _ in range(3)
        for job in load.engines[1].claim(ClaimRequest(queues=[load.queue], max_jobs=10)).jobs
    ]
    assert {job.id for job in claimed} == {job.id for job in dead}
    assert {job.lane for job in claimed} == {0}


def test_a_busy_queue_grows_by_itself() -> None:
    load = Load(MemoryStore())
    engine = load.engines[0]
    new = NewJob(job_type="x", queue=load.queue)
    load.now = NOW - NOW % 60_000
    for _ in range(15_000):  # 300 a second
        load.now += 3
        engine.enqueue(new)
    assert engine.queue(load.queue).lanes > 1


def _page(queue: str, page: int) -> ListRequest:
    return ListRequest(queue=queue, page=page, per_page=100)


def _fresh(request: pytest.FixtureRequest) -> JobStore:
    url: str = request.getfixturevalue("dynoxide_url")
    make_tables: MakeTables = request.getfixturevalue("make_tables")
    return dynamo_store(url, make_tables(url))
