"""Long random histories: the in-memory store and dynoxide must tell the same story."""

from __future__ import annotations

from operator import methodcaller
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.errors import JobRetryError
from job_retry.job import Job, NewJob, Status
from job_retry.listing import ListRequest
from job_retry.memory import MemoryStore
from job_retry.transitions import TRANSITIONS
from tests.store.builders import LARGE, NOW, dynamo_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry.transitions import Action
    from tests.conftest import MakeTables

QUEUES = ("a", "b")
EDGES = {(edge.action, edge.target) for edge in TRANSITIONS}


class Twins(RuleBasedStateMachine):
    """Two engines with the same clock and the same luck, asked the same things."""

    url: ClassVar[str]
    make_tables: ClassVar[MakeTables]

    jobs = Bundle("jobs")
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.seen: set[int] = set()
        store = dynamo_store(self.url, self.make_tables(self.url))
        self.engines = [self._engine(MemoryStore()), self._engine(store)]

    def _engine(self, store: Any) -> Engine:
        return Engine(store, clock=lambda: self.now, random=Random(5), observer=self._observe)

    def _observe(self, action: Action, job: Job) -> None:
        target = None if action == "delete" else job.status
        assert (action, target) in EDGES

    def _both(self, ask: Callable[[Engine], Any]) -> Any:
        """Ask both; return their answer, which must be the same."""
        answers = []
        for engine in self.engines:
            try:
                answers.append(ask(engine))
            except JobRetryError as error:
                answers.append((type(error), error.code))
        assert answers[0] == answers[1]
        return answers[0]

    @rule(
        target=jobs,
        queue=st.sampled_from(QUEUES),
        priority=st.sampled_from([0, 5, 9]),
        max_attempts=st.integers(1, 3),
        backoff=st.sampled_from([0, 1, 30]),
        jitter=st.sampled_from([None, 0.5]),
        delay=st.sampled_from([None, -5, 0, 10]),
        payload=st.sampled_from(["1", LARGE]),
    )
    def enqueue(  # noqa: D102
        self,
        queue: str,
        priority: int,
        max_attempts: int,
        backoff: int,
        jitter: float | None,
        delay: int | None,
        payload: str,
    ) -> int:
        self.now += 1  # jobs of one moment may be claimed in either order
        new = NewJob(
            job_type="mail",
            queue=queue,
            priority=priority,
            max_attempts=max_attempts,
            backoff_seconds=backoff,
            jitter=jitter,
            lease_seconds=20,
            run_after=None if delay is None else self.now + delay * 1000,
            payload=payload,
        )
        job: Job = self._both(lambda engine: engine.enqueue(new))
        self.seen.add(job.id)
        return job.id

    @rule(
        target=leases,
        queues=st.permutations(QUEUES),
        lease=st.sampled_from([None, 5]),
        worker=st.sampled_from([None, "ann"]),
    )
    def claim(self, queues: list[str], lease: int | None, worker: str | None) -> Any:  # noqa: D102
        self.now += 1
        request = ClaimRequest(queues=queues, lease_seconds=lease, worker_id=worker)
        taken = self._both(lambda engine: engine.claim(request))
        return multiple(*((job.id, job.lease_token) for job in taken.jobs))

    @rule(seconds=st.sampled_from([0, 1, 6, 21, 40, -3]))
    def wait(self, seconds: int) -> None:  # noqa: D102
        self.now += seconds * 1000 + 1

    @rule(lease=leases, progress=st.sampled_from([None, "0.5"]))
    def heartbeat(self, lease: tuple[int, str], progress: str | None) -> None:  # noqa: D102
        job_id, token = lease
        self._both(lambda engine: engine.heartbeat(job_id, lease_token=token, progress=progress))

    @rule(lease=leases, result=st.sampled_from(["1", "2", LARGE]))
    def complete(self, lease: tuple[int, str], result: str) -> None:  # noqa: D102
        job_id, token = lease
        self._both(lambda engine: engine.complete(job_id, lease_token=token, result=result))

    @rule(
        lease=leases,
        error=st.sampled_from(["boom", "x" * 5000]),
        retry=st.booleans(),
        retry_in=st.sampled_from([None, 0, 7]),
    )
    def fail(  # noqa: D102
        self, lease: tuple[int, str], error: str, retry_in: int | None, *, retry: bool
    ) -> None:
        job_id, token = lease
        self._both(
            lambda engine: engine.fail(
                job_id, error=error, lease_token=token, retry=retry, retry_in_seconds=retry_in
            )
        )

    @rule(lease=consumes(leases), delay=st.sampled_from([None, 3]))
    def release(self, lease: tuple[int, str], delay: int | None) -> None:  # noqa: D102
        job_id, token = lease
        self._both(lambda engine: engine.release(job_id, lease_token=token, delay_seconds=delay))

    @rule(job_id=jobs, verb=st.sampled_from(["complete", "fail", "heartbeat", "release"]))
    def settle_without_token(self, job_id: int, verb: str) -> None:  # noqa: D102
        more = {"error": "anonymous"} if verb == "fail" else {}
        self._both(lambda engine: getattr(engine, verb)(job_id, **more))

    @rule(job_id=jobs)
    def cancel(self, job_id: int) -> None:  # noqa: D102
        self._both(lambda engine: engine.cancel(job_id))

    @rule(job_id=jobs)
    def requeue(self, job_id: int) -> None:  # noqa: D102
        self._both(lambda engine: engine.requeue(job_id))

    @rule(job_id=jobs)
    def delete(self, job_id: int) -> None:  # noqa: D102
        self._both(lambda engine: engine.delete(job_id))

    @rule()
    def expire(self) -> None:  # noqa: D102
        self._both(lambda engine: engine.expire_leases())

    @rule(
        status=st.sampled_from([None, *Status]),
        queue=st.sampled_from([None, *QUEUES]),
        newest_first=st.booleans(),
        page=st.integers(1, 2),
    )
    def list_jobs(  # noqa: D102
        self, status: Status | None, queue: str | None, page: int, *, newest_first: bool
    ) -> None:
        request = ListRequest(
            status=status, queue=queue, page=page, per_page=3, newest_first=newest_first
        )
        self._both(lambda engine: engine.list_jobs(request))

    @invariant()
    def every_job_is_the_same(self) -> None:  # noqa: D102
        for job_id in self.seen:
            self._both(methodcaller("get", job_id))


@pytest.mark.parametrize("steps", [60])
def test_both_stores_tell_the_same_story(
    dynoxide_url: str, make_tables: MakeTables, steps: int
) -> None:
    Twins.url, Twins.make_tables = dynoxide_url, staticmethod(make_tables)
    run_state_machine_as_test(
        Twins,
        settings=settings(
            max_examples=40,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
        ),
    )
