"""What each request does to a job: the values that are written, and what forbids it."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_retry import decisions
from job_retry.decisions import (
    INLINE_BYTES,
    INLINE_ERROR_BYTES,
    MAX_ERROR_BYTES,
    Change,
    cut_error,
)
from job_retry.errors import LeaseLostError, WrongStatusError
from job_retry.job import Attempt, Document, Job, NewJob, Status
from job_retry.lanes import QueueRecord
from job_retry.transitions import Action, transition
from tests.unit.builders import LEASE_MS, T0, a_job, a_running_job

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = T0 + 60_000
RANDOM = Random(1)

COMPLETE: dict[str, Any] = {"lease_token": "tok", "result": '"r"', "now": NOW}
FAIL: dict[str, Any] = {
    "lease_token": "tok",
    "error": "boom",
    "retry_in_seconds": None,
    "retry": True,
    "now": NOW,
    "random": RANDOM,
}
RELEASE: dict[str, Any] = {
    "lease_token": "tok",
    "run_after": None,
    "delay_seconds": None,
    "now": NOW,
}
HEARTBEAT: dict[str, Any] = {
    "lease_token": "tok",
    "lease_seconds": None,
    "progress": None,
    "now": NOW,
}


def done(change: Change | None) -> Change:
    assert change is not None
    return change


# -- enqueue -----------------------------------------------------------------------------


def enqueued(**more: Any) -> Job:
    new = NewJob(job_type="mail", **more)
    return decisions.enqueue(
        new, QueueRecord(name=new.queue), job_id=7, lane=0, enqueue_token="mine", now=NOW
    )


def test_enqueue_says_what_is_known_and_nothing_else() -> None:
    assert enqueued() == Job(
        id=7,
        queue="default",
        job_type="mail",
        status=Status.QUEUED,
        priority=0,
        lane=0,
        payload=Document(4, "null"),
        attempts=0,
        max_attempts=5,
        backoff_seconds=30,
        lease_seconds=900,
        run_after=NOW,
        updated_at=NOW,
        enqueue_token="mine",
    )


def test_enqueue_keeps_what_was_asked_for() -> None:
    asked = {
        "queue": "mail",
        "max_attempts": 1,
        "backoff_seconds": 0,
        "run_after": T0 - 5,
        "priority": 9,
        "lease_seconds": 1,
        "max_backoff_seconds": 0,
        "jitter": 0.0,
    }
    job = enqueued(**asked)
    assert {name: getattr(job, name) for name in asked} == asked


@pytest.mark.parametrize(
    ("size", "part"), [(INLINE_BYTES, None), (INLINE_BYTES + 1, "payload"), (262_144, "payload")]
)
@pytest.mark.parametrize("character", ["x", "é", "😀"])
def test_a_large_payload_stands_apart(size: int, part: str | None, character: str) -> None:
    filled, width = divmod(size - 2, len(character.encode()))
    text = f'"{character * filled}{"x" * width}"'
    assert enqueued(payload=text).payload == Document(size, text, part)


# -- claim -------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "length"), [(None, 900), (5, 5), (43_200, 43_200)])
def test_claim(asked: int | None, length: int) -> None:
    job = a_job(attempts=2)
    change = decisions.claim(job, lease_token="tok", worker_id="me", lease_seconds=asked, now=NOW)
    assert change.values == {
        "status": Status.RUNNING,
        "attempts": 3,
        "lease_token": "tok",
        "claimed_by": "me",
        "run_lease_seconds": length,
        "due_at": job.run_after,
        "last_attempted_at": NOW,
        "run_after": NOW + length * 1000,
        "updated_at": NOW,
    }
    assert change.transition is transition(Action.CLAIM, Status.QUEUED, Status.RUNNING)
    assert change.attempt is None


# -- heartbeat ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "asked", "length"),
    [
        (a_running_job(), None, 900),
        (a_running_job(run_lease_seconds=5), None, 5),
        (a_running_job(run_lease_seconds=5), 60, 60),
        (a_running_job(run_lease_seconds=None, lease_seconds=30), None, 30),
    ],
)
def test_heartbeat(job: Job, asked: int | None, length: int) -> None:
    change = decisions.heartbeat(job, **HEARTBEAT | {"lease_seconds": asked})
    assert change.values == {
        "run_after": NOW + length * 1000,
        "run_lease_seconds": length,
        "updated_at": NOW,
    }


def test_a_heartbeat_may_shorten_a_lease_and_tell_progress() -> None:
    change = decisions.heartbeat(a_running_job(), **HEARTBEAT | {"progress": "null"})
    assert change.values["progress"] == "null"
    shorter = decisions.heartbeat(a_running_job(), **HEARTBEAT | {"lease_seconds": 1})
    assert shorter.after.lease_expires_at == NOW + 1000


def test_heartbeats_are_never_taken_for_a_repetition() -> None:
    job = decisions.heartbeat(a_running_job(), **HEARTBEAT).after
    later = decisions.heartbeat(job, **HEARTBEAT | {"now": NOW + 1})
    assert later.after.lease_expires_at == NOW + 1 + LEASE_MS


# -- complete ----------------------------------------------------------------------------


def test_complete() -> None:
    change = done(decisions.complete(a_running_job(), **COMPLETE))
    assert set(change.values) == {"status", "run_after", "updated_at", "result", "fingerprint"}
    after = change.after
    assert (after.status, after.completed_at, after.updated_at) == (Status.COMPLETED, NOW, NOW)
    assert after.result == Document(3, '"r"')
    assert after.lease_expires_at is None
    assert after.claimed_by == "worker-1"


@pytest.mark.parametrize(
    ("payload", "result", "apart"),
    [
        (200, 200, False),
        (200, 201, True),
        (4, 396, False),
        (4, 397, True),
        (400, 2, True),
    ],
)
def test_payload_and_result_share_the_room_in_the_record(
    payload: int, result: int, *, apart: bool
) -> None:
    job = a_running_job(payload=Document(payload, "x" * payload))
    change = done(decisions.complete(job, **COMPLETE | {"result": "1" * result}))
    assert (change.values["result"].part is not None) == apart


def test_a_payload_that_stands_apart_leaves_its_room() -> None:
    job = a_running_job(payload=Document(1000, None, "payload"))
    assert done(decisions.complete(job, **COMPLETE | {"result": "1" * 400})).values[
        "result"
    ] == Document(400, "1" * 400)


def test_a_large_result_has_a_place_of_its_own_for_each_request() -> None:
    large = {"result": "1" * 1000}
    one = done(decisions.complete(a_running_job(), **COMPLETE | large)).values
    again = done(decisions.complete(a_running_job(), **COMPLETE | large)).values
    late = done(
        decisions.complete(
            a_running_job(lease_token="late"), **COMPLETE | large | {"lease_token": None}
        )
    ).values
    assert one["result"].part == again["result"].part == f"result#{one['fingerprint']}"
    assert late["result"].part == f"result#{late['fingerprint']}" != one["result"].part


# -- fail --------------------------------------------------------------------------------


def test_fail_with_retries_left() -> None:
    change = done(decisions.fail(a_running_job(), **FAIL))
    assert {name: each for name, each in change.values.items() if name != "fingerprint"} == {
        "status": Status.QUEUED,
        "last_error": "boom",
        "failures": 1,
        "claimed_by": None,
        "run_after": NOW + 30_000,
        "updated_at": NOW,
    }
    assert change.attempt == Attempt(
        number=1, attempt=1, worker_id="worker-1", started_at=T0, ended_at=NOW, error="boom"
    )


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 30), (2, 60), (3, 120), (4, 240)])
def test_each_failure_waits_twice_as_long(attempts: int, seconds: int) -> None:
    job = a_running_job(attempts=attempts, failures=attempts - 1)
    assert done(decisions.fail(job, **FAIL)).after.run_after == NOW + seconds * 1000


@pytest.mark.parametrize("max_attempts", [1, 2, 5, 1000])
def test_the_last_attempt_is_the_last(max_attempts: int) -> None:
    job = a_running_job(attempts=max_attempts, max_attempts=max_attempts, failures=9)
    change = done(decisions.fail(job, **FAIL))
    assert change.after.status is Status.DEAD
    assert change.after.died_at == change.after.run_after == NOW
    assert change.after.claimed_by == "worker-1"
    assert done(change).attempt == Attempt(10, max_attempts, "worker-1", T0, NOW, "boom")
    before_last = a_running_job(attempts=max_attempts, max_attempts=max_attempts + 1)
    assert done(decisions.fail(before_last, **FAIL)).after.status is Status.QUEUED


def test_the_worker_may_say_when_to_retry() -> None:
    for seconds in (0, 7, 31_536_000):
        change = done(decisions.fail(a_running_job(), **FAIL | {"retry_in_seconds": seconds}))
        assert change.after.run_after == NOW + seconds * 1000


def test_its_wish_gives_no_attempt_beyond_the_last() -> None:
    job = a_running_job(attempts=5)
    change = done(decisions.fail(job, **FAIL | {"retry_in_seconds": 7}))
    assert change.after.status is Status.DEAD


def test_the_worker_may_give_up() -> None:
    change = done(decisions.fail(a_running_job(), **FAIL | {"retry": False}))
    assert change.after.status is Status.DEAD
    assert change.after.attempts == 1


def test_the_cap_and_jitter_of_the_job_count() -> None:
    capped = a_running_job(attempts=4, max_backoff_seconds=60)
    assert done(decisions.fail(capped, **FAIL)).after.run_after == NOW + 60_000
    shaken = a_running_job(jitter=1.0)
    waits = {
        done(decisions.fail(shaken, **FAIL | {"random": Random(seed)})).after.run_after - NOW
        for seed in range(20)
    }
    assert len(waits) == 20
    assert max(waits) <= 30_000


# -- expire ------------------------------------------------------------------------------


def test_a_lease_expires_after_its_end() -> None:
    job = a_running_job()
    assert decisions.expire(job, now=job.run_after, random=RANDOM) is None
    change = done(decisions.expire(job, now=job.run_after + 1, random=RANDOM))
    now = job.run_after + 1
    assert change.values == {
        "status": Status.QUEUED,
        "last_error": "lease expired",
        "failures": 1,
        "claimed_by": None,
        "lease_token": None,
        "run_after": now + 30_000,
        "updated_at": now,
    }
    assert change.attempt == Attempt(1, 1, "worker-1", T0, job.run_after, "lease expired")


def test_without_a_backoff_an_ended_lease_gives_a_job_its_place_back() -> None:
    def due(**more: Any) -> int:
        job = a_running_job(**more)
        return done(decisions.expire(job, now=job.run_after + 1, random=RANDOM)).after.run_after

    now = a_running_job().run_after + 1
    assert due(backoff_seconds=0, due_at=T0 - 5) == T0 - 5
    assert due(backoff_seconds=0) == now  # claimed by a version that did not remember
    assert due(backoff_seconds=1, due_at=T0 - 5) == now + 1000
    assert due(backoff_seconds=0, due_at=T0 - 5, attempts=5) == now  # dead from now on


def test_a_failure_without_a_backoff_goes_behind_what_is_due() -> None:
    job = a_running_job(backoff_seconds=0, due_at=T0 - 5)
    assert done(decisions.fail(job, **FAIL)).after.run_after == NOW


def test_a_job_dies_with_its_last_lease() -> None:
    job = a_running_job(attempts=5)
    after = done(decisions.expire(job, now=job.run_after + 1, random=RANDOM)).after
    assert (after.status, after.lease_token) == (Status.DEAD, None)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.RUNNING])
def test_only_a_running_job_has_a_lease(status: Status) -> None:
    assert decisions.expire(a_job(status, run_after=0), now=NOW, random=RANDOM) is None


# -- release -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "due"),
    [
        ({}, NOW),
        ({"run_after": T0 - 1}, T0 - 1),
        ({"run_after": NOW + 5}, NOW + 5),
        ({"delay_seconds": 0}, NOW),
        ({"delay_seconds": 60}, NOW + 60_000),
    ],
)
def test_release(asked: dict[str, int], due: int) -> None:
    change = done(decisions.release(a_running_job(attempts=3), **RELEASE | asked))
    assert {name: each for name, each in change.values.items() if name != "fingerprint"} == {
        "status": Status.QUEUED,
        "attempts": 2,
        "claimed_by": None,
        "run_after": due,
        "updated_at": NOW,
    }
    assert change.attempt is None


# -- cancel, requeue, delete -------------------------------------------------------------


def test_cancel() -> None:
    change = decisions.cancel(a_job(), fingerprint="f", now=NOW)
    assert change.values == {
        "status": Status.CANCELLED,
        "run_after": NOW,
        "updated_at": NOW,
        "fingerprint": "f",
    }
    assert change.after.cancelled_at == NOW


@pytest.mark.parametrize(("asked", "due"), [(None, NOW), (T0 - 1, T0 - 1), (NOW + 9, NOW + 9)])
def test_requeue(asked: int | None, due: int) -> None:
    job = a_running_job(status=Status.DEAD, attempts=5, failures=5, last_error="boom", priority=7)
    change = decisions.requeue(job, run_after=asked, fingerprint="f", now=NOW)
    assert change.values == {
        "status": Status.QUEUED,
        "attempts": 0,
        "claimed_by": None,
        "lease_token": None,
        "run_after": due,
        "updated_at": NOW,
        "fingerprint": "f",
    }
    assert (change.after.failures, change.after.last_error) == (5, "boom")


def test_delete() -> None:
    change = decisions.delete(a_job(Status.DEAD))
    assert change.transition is transition(Action.DELETE, Status.DEAD, None)
    assert change.values == {}


# -- what is never touched ---------------------------------------------------------------

FOREVER = {
    "id",
    "queue",
    "job_type",
    "priority",
    "lane",
    "payload",
    "max_attempts",
    "backoff_seconds",
    "max_backoff_seconds",
    "jitter",
    "lease_seconds",
    "enqueue_token",
}

CHANGES: list[Change] = [
    decisions.claim(a_job(), lease_token="t", worker_id=None, lease_seconds=None, now=NOW),
    decisions.heartbeat(a_running_job(), **HEARTBEAT | {"progress": "1"}),
    done(decisions.complete(a_running_job(), **COMPLETE)),
    done(decisions.fail(a_running_job(), **FAIL)),
    done(decisions.fail(a_running_job(attempts=5), **FAIL)),
    done(decisions.expire(a_running_job(run_after=0), now=NOW, random=RANDOM)),
    done(decisions.release(a_running_job(), **RELEASE)),
    decisions.cancel(a_job(), fingerprint="", now=NOW),
    decisions.requeue(a_job(Status.DEAD), run_after=None, fingerprint="", now=NOW),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.transition.action)
def test_what_was_enqueued_stays(change: Change) -> None:
    assert not set(change.values) & FOREVER
    assert change.values["updated_at"] == NOW
    assert change.after == replace(change.before, **change.values)
    assert change.after.status is change.transition.target


# -- the lease ---------------------------------------------------------------------------

SETTLE: dict[Action, Callable[[Job, str | None], Change | None]] = {
    Action.HEARTBEAT: lambda job, tok: decisions.heartbeat(job, **HEARTBEAT | {"lease_token": tok}),
    Action.COMPLETE: lambda job, tok: decisions.complete(job, **COMPLETE | {"lease_token": tok}),
    Action.FAIL: lambda job, tok: decisions.fail(job, **FAIL | {"lease_token": tok}),
    Action.RELEASE: lambda job, tok: decisions.release(job, **RELEASE | {"lease_token": tok}),
}


@pytest.mark.parametrize("action", SETTLE)
def test_a_running_job_is_settled_by_its_token_or_by_none(action: Action) -> None:
    assert done(SETTLE[action](a_running_job(), "tok")).transition.action is action
    assert done(SETTLE[action](a_running_job(), None)).transition.action is action


@pytest.mark.parametrize("action", SETTLE)
@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("token", ["late", "", "TOK", "tok "])
def test_another_token_holds_nothing(action: Action, status: Status, token: str) -> None:
    with pytest.raises(LeaseLostError) as refused:
        SETTLE[action](a_running_job(status=status), token)
    assert refused.value.code == "lease_lost"


@pytest.mark.parametrize("action", SETTLE)
def test_no_token_holds_a_job_whose_lease_expired(action: Action) -> None:
    job = done(decisions.expire(a_running_job(run_after=0), now=NOW, random=RANDOM)).after
    with pytest.raises(LeaseLostError):
        SETTLE[action](job, "tok")
    with pytest.raises(WrongStatusError, match="it is queued") as refused:
        SETTLE[action](job, None)
    assert refused.value.code == "not_running"


# -- asked again -------------------------------------------------------------------------

AGAIN = [Action.COMPLETE, Action.FAIL, Action.RELEASE]


@pytest.mark.parametrize("action", AGAIN)
@pytest.mark.parametrize("first", ["tok", None])
@pytest.mark.parametrize("second", ["tok", None])
def test_the_same_request_again_changes_nothing(
    action: Action, first: str | None, second: str | None
) -> None:
    job = done(SETTLE[action](a_running_job(), first)).after
    assert SETTLE[action](job, second) is None


def test_nor_does_it_once_the_job_is_dead() -> None:
    job = done(SETTLE[Action.FAIL](a_running_job(attempts=5), "tok")).after
    assert SETTLE[Action.FAIL](job, "tok") is None


@pytest.mark.parametrize("first", AGAIN)
@pytest.mark.parametrize("second", AGAIN)
def test_another_request_is_refused(first: Action, second: Action) -> None:
    job = done(SETTLE[first](a_running_job(), "tok")).after
    if first is not second:
        with pytest.raises(WrongStatusError):
            SETTLE[second](job, "tok")
    with pytest.raises(LeaseLostError):
        SETTLE[second](job, "late")


@pytest.mark.parametrize(
    "other",
    [{"result": '"s"'}, {"result": "null"}, {"result": '"r" '}],
)
def test_another_result_is_refused(other: dict[str, str]) -> None:
    job = done(decisions.complete(a_running_job(), **COMPLETE)).after
    with pytest.raises(WrongStatusError):
        decisions.complete(job, **COMPLETE | other)


@pytest.mark.parametrize(
    "other",
    [{"error": "bang"}, {"retry_in_seconds": 30}, {"retry_in_seconds": 0}, {"retry": False}],
)
def test_another_failure_is_refused(other: dict[str, Any]) -> None:
    job = done(decisions.fail(a_running_job(), **FAIL)).after
    with pytest.raises(WrongStatusError):
        decisions.fail(job, **FAIL | other)


@pytest.mark.parametrize("other", [{"run_after": NOW}, {"delay_seconds": 0}])
def test_another_release_is_refused(other: dict[str, int]) -> None:
    job = done(decisions.release(a_running_job(), **RELEASE)).after
    with pytest.raises(WrongStatusError):
        decisions.release(job, **RELEASE | other)


@pytest.mark.parametrize("action", AGAIN)
def test_the_same_body_under_the_next_lease_is_a_new_request(action: Action) -> None:
    job = done(SETTLE[Action.FAIL](a_running_job(), "tok")).after
    next_run = decisions.claim(
        job, lease_token="next", worker_id=None, lease_seconds=None, now=job.run_after
    ).after
    assert done(SETTLE[action](next_run, "next")).transition.action is action
    assert done(SETTLE[action](next_run, None)).transition.action is action


def test_the_moment_of_asking_is_no_part_of_the_request() -> None:
    job = done(decisions.complete(a_running_job(), **COMPLETE)).after
    assert decisions.complete(job, **COMPLETE | {"now": NOW + 1}) is None


def test_a_requeue_forgets_what_was_asked_before() -> None:
    dead = done(SETTLE[Action.FAIL](a_running_job(attempts=5), "tok")).after
    again = decisions.requeue(dead, run_after=None, fingerprint="new", now=NOW).after
    with pytest.raises(LeaseLostError):
        SETTLE[Action.FAIL](again, "tok")


# -- errors are cut ----------------------------------------------------------------------


@pytest.mark.parametrize("character", ["x", "é", "€", "😀"])
@pytest.mark.parametrize("limit", [INLINE_ERROR_BYTES, MAX_ERROR_BYTES])
def test_an_error_is_cut_at_bytes_of_utf_8(character: str, limit: int) -> None:
    width = len(character.encode())
    fits = "x" * (limit % width) + character * (limit // width)
    assert len(fits.encode()) == limit
    assert cut_error(fits, limit) == fits
    cut = cut_error(fits + "x", limit)
    mark = f"… [cut: {limit + 1:,} bytes]"
    assert cut.endswith(mark)
    assert limit - width < len(cut.encode()) <= limit
    assert fits.startswith(cut.removesuffix(mark))


@given(st.text(st.characters(categories=["L", "Cs", "So"]), max_size=30), st.integers(1, 100))
def test_any_error_can_be_stored(text: str, times: int) -> None:
    cut = cut_error(text * times, INLINE_ERROR_BYTES)
    assert len(cut.encode()) <= INLINE_ERROR_BYTES
    assert cut_error(cut, INLINE_ERROR_BYTES) == cut


def test_what_utf_8_cannot_carry_is_marked() -> None:
    assert cut_error("a\ud800b", 10) == "a?b"


def test_the_history_keeps_more_of_an_error_than_the_record() -> None:
    error = "é" * 50_000
    change = done(decisions.fail(a_running_job(), **FAIL | {"error": error}))
    assert change.attempt is not None
    assert change.values["last_error"] == cut_error(error, INLINE_ERROR_BYTES)
    assert change.attempt.error == cut_error(error, MAX_ERROR_BYTES)
    assert (INLINE_ERROR_BYTES, MAX_ERROR_BYTES) == (512, 4096)


def test_a_long_error_sent_again_is_recognised() -> None:
    long = FAIL | {"error": "é" * 50_000}
    job = done(decisions.fail(a_running_job(), **long)).after
    assert decisions.fail(job, **long) is None
    with pytest.raises(WrongStatusError):
        decisions.fail(job, **long | {"error": "é" * 49_999 + "xx"})
