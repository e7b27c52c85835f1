"""Workers that race for the same jobs, and what must be true of all they did.

Time is a counter that every reading moves on, shared by all workers: leases end in the
middle of the race without anybody sleeping.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.errors import JobNotFoundError, StateError
from job_retry.job import Job, NewJob, Status
from job_retry.listing import ListRequest
from job_retry.transitions import Action
from tests.store.builders import NOW, dynamo_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.sharedctypes import Synchronized

    from tests.conftest import Tables

QUEUE = "race"
JOBS = 200
LEASE_SECONDS = 1
_TICK_MS = 20


class Event(NamedTuple):
    """A write that happened, as the store's answer showed it."""

    action: Action
    job_id: int
    status: Status


@dataclass
class Clock:
    """A counter of milliseconds; every reading moves it on."""

    ticks: Synchronized[int]

    def __call__(self) -> int:
        """Return the next moment."""
        with self.ticks.get_lock():
            self.ticks.value += _TICK_MS
            return NOW + self.ticks.value

    def skip(self, milliseconds: int) -> None:
        """Let time pass."""
        with self.ticks.get_lock():
            self.ticks.value += milliseconds


@dataclass
class Worker:
    """One racer: claims, settles, forgets, steals, requeues and expires by chance."""

    engine: Engine
    random: Random
    job_ids: list[int]
    held: list[Job] = field(default_factory=list)
    spent: list[Job] = field(default_factory=list)  # leases settled or lost long ago

    def run(self, steps: int) -> None:
        """Take so many steps."""
        moves: list[tuple[Callable[[], object], int]] = [
            (self.claim, 10),
            (self.complete, 3),
            (self.fail, 5),
            (self.heartbeat, 3),
            (self.release, 1),
            (self.forget, 2),
            (self.come_late, 4),
            (self.requeue, 3),
            (self.engine.expire_leases, 1),
        ]
        for move in self.random.choices(
            [move for move, _ in moves], [weight for _, weight in moves], k=steps
        ):
            with suppress(StateError):
                move()

    def claim(self) -> None:
        """Claim up to three jobs."""
        self.held += self.engine.claim(
            ClaimRequest(queues=[QUEUE], max_jobs=self.random.randint(1, 3))
        ).jobs

    def complete(self) -> None:
        """Complete a job that is held, perhaps too late."""
        if job := self._take():
            after = self.engine.complete(job.id, lease_token=job.lease_token, result=f'"{job.id}"')
            assert after.lease_token == job.lease_token, "completed another's run"

    def fail(self) -> None:
        """Fail a job that is held."""
        if job := self._take():
            self.engine.fail(job.id, lease_token=job.lease_token, error="boom")

    def heartbeat(self) -> None:
        """Renew a lease."""
        if self.held:
            job = self.random.choice(self.held)
            after = self.engine.heartbeat(job.id, lease_token=job.lease_token, progress="1")
            assert after.lease_token == job.lease_token, "renewed another's lease"

    def release(self) -> None:
        """Give a job back."""
        if job := self._take():
            self.engine.release(job.id, lease_token=job.lease_token)

    def forget(self) -> None:
        """Die on a job: its lease will end."""
        self._take()

    def come_late(self) -> None:
        """Settle with a lease that is long over."""
        if self.spent:
            job = self.random.choice(self.spent)
            self.engine.complete(job.id, lease_token=job.lease_token, result='"late"')

    def requeue(self) -> None:
        """Requeue any job, dead or not."""
        self.engine.requeue(self.random.choice(self.job_ids))

    def _take(self) -> Job | None:
        if not self.held:
            return None
        job = self.held.pop(self.random.randrange(len(self.held)))
        self.spent.append(job)
        return job


def engine_on(url: str, tables: Tables, clock: Clock, seed: int, events: list[Event]) -> Engine:
    """Return an engine that notes every write it is told of."""
    return Engine(
        dynamo_store(url, tables),
        clock=clock,
        random=Random(seed),
        observer=lambda action, job: events.append(Event(action, job.id, job.status)),
    )


def enqueue_all(engine: Engine) -> list[int]:
    """Store the jobs to be raced for."""
    return [
        engine.enqueue(
            NewJob(
                job_type="race",
                queue=QUEUE,
                payload=f"{number}",
                max_attempts=3,
                backoff_seconds=0,
                lease_seconds=LEASE_SECONDS,
            )
        ).id
        for number in range(JOBS)
    ]


def race(
    url: str, tables: Tables, clock: Clock, seed: int, job_ids: list[int], threads: int, steps: int
) -> list[Event]:
    """Let threads race, and return what they did."""
    events: list[Event] = []

    def run(number: int) -> None:
        engine = engine_on(url, tables, clock, seed * 1000 + number, events)
        Worker(engine, Random(seed * 1000 + number), job_ids).run(steps)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, range(threads)))
    return events


def check(engine: Engine, job_ids: list[int], events: list[Event]) -> None:
    """Hold what happened against what the records say.

    A claim needs a queued job and each end of a run a running one, so a job was never held
    by two exactly if its claims and the ends of its runs balance.
    """
    counted = Counter((event.job_id, event.action) for event in events)
    raced = {Action.CLAIM, Action.HEARTBEAT, Action.COMPLETE, Action.FAIL, Action.EXPIRE}
    assert raced | {Action.RELEASE, Action.REQUEUE} <= {event.action for event in events}
    for job_id in job_ids:
        job, history = engine.get(job_id)
        of = partial(lambda job_id, action: counted[job_id, action], job_id)
        ended = sum(map(of, (Action.COMPLETE, Action.FAIL, Action.EXPIRE, Action.RELEASE)))
        assert of(Action.CLAIM) - ended == (job.status is Status.RUNNING), job
        assert len(history) == job.failures == of(Action.FAIL) + of(Action.EXPIRE), job
        assert of(Action.COMPLETE) == (job.status is Status.COMPLETED), job
        deaths = sum(
            event.job_id == job_id
            and event.status is Status.DEAD
            and event.action in (Action.FAIL, Action.EXPIRE)
            for event in events
        )
        assert deaths - of(Action.REQUEUE) == (job.status is Status.DEAD), job
        if job.status is Status.COMPLETED:
            assert job.result is not None
            assert job.result.text in (f'"{job_id}"', '"late"')


def finish(engine: Engine, clock: Clock, job_ids: list[int]) -> None:
    """Bring every job to its end: none is lost, and none is stuck."""
    clock.skip(LEASE_SECONDS * 1000 + 1)
    engine.expire_leases()
    listed = ListRequest(queue=QUEUE, status=Status.DEAD, per_page=100)
    while dead := engine.list_jobs(listed).jobs:
        for job in dead:
            with suppress(JobNotFoundError):
                engine.requeue(job.id)
    while jobs := engine.claim(ClaimRequest(queues=[QUEUE], max_jobs=10, lease_seconds=3600)).jobs:
        for job in jobs:
            engine.complete(job.id, lease_token=job.lease_token)
    assert {engine.get(job_id)[0].status for job_id in job_ids} == {Status.COMPLETED}
