"""Heartbeats, and how a handler hears that its lease is gone."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import (
    InvalidRequestError,
    Job,
    JobContext,
    JobQueue,
    LeaseLostError,
    NoAnswerError,
    Retries,
)
from job_retry_client.worker.leases import LeaseKeeper
from tests.client.fakes import FAILED, THROTTLED, UNAVAILABLE, job, problem
from tests.client.worker.fakes import LEASE_LOST, PATIENCE_SECONDS, FakeClock, FakeQueue, Gate, held

if TYPE_CHECKING:
    from job_retry_client.transports.base import Answer

LEASE = 30


class Kept:
    """A keeper on a queue, driven by the test: nothing happens but in `look`."""

    def __init__(self, *, renews: bool = True) -> None:
        self.clock = FakeClock()
        self.queue = FakeQueue()
        self.keeper = LeaseKeeper(
            JobQueue(self.queue, retries=Retries(attempts=1)), renews=renews, clock=self.clock
        )

    def claim(self, lease_seconds: int = LEASE) -> JobContext:
        """Claim a job, and keep its lease."""
        (job_id,) = self.queue.add(lease_seconds=lease_seconds)
        (claimed,) = self.queue.client.claim()
        assert claimed.id == job_id
        context = JobContext(claimed, self.keeper.report)
        self.keeper.keep(context, self.clock())
        return context

    def look(self, after: float) -> float:
        """Look once more, so many seconds after the last time; return when to look again."""
        self.clock.now += after
        return self.keeper.tick() - self.clock()

    def settled(self) -> None:
        """Wait until no heartbeat is under way."""
        with self.keeper._changed:
            assert self.keeper._changed.wait_for(
                lambda: not any(each.is_beating for each in self.keeper._leases.values()),
                PATIENCE_SECONDS,
            )

    @property
    def beats(self) -> int:
        """How many heartbeats there were."""
        return self.queue.count("heartbeat")


def test_a_heartbeat_at_a_third_of_the_lease() -> None:
    kept = Kept()
    kept.claim()
    assert kept.look(0) == pytest.approx(10)
    assert kept.look(9.9) == pytest.approx(0.1)
    assert kept.beats == 0
    for number in range(1, 6):
        kept.look(0.1 if number == 1 else 10)
        kept.settled()
        assert kept.beats == number
        assert kept.look(0) == pytest.approx(10)


def test_it_names_the_lease_and_nothing_else() -> None:
    kept = Kept()
    kept.claim()
    kept.look(10)
    kept.settled()
    assert kept.queue.bodies("heartbeat") == [{"lease_token": "1/1", "job_id": 1}]


def test_each_lease_has_its_own_time() -> None:
    kept = Kept()
    kept.claim(30)
    kept.claim(9)
    assert kept.look(0) == pytest.approx(3)
    kept.look(3)
    kept.settled()
    assert [body["job_id"] for body in kept.queue.bodies("heartbeat")] == [2]


def test_a_lease_is_as_long_as_the_claim_made_it() -> None:
    kept = Kept()
    shown = job(
        status="running",
        lease_token="t",
        lease_seconds=900,
        claimed_at="2030-01-01T00:00:00.000Z",
        lease_expires_at="2030-01-01T00:00:06.000Z",
    )
    kept.keeper.keep(JobContext(Job.from_answer(shown), kept.keeper.report), kept.clock())
    assert kept.look(0) == pytest.approx(2)


def test_it_is_reckoned_from_before_the_claim_was_sent() -> None:
    kept = Kept()
    context = kept.claim()
    kept.keeper.keep(context, kept.clock() - 4)
    assert kept.look(0) == pytest.approx(6)


def test_what_is_let_go_has_no_heartbeat() -> None:
    kept = Kept()
    context = kept.claim()
    kept.keeper.let_go(context)
    assert kept.look(10) == math.inf
    assert kept.keeper.is_over(context)
    assert kept.beats == 0


def test_what_is_let_go_while_a_heartbeat_waits_for_its_turn_has_none() -> None:
    kept, gate = Kept(), Gate()
    contexts = [kept.claim() for _ in range(9)]
    kept.queue.before = held(gate)
    kept.look(10)
    gate.wait_for_arrivals(8)  # all senders hang
    waiting = {each.job.id for each in contexts} - {
        body["job_id"] for body in kept.queue.bodies("heartbeat")
    }
    (last,) = (each for each in contexts if each.job.id in waiting)
    lease = kept.keeper._leases[last]
    kept.keeper.let_go(last)
    gate.open()
    with kept.keeper._changed:
        assert kept.keeper._changed.wait_for(lambda: not lease.is_beating, PATIENCE_SECONDS)
    assert kept.beats == 8


def test_a_lambda_worker_sends_none() -> None:
    kept = Kept(renews=False)
    context = kept.claim()
    assert kept.look(0) == pytest.approx(30)
    kept.look(29)
    assert kept.beats == 0
    assert not context.lease_lost
    kept.look(1)
    assert context.lease_lost


# -- the lease is lost -----------------------------------------------------------------


@pytest.mark.parametrize(
    "refusal", [LEASE_LOST, problem(409, "not_running"), problem(404, "not_found")]
)
def test_the_queue_says_so(refusal: Answer, caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    context = kept.claim()
    kept.queue.before = lambda _verb, _body: refusal
    with caplog.at_level(logging.WARNING):
        kept.look(10)
        kept.settled()
        assert context.wait(PATIENCE_SECONDS)
    assert context.lease_lost
    assert context.is_taken_away
    assert context.should_stop
    assert kept.look(100) == math.inf
    assert kept.beats == 1
    assert "job 1: the lease is lost" in caplog.text


def test_the_clock_says_so() -> None:
    kept = Kept()
    context = kept.claim()
    kept.queue.before = lambda _verb, _body: FAILED
    kept.look(10)
    kept.settled()
    kept.look(19.9)
    kept.settled()
    before = (context.lease_lost, context.should_stop, kept.keeper.is_over(context))
    assert before == (False, False, False)
    beats = kept.beats
    assert kept.look(0.1) == math.inf
    assert context.lease_lost
    assert context.should_stop
    assert not context.is_taken_away
    assert kept.keeper.is_over(context)
    kept.look(10)
    assert kept.beats == beats


def test_a_heartbeat_that_hangs_holds_up_neither_the_clock_nor_others() -> None:
    kept, gate = Kept(), Gate()
    hanging = kept.claim()
    kept.queue.before = lambda _verb, body: gate.wait() if body.get("job_id") == 1 else None
    kept.look(5)
    other = kept.claim()
    kept.look(5)
    gate.wait_for_arrivals()
    kept.look(5)
    kept.queue.wait_for(lambda: kept.beats == 2)
    kept.look(15)
    assert hanging.lease_lost
    assert not other.lease_lost
    assert sum(body["job_id"] == 1 for body in kept.queue.bodies("heartbeat")) == 1
    gate.open()


def test_a_late_answer_renews_from_when_it_was_asked() -> None:
    kept, gate = Kept(), Gate()
    context = kept.claim()
    kept.queue.before = held(gate)
    kept.look(10)
    gate.wait_for_arrivals()
    kept.look(15)
    gate.open()
    kept.settled()
    assert kept.keeper._leases[context].ends_at - kept.clock() == pytest.approx(15)


def test_of_two_that_cross_each_other_the_later_counts() -> None:
    kept, gate = Kept(), Gate()
    context = kept.claim()
    kept.queue.after = lambda _verb, body: gate.wait() if "progress" not in body else None
    kept.look(10)
    gate.wait_for_arrivals()
    kept.look(5)
    context.report_progress("half")
    gate.open()
    kept.settled()
    assert kept.keeper._leases[context].ends_at - kept.clock() == pytest.approx(30)
    assert kept.look(0) == pytest.approx(10)


def test_a_heartbeat_that_crosses_a_complete_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    context = kept.claim()
    kept.queue.before = lambda _verb, _body: LEASE_LOST
    context.end()  # the settler is telling the queue
    with caplog.at_level(logging.WARNING):
        kept.look(10)
        kept.settled()
    assert not context.lease_lost
    assert caplog.text == ""
    # and not again and again, until the queue has been told
    assert kept.look(0) == pytest.approx(20)
    kept.look(10)
    kept.settled()
    assert kept.beats == 1


def test_a_job_that_came_again_is_not_its_late_runs() -> None:
    kept = Kept()
    late = kept.claim()
    kept.look(30)
    kept.queue.jobs[1] |= {"status": "queued"}
    (again,) = kept.queue.client.claim()
    context = JobContext(again, kept.keeper.report)
    kept.keeper.keep(context, kept.clock())
    kept.keeper.let_go(late)
    assert not kept.keeper.is_over(context)
    kept.look(10)
    kept.settled()
    assert kept.queue.bodies("heartbeat") == [{"lease_token": "1/2", "job_id": 1}]


def test_a_lease_that_is_let_end_has_no_heartbeat() -> None:
    kept = Kept()
    context = kept.claim()
    kept.keeper.let_end(context)
    kept.keeper.let_end(JobContext(context.job, kept.keeper.report))
    assert kept.look(10) == pytest.approx(20)
    assert kept.look(20) == math.inf
    assert kept.keeper.is_over(context)
    assert kept.beats == 0


# -- the queue does not answer ---------------------------------------------------------


class OddError(Exception):
    """Of a transport that does not keep to its contract."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("failure", [FAILED, NoAnswerError("down", was_sent=True), OddError()])
def test_a_heartbeat_that_failed_is_sent_again_soon(
    failure: Answer | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    kept = Kept()
    context = kept.claim()

    def fail(_verb: str, _body: object) -> Answer:
        if isinstance(failure, Exception):
            raise failure
        return failure

    kept.queue.before = fail
    kept.look(10)
    kept.settled()
    assert kept.look(0) == pytest.approx(2.5)
    kept.look(2.4)
    assert kept.beats == 1
    kept.look(0.1)
    kept.settled()
    assert kept.beats == 2
    kept.queue.before = lambda _verb, _body: None
    kept.look(2.5)
    kept.settled()
    assert kept.look(0) == pytest.approx(10)
    assert not context.lease_lost


@pytest.mark.parametrize("busy", [THROTTLED, UNAVAILABLE])
def test_a_queue_that_is_too_busy_is_left_alone_while_there_is_time(busy: Answer) -> None:
    kept = Kept()
    kept.claim(3)
    kept.queue.before = lambda _verb, _body: busy
    kept.look(1)
    kept.settled()
    assert kept.look(0) == pytest.approx(1)  # as it asks, and not 0.25
    kept.look(1)
    kept.settled()
    assert kept.look(0) == pytest.approx(0.5)  # half of what is left


# -- progress --------------------------------------------------------------------------


def test_progress_renews_the_lease() -> None:
    kept = Kept()
    context = kept.claim()
    kept.look(9)
    context.report_progress({"done": 3})
    assert kept.queue.jobs[1]["progress"] == {"done": 3}
    assert kept.look(0) == pytest.approx(10)


def test_progress_without_a_lease_tells_the_handler() -> None:
    kept = Kept()
    context = kept.claim()
    kept.queue.give_to_another(1)
    with pytest.raises(LeaseLostError):
        context.report_progress(1)
    assert context.lease_lost
    assert kept.look(100) == math.inf


def test_progress_that_is_refused_leaves_the_lease() -> None:
    kept = Kept()
    context = kept.claim()
    kept.queue.before = lambda _verb, _body: problem(413, "too_large")
    with pytest.raises(InvalidRequestError):
        context.report_progress("x" * 2_000)
    unheard_of: Any = object()
    with pytest.raises(TypeError):
        context.report_progress(unheard_of)
    assert not context.lease_lost
    assert kept.look(0) == pytest.approx(10)


def test_progress_after_the_lease_ended_by_the_clock_keeps_the_job() -> None:
    kept = Kept()
    context = kept.claim()
    kept.queue.before = lambda _verb, _body: FAILED
    kept.look(10)
    kept.settled()
    kept.look(20)
    assert context.lease_lost
    kept.queue.before = lambda _verb, _body: None
    context.report_progress(1)
    assert not kept.keeper.is_over(context)
    assert kept.look(0) == pytest.approx(10)


# -- the thread ------------------------------------------------------------------------


def test_the_thread_hears_of_every_lease() -> None:
    """One that comes between its look and its wait as well."""
    queue, clock = FakeQueue(), FakeClock()
    keeper = LeaseKeeper(queue.client, clock=clock)
    looked = Gate()
    tick = keeper.tick

    def look() -> float:
        next_at = tick()
        looked.open()
        return next_at

    keeper.tick = look  # type: ignore[method-assign]
    keeper.start()
    looked.wait()
    queue.add()
    (claimed,) = queue.client.claim()
    clock_before = clock.now
    clock.now += 300
    keeper.keep(JobContext(claimed, keeper.report), clock_before)
    queue.wait_for(lambda: queue.count("heartbeat") == 1)
    keeper.close()


def test_after_the_end_nothing_is_renewed() -> None:
    kept = Kept()
    context = kept.claim()
    kept.keeper.close()
    assert kept.look(10) == math.inf
    assert kept.keeper.is_over(context)
