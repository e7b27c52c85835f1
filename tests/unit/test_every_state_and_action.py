"""Every state × every action, as the transition table has it, through the engine."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from job_retry.errors import JobNotFoundError, LeaseLostError, WrongStatusError
from job_retry.job import NewJob, Status
from job_retry.transitions import TRANSITIONS, Action, Guard, Transition, sources
from tests.unit.builders import LEASE_MS, Queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry.job import Job

UNKNOWN_ID = 12345

LEASED = [action for action in Action if sources(action) == {Status.RUNNING}]
SETTLING = [action for action in LEASED if action is not Action.EXPIRE]
BY_ID = [action for action in Action if action not in (Action.ENQUEUE, Action.CLAIM, Action.EXPIRE)]


def act(queue: Queue, action: Action, job_id: int, token: str | None = None) -> object:
    """Do something to a job; what it returns is true if anything was done."""
    engine = queue.engine
    verbs: dict[Action, Callable[[], object]] = {
        Action.ENQUEUE: lambda: engine.enqueue(NewJob(job_type="other", queue="other")),
        Action.CLAIM: queue.claim,
        Action.HEARTBEAT: lambda: engine.heartbeat(job_id, lease_token=token),
        Action.COMPLETE: lambda: engine.complete(job_id, lease_token=token, result='"done"'),
        Action.FAIL: lambda: engine.fail(job_id, lease_token=token, error="an error"),
        Action.EXPIRE: engine.expire_leases,
        Action.RELEASE: lambda: engine.release(job_id, lease_token=token),
        Action.CANCEL: lambda: engine.cancel(job_id),
        Action.REQUEUE: lambda: engine.requeue(job_id),
    }
    if action is Action.DELETE:
        engine.delete(job_id)
        return True
    return verbs[action]()


class SameId(Random):
    """Chance that draws the same id twice; only an id has so few bits."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._again = 2

    def getrandbits(self, k: int, /) -> int:
        """Draw bits."""
        if k == 12 and self._again:
            self._again -= 1
            return 7
        return super().getrandbits(k)


def edges(action: Action, source: Status | None) -> list[Transition]:
    return [edge for edge in TRANSITIONS if (edge.action, edge.source) == (action, source)]


def named(edge: Transition) -> str:
    return f"{edge.action}-{edge.source}-{edge.target}"


def bring_to(queue: Queue, edge: Transition) -> Job:
    """Make a job from which the edge leads to its target."""
    assert edge.source is not None
    job = queue.in_state(edge.source, max_attempts=1 if edge.target is Status.DEAD else 2)
    if Guard.LEASE_END in edge.guards:
        queue.clock.advance(ms=LEASE_MS + 1)
    return job


@pytest.mark.parametrize(
    "edge", [edge for edge in TRANSITIONS if edge.source is not None], ids=named
)
def test_where_the_table_has_an_edge_the_action_takes_it(queue: Queue, edge: Transition) -> None:
    job = bring_to(queue, edge)
    queue.seen.clear()
    assert act(queue, edge.action, job.id)
    if edge.target is None:
        assert queue.stored(job.id) is None
    else:
        assert queue.record(job.id).status is edge.target
    assert [(action, seen.id) for action, seen in queue.seen] == [(edge.action, job.id)]


def test_enqueue_makes_a_job(queue: Queue) -> None:
    (edge,) = edges(Action.ENQUEUE, None)
    assert queue.enqueue().status is edge.target


NO_EDGE = [
    (action, status)
    for action in Action
    for status in Status
    if not edges(action, status) and action is not Action.ENQUEUE
]


@pytest.mark.parametrize(("action", "status"), NO_EDGE)
@pytest.mark.parametrize("asks", ["the holder", "anyone"])
def test_where_it_has_none_the_action_is_refused_and_the_job_unchanged(
    queue: Queue, action: Action, status: Status, asks: str
) -> None:
    job = queue.in_state(status)
    queue.clock.advance(ms=LEASE_MS - 1)  # a running job still holds its lease
    before = queue.stored(job.id)
    queue.seen.clear()
    if action in BY_ID:
        with pytest.raises(WrongStatusError) as refused:
            act(queue, action, job.id, job.lease_token if asks == "the holder" else None)
        assert refused.value.job.status is status
    else:
        assert not act(queue, action, job.id)
    assert queue.stored(job.id) == before
    assert queue.seen == []


@pytest.mark.parametrize("action", SETTLING)
@pytest.mark.parametrize("status", Status)
def test_a_foreign_token_is_refused_in_every_state(
    queue: Queue, action: Action, status: Status
) -> None:
    job = queue.in_state(status)
    before = queue.stored(job.id)
    with pytest.raises(LeaseLostError):
        act(queue, action, job.id, "foreign")
    assert queue.stored(job.id) == before


@pytest.mark.parametrize("action", BY_ID)
def test_an_unknown_job_is_not_found(queue: Queue, action: Action) -> None:
    with pytest.raises(JobNotFoundError):
        act(queue, action, UNKNOWN_ID)
    assert queue.stored(UNKNOWN_ID) is None


@pytest.mark.parametrize("action", [Action.CLAIM, Action.EXPIRE])
def test_nothing_comes_of_nothing(queue: Queue, action: Action) -> None:
    assert not act(queue, action, UNKNOWN_ID)


@pytest.mark.parametrize("status", Status)
def test_enqueue_never_touches_a_job_that_is_there(status: Status) -> None:
    queue = Queue(random=SameId(3))
    job = queue.in_state(status)
    before = queue.stored(job.id)
    other = queue.enqueue(queue="other")
    assert job.id % 4096 == 7
    assert other.id != job.id
    assert queue.stored(job.id) == before
    assert queue.record(other.id) == other


def test_a_job_that_is_not_due_is_not_claimed(queue: Queue) -> None:
    job = queue.enqueue(run_after=queue.clock.now + 1)
    before = queue.stored(job.id)
    assert queue.claim() == []
    assert queue.stored(job.id) == before
    queue.clock.advance(ms=1)
    assert [each.id for each in queue.claim()] == [job.id]


def test_a_lease_holds_to_its_very_end(queue: Queue) -> None:
    job = queue.in_state(Status.RUNNING)
    before = queue.stored(job.id)
    queue.clock.advance(ms=LEASE_MS)
    assert queue.engine.expire_leases() == 0
    assert queue.stored(job.id) == before
    queue.clock.advance(ms=1)
    assert queue.engine.expire_leases() == 1


def test_the_table_is_covered() -> None:
    everything = {(action, status) for action in Action for status in Status}
    with_edge = {(edge.action, edge.source) for edge in TRANSITIONS if edge.source}
    enqueue = {(Action.ENQUEUE, status) for status in Status}
    assert with_edge | set(NO_EDGE) | enqueue == everything
    assert set(LEASED) == {
        Action.HEARTBEAT,
        Action.COMPLETE,
        Action.FAIL,
        Action.EXPIRE,
        Action.RELEASE,
    }
