"""What may become what: the only place that says it.

The stores' conditions, ``docs/states.md`` and the test of every state and action are
made from this table.
"""

from enum import StrEnum
from typing import NamedTuple

from job_retry.job import Status


class Action(StrEnum):
    """What can be done to a job."""

    ENQUEUE = "enqueue"
    CLAIM = "claim"
    HEARTBEAT = "heartbeat"
    COMPLETE = "complete"
    FAIL = "fail"
    EXPIRE = "expire"
    RELEASE = "release"
    CANCEL = "cancel"
    REQUEUE = "requeue"
    DELETE = "delete"


class Guard(StrEnum):
    """What must hold beyond the state for the write to happen."""

    NEW = "the id is new"
    DUE = "run_after ≤ now"
    LEASE = "the lease is still the one that was read"
    LEASE_END = "the lease's end is still the one that was read"
    FAILURES = "no run has ended since it was read"


class Transition(NamedTuple):
    """One edge of the state picture.

    Attributes:
        action: what is done.
        source: the state it starts from; None where there is no job yet.
        target: the state it leads to; None where no job is left.
        guards: what the write demands beyond the source state.
        cause: when this edge is taken, in words for the docs.
    """

    action: Action
    source: Status | None
    target: Status | None
    guards: frozenset[Guard]
    cause: str


def _edge(
    action: Action, source: Status | None, target: Status | None, cause: str, *guards: Guard
) -> Transition:
    return Transition(action, source, target, frozenset(guards), cause)


_QUEUED, _RUNNING, _DEAD = Status.QUEUED, Status.RUNNING, Status.DEAD

TRANSITIONS: tuple[Transition, ...] = (
    _edge(Action.ENQUEUE, None, _QUEUED, "a new job", Guard.NEW),
    _edge(Action.CLAIM, _QUEUED, _RUNNING, "due, a worker takes it", Guard.DUE),
    _edge(Action.HEARTBEAT, _RUNNING, _RUNNING, "the lease is renewed", Guard.LEASE),
    _edge(Action.COMPLETE, _RUNNING, Status.COMPLETED, "the work is done", Guard.LEASE),
    _edge(Action.FAIL, _RUNNING, _QUEUED, "attempts < max_attempts", Guard.LEASE),
    _edge(Action.FAIL, _RUNNING, _DEAD, "attempts ≥ max_attempts, or retry: false", Guard.LEASE),
    _edge(
        Action.EXPIRE,
        _RUNNING,
        _QUEUED,
        "the lease ended, attempts < max_attempts",
        Guard.LEASE,
        Guard.LEASE_END,
    ),
    _edge(
        Action.EXPIRE,
        _RUNNING,
        _DEAD,
        "the lease ended, attempts ≥ max_attempts",
        Guard.LEASE,
        Guard.LEASE_END,
    ),
    _edge(Action.RELEASE, _RUNNING, _QUEUED, "given back, attempts − 1", Guard.LEASE),
    _edge(Action.CANCEL, _QUEUED, Status.CANCELLED, "no longer wanted"),
    _edge(Action.REQUEUE, _DEAD, _QUEUED, "another chance, attempts 0", Guard.FAILURES),
    _edge(Action.DELETE, _DEAD, None, "dropped"),
    _edge(Action.DELETE, Status.COMPLETED, None, "dropped"),
    _edge(Action.DELETE, Status.CANCELLED, None, "dropped"),
)

_BY_ENDS = {(edge.action, edge.source, edge.target): edge for edge in TRANSITIONS}


def transition(action: Action, source: Status | None, target: Status | None) -> Transition:
    """Return the edge of an action between two states.

    Raises:
        KeyError: the table has no such edge; a bug of the caller's.
    """
    return _BY_ENDS[action, source, target]


def sources(action: Action) -> frozenset[Status]:
    """Return the states from which an action is possible."""
    return frozenset(
        edge.source for edge in TRANSITIONS if edge.action is action and edge.source is not None
    )
