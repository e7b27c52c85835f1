"""What a worker has in hand."""

from __future__ import annotations

import pytest

from job_retry_client.worker.ledger import Ledger
from tests.client.worker.fakes import PATIENCE_SECONDS, Running, a_context


def yes() -> bool:
    return True


def room(ledger: Ledger) -> int:
    return ledger.wait_for_room(yes, 0)


def test_room_is_for_as_many_as_may_run() -> None:
    ledger = Ledger(3)
    assert room(ledger) == 3
    runs = [a_context(number) for number in range(3)]
    for each in runs:
        ledger.start(each)
    assert room(ledger) == 0
    ledger.finish(runs[0], is_to_be_told=True)
    assert room(ledger) == 1


def test_outcomes_that_cannot_be_told_take_room_in_the_end() -> None:
    ledger = Ledger(2)
    runs = [a_context(number) for number in range(4)]
    found = []
    for each in runs:
        ledger.start(each)
        ledger.finish(each, is_to_be_told=True)
        found.append(room(ledger))
    assert found == [2, 2, 1, 0]
    ledger.told(runs[0], "completed")
    assert room(ledger) == 1


def test_one_who_may_not_wait_gets_no_room() -> None:
    assert Ledger(3).wait_for_room(lambda: False, None) == 0


def test_a_run_counts_once_however_often_it_is_told() -> None:
    ledger = Ledger(1)
    run = a_context()
    ledger.told(run, "lost")
    ledger.start(run)
    ledger.finish(run, is_to_be_told=True)
    for _ in range(3):
        ledger.told(run, "completed")
    assert ledger.counts == {"completed": 1}
    assert ledger.is_empty


def test_nothing_is_in_hand_once_the_queue_has_been_told() -> None:
    ledger, run = Ledger(1), a_context()
    found = [ledger.is_empty]
    ledger.start(run)
    found.append(ledger.is_empty)
    ledger.finish(run, is_to_be_told=True)
    found.append(ledger.is_empty)
    ledger.told(run, "completed")
    assert [*found, ledger.is_empty] == [True, False, False, True]


def test_a_change_before_the_wait_is_not_missed() -> None:
    ledger = Ledger(1)
    run = a_context()
    ledger.start(run)
    seen = ledger.changes
    ledger.finish(run, is_to_be_told=False)
    waiting = Running(lambda: ledger.wait_for_change(seen, yes, None))
    waiting.end()


@pytest.mark.parametrize("what", ["finish", "tell", "wake"])
def test_a_change_ends_the_wait(what: str) -> None:
    ledger = Ledger(1)
    run = a_context()
    ledger.start(run)
    may = [True]
    if what == "tell":
        ledger.finish(run, is_to_be_told=True)
    seen = ledger.changes
    waiting = Running(lambda: ledger.wait_for_change(seen, lambda: may[0], PATIENCE_SECONDS * 2))
    if what == "finish":
        ledger.finish(run, is_to_be_told=False)
    elif what == "tell":
        ledger.told(run, "completed")
    else:
        may[0] = False
        ledger.wake()
    waiting.end()


def test_a_claim_under_way_is_waited_for() -> None:
    ledger = Ledger(1)
    waits = [
        Running(lambda: ledger.wait_until_claimed(yes, None)),
        Running(lambda: ledger.wait_until_empty(yes, None)),
        Running(lambda: ledger.wait_until_told(PATIENCE_SECONDS * 2)),
    ]
    ledger.end_claims()
    for each in waits:
        each.end()


def test_the_end_waits_for_runs_and_for_outcomes() -> None:
    ledger = Ledger(1)
    ledger.end_claims()
    run = a_context()
    ledger.start(run)
    waiting = Running(lambda: ledger.wait_until_empty(yes, None))
    ledger.finish(run, is_to_be_told=True)
    told = Running(lambda: ledger.wait_until_told(PATIENCE_SECONDS * 2))
    ledger.told(run, "completed")
    waiting.end()
    told.end()
    assert ledger.untold() == []
    assert ledger.left() == []
