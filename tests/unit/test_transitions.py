"""The transition table itself."""

import pytest

from job_retry.job import Status
from job_retry.transitions import TRANSITIONS, Action, Guard, sources, transition


def test_no_edge_stands_twice() -> None:
    ends = [(edge.action, edge.source, edge.target) for edge in TRANSITIONS]
    assert len(set(ends)) == len(ends)


def test_every_action_and_every_state_is_in_it() -> None:
    assert {edge.action for edge in TRANSITIONS} == set(Action)
    assert {edge.source for edge in TRANSITIONS} - {None} == set(Status)
    assert {edge.target for edge in TRANSITIONS} - {None} == set(Status)


def test_only_enqueue_makes_a_job_and_only_delete_ends_one() -> None:
    assert {edge.action for edge in TRANSITIONS if edge.source is None} == {Action.ENQUEUE}
    assert {edge.action for edge in TRANSITIONS if edge.target is None} == {Action.DELETE}


def test_whatever_leaves_running_names_the_lease() -> None:
    for edge in TRANSITIONS:
        assert (Guard.LEASE in edge.guards) == (edge.source is Status.RUNNING), edge


def test_an_edge_is_found_by_its_ends() -> None:
    for edge in TRANSITIONS:
        assert transition(edge.action, edge.source, edge.target) is edge


def test_an_edge_that_is_not_there_is_a_bug() -> None:
    with pytest.raises(KeyError):
        transition(Action.CLAIM, Status.DEAD, Status.RUNNING)


def test_sources_are_the_states_an_action_starts_from() -> None:
    assert sources(Action.ENQUEUE) == frozenset()
    assert sources(Action.CLAIM) == {Status.QUEUED}
    assert sources(Action.DELETE) == {Status.DEAD, Status.COMPLETED, Status.CANCELLED}


@pytest.mark.parametrize(
    ("action", "source", "target"),
    [
        ("enqueue", None, "queued"),
        ("claim", "queued", "running"),
        ("heartbeat", "running", "running"),
        ("complete", "running", "completed"),
        ("fail", "running", "queued"),
        ("fail", "running", "dead"),
        ("expire", "running", "queued"),
        ("expire", "running", "dead"),
        ("release", "running", "queued"),
        ("cancel", "queued", "cancelled"),
        ("requeue", "dead", "queued"),
        ("delete", "dead", None),
        ("delete", "completed", None),
        ("delete", "cancelled", None),
    ],
)
def test_what_the_queue_promises(action: str, source: str | None, target: str | None) -> None:
    # the one place beside the table that names the edges: a change of it is a change of the API
    assert (action, source, target) in {
        (edge.action, edge.source, edge.target) for edge in TRANSITIONS
    }


def test_the_queue_promises_nothing_more() -> None:
    assert len(TRANSITIONS) == 14
