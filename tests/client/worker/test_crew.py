"""A stretch of work: claims, runs, the end by itself, and the end by a stop."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import (
    Discard,
    InvalidRequestError,
    JobContext,
    NoAnswerError,
    RetryIn,
    Snooze,
)
from job_retry_client.worker.crew import ClaimPlan, Crew, Settings
from job_retry_client.worker.handlers import Handlers, Registered
from tests.client.fakes import FAILED, THROTTLED, answer, problem
from tests.client.worker.fakes import PATIENCE_SECONDS, FakeQueue, Gate, Running, a_context, held

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from job_retry_client.transports.base import Answer
    from tests.client.worker.fakes import FakeClock

SETTINGS = Settings(
    queues=["default"],
    worker_id="w",
    concurrency=4,
    grace_seconds=600.0,
    max_poll_seconds=0.002,
    last_words_seconds=60.0,
)


class Work:
    """A crew on a queue, with one handler for all that the test enqueues."""

    def __init__(
        self,
        handler: Callable[[JobContext], Any] = lambda _: None,
        *,
        clock: FakeClock | None = None,
        plan: Callable[[], ClaimPlan | None] = ClaimPlan,
        **settings: Any,
    ) -> None:
        self.queue = FakeQueue()
        self.handlers = Handlers()
        self.handlers.add("mail", Registered(handler, None))
        more: dict[str, Any] = {} if clock is None else {"clock": clock}
        self.crew = Crew(
            self.queue.client, self.handlers, replace(SETTINGS, **settings), plan, **more
        )

    def run(self, *, until_idle: bool = True) -> Running:
        """Let it work beside the test; what it returns in the end are the counts."""

        def work() -> Mapping[str, int]:
            self.crew.work(until_idle=until_idle)
            self.handlers.event_loop.close(PATIENCE_SECONDS)
            return self.crew.ledger.counts

        return Running(work)


# -- work ------------------------------------------------------------------------------


def test_all_jobs_are_worked_on_and_their_results_told() -> None:
    work = Work(lambda context: context.job.id * 2)
    work.queue.add(number=60)
    assert work.run().end() == {"completed": 60}
    assert all(each["result"] == each["id"] * 2 for each in work.queue.jobs.values())


def test_each_way_to_end_is_counted() -> None:
    ways: dict[int, Exception] = {
        2: ValueError("x"),
        3: Discard("no"),
        4: RetryIn(60),
        5: Snooze(300),
    }

    def handler(context: JobContext) -> None:
        if context.job.id in ways:
            raise ways[context.job.id]

    work = Work(handler)
    work.queue.add(number=5)
    work.queue.add("strange")
    assert work.run().end() == {"completed": 1, "failed": 2, "dead": 1, "released": 2}
    attempts = {each["id"]: each["attempts"] for each in work.queue.jobs.values()}
    assert attempts == {1: 1, 2: 1, 3: 1, 4: 1, 5: 0, 6: 0}
    delays = {b["job_id"]: b["delay_seconds"] for b in work.queue.bodies("release")}
    assert delays == {5: 300, 6: 60}
    assert {each["id"]: each.get("retry_in_seconds") for each in failures(work)} == {
        2: None,
        3: None,
        4: 60,
    }


def failures(work: Work) -> list[dict[str, Any]]:
    return [each for body in work.queue.bodies("fail") for each in body["jobs"]]


@pytest.mark.parametrize("concurrency", [1, 3, 100])
def test_never_more_handlers_at_once_than_said(concurrency: int) -> None:
    gate, lock = Gate(), threading.Lock()
    running = most = 0

    def handler(_context: JobContext) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait()
        with lock:
            running -= 1

    work = Work(handler, concurrency=concurrency)
    work.queue.add(number=3 * concurrency)
    working = work.run()
    gate.wait_for_arrivals(concurrency)
    gate.open()
    assert working.end() == {"completed": 3 * concurrency}
    assert most == concurrency


def test_a_claim_asks_for_no_more_than_there_is_room_for() -> None:
    gate = Gate()
    work = Work(lambda _: gate.wait(), concurrency=40)
    work.queue.add(number=60)
    running = work.run()
    gate.wait_for_arrivals(40)
    claims = [body["max_jobs"] for body in work.queue.bodies("claim")]
    assert claims[0] == 25
    assert sum(claims) == 40
    gate.open()
    assert running.end() == {"completed": 60}


def test_a_claim_says_what_the_plan_and_the_settings_do() -> None:
    work = Work(plan=lambda: ClaimPlan(["mail"], 30), queues=["b", "a"])
    assert work.run().end() == {}
    assert work.queue.bodies("claim") == [
        {
            "queues": ["b", "a"],
            "worker_id": "w",
            "job_types": ["mail"],
            "lease_seconds": 30,
            "max_jobs": 4,
        }
    ]


def test_jobs_that_a_handler_enqueues_are_worked_on_too() -> None:
    """Also where the claim that found nothing was asked before, and answered afterwards."""
    gate = Gate()

    def handler(context: JobContext) -> None:
        if context.job.id < 6:
            gate.wait()
            work.queue.add()

    def after(verb: str, _body: object) -> None:
        if verb == "claim" and work.queue.jobs[1]["status"] == "running" and not gate.arrived:
            return
        if verb == "claim" and work.queue.count("claim") > 1 and not released.is_set():
            # the empty answer is held back until the handler's outcome has been told
            gate.open()
            work.queue.wait_for(lambda: work.queue.jobs[1]["status"] == "completed")
            released.set()

    released = threading.Event()
    work = Work(handler)
    work.queue.after = after
    work.queue.add()
    assert work.run().end() == {"completed": 6}


def test_an_end_told_while_an_empty_claim_was_under_way_is_noticed() -> None:
    """What was told between the claim's answer and the wait is no reason to wait for ever."""
    gate, told = Gate(), threading.Event()

    def after(verb: str, _body: object) -> None:
        if verb == "claim" and work.queue.count("claim") == 2:
            gate.open()
            told_all()

    def told_all() -> None:
        while not work.crew.ledger.is_empty:
            told.wait(0.001)

    work = Work(lambda _: gate.wait(), max_poll_seconds=3600.0)
    work.queue.retry_after_seconds = 3600.0
    work.queue.after = after
    work.queue.add()
    assert work.run().end() == {"completed": 1}


def test_a_claim_that_has_not_looked_at_all_lanes_is_no_end() -> None:
    def before(verb: str, _body: object) -> None:
        if verb == "claim" and work.queue.count("claim") == 5:
            work.queue.add()  # what the claims before did not see

    work = Work()
    work.queue.lanes_unseen = True
    work.queue.before = before
    assert work.run().end() == {"completed": 1}


def test_after_so_many_in_a_row_it_is_the_end() -> None:
    work = Work()
    work.queue.lanes_unseen = True
    assert work.run().end() == {}
    assert work.queue.count("claim") == 8


def test_a_job_that_is_found_begins_the_row_anew() -> None:
    def before(verb: str, _body: object) -> None:
        if verb == "claim" and work.queue.count("claim") in range(6, 66, 6):
            work.queue.add()

    work = Work()
    work.queue.lanes_unseen = True
    work.queue.before = before
    assert work.run().end() == {"completed": 10}


def test_it_is_the_end_once_a_claim_has_looked_at_all_lanes() -> None:
    def after(_verb: str, _body: object) -> None:
        work.queue.lanes_unseen = work.queue.count("claim") < 2

    work = Work()
    work.queue.lanes_unseen = True
    work.queue.after = after
    assert work.run().end() == {}
    assert work.queue.count("claim") == 3


def test_a_polling_worker_comes_back_when_the_queue_says_wherever_it_looked() -> None:
    pauses: list[float | None] = []

    def after_answer(seconds: float | None) -> float:
        pauses.append(seconds)
        return 0.001

    work = Work()
    work.queue.lanes_unseen = True
    work.queue.retry_after_seconds = 3.5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work.crew._polling, "after_answer", after_answer)
        running = work.run(until_idle=False)
        work.queue.wait_for(lambda: work.queue.count("claim") > 10)
        work.crew.stop()
        running.end()
    assert set(pauses) == {3.5}


def test_what_becomes_due_during_a_long_run_does_not_wait_for_its_end() -> None:
    gate = Gate()
    work = Work(lambda context: gate.wait() if context.job.id == 1 else None)
    work.queue.add()
    running = work.run()
    gate.wait_for_arrivals()
    work.queue.wait_for(lambda: work.queue.count("claim") >= 3)
    work.queue.add()
    work.queue.wait_for(lambda: work.queue.jobs[2]["status"] == "completed")
    gate.open()
    assert running.end() == {"completed": 2}


def test_an_idle_worker_goes_on_looking() -> None:
    work = Work()
    running = work.run(until_idle=False)
    work.queue.wait_for(lambda: work.queue.count("claim") >= 3)
    work.queue.add()
    work.queue.wait_for(lambda: work.queue.statuses()["completed"] == 1)
    work.crew.stop()
    assert running.end() == {"completed": 1}


def test_without_a_plan_there_is_no_claim() -> None:
    work = Work(plan=lambda: None)
    work.queue.add()
    assert work.run().end() == {}
    assert work.queue.requests == []


# -- claims that fail ------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [
        FAILED,
        THROTTLED,
        problem(403, ""),
        problem(400, ""),
        NoAnswerError("down", was_sent=True),
        OSError(),
    ],
)
def test_a_claim_that_fails_is_asked_again_later(
    failure: Answer | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[object] = []
    work = Work()

    def after_error(error: Exception) -> float:
        pauses.append(error)
        return 0.0

    monkeypatch.setattr(work.crew._polling, "after_error", after_error)

    def fail(verb: str, _body: object) -> Answer | None:
        if verb != "claim" or work.queue.count("claim") > 3:
            return None
        if isinstance(failure, Exception):
            raise failure
        return failure

    work.queue.before = fail
    work.queue.add()
    assert work.run().end() == {"completed": 1}
    assert len(pauses) == 3


def test_a_claim_that_brings_jobs_ends_the_growth_of_pauses() -> None:
    gate = Gate()
    work = Work(lambda _: gate.wait(), concurrency=1)
    work.crew._polling._errors = 3
    work.queue.add()
    running = work.run()
    gate.wait_for_arrivals()
    assert work.crew._polling._errors == 0
    gate.open()
    assert running.end() == {"completed": 1}


def test_a_claim_that_the_queue_does_not_understand_ends_the_work() -> None:
    gate = Gate()
    work = Work(lambda _: gate.wait())
    work.queue.add()
    refusals = Gate()

    def refuse(verb: str, _body: object) -> Answer | None:
        if verb == "claim" and work.queue.count("claim") > 1:
            refusals.open()
            return problem(422, "invalid_field")
        return None

    work.queue.before = refuse
    running = work.run(until_idle=False)
    refusals.wait()
    gate.open()
    with pytest.raises(InvalidRequestError):
        running.end()
    assert work.queue.statuses() == {"completed": 1}  # it was let finish


def test_claims_are_made_once_each_whatever_the_clients_retries() -> None:
    """The worker's own pauses end when it is to stop; those of the client would not."""
    work = Work()
    failed = Gate()

    def fail(_verb: str, _body: object) -> Answer:
        failed.open()
        return problem(503, "unavailable", 20)

    work.queue.before = fail
    running = work.run(until_idle=False)
    failed.wait()
    work.crew.stop()
    assert running.end() == {}
    assert work.queue.count("claim") == 1


# -- the lease is lost -----------------------------------------------------------------


def test_a_handler_without_a_lease_is_told_and_its_outcome_dropped() -> None:
    seen = []

    def handler(context: JobContext) -> str:
        seen.append(context.wait(PATIENCE_SECONDS))
        seen.append(context.lease_lost)
        return "in vain"

    def take(verb: str, body: dict[str, Any]) -> None:
        if verb == "heartbeat":
            work.queue.give_to_another(body["job_id"])

    work = Work(handler)
    work.queue.before = take
    work.queue.add(lease_seconds=1)
    assert work.run().end() == {"lost": 1}
    assert seen == [True, True]
    assert work.queue.count("complete") == 0
    assert work.queue.jobs[1]["status"] == "running"


# -- the end by a stop -----------------------------------------------------------------


def test_a_stop_lets_running_handlers_finish() -> None:
    gate = Gate()
    work = Work(lambda _: gate.wait())
    work.queue.add(number=6)
    running = work.run(until_idle=False)
    gate.wait_for_arrivals(4)
    work.crew.stop()
    gate.open()
    assert running.end() == {"completed": 4}
    assert work.queue.statuses() == {"completed": 4, "queued": 2}
    assert [each["attempts"] for each in work.queue.jobs.values()] == [1, 1, 1, 1, 0, 0]


def test_a_stop_tells_the_handlers() -> None:
    began = Gate()

    def handler(context: JobContext) -> bool:
        began.open()
        stopped = context.wait(PATIENCE_SECONDS)
        assert context.should_stop
        assert not context.lease_lost
        return stopped

    work = Work(handler)
    work.queue.add()
    running = work.run(until_idle=False)
    began.wait()
    work.crew.stop()
    assert running.end() == {"completed": 1}
    assert work.queue.jobs[1]["result"] is True


def test_a_stop_ends_the_pause_of_an_idle_worker() -> None:
    work = Work(max_poll_seconds=3600.0)
    work.queue.retry_after_seconds = 3600.0
    running = work.run(until_idle=False)
    work.queue.wait_for(lambda: work.queue.count("claim") == 1)
    work.crew.stop()
    assert running.end() == {}


@pytest.mark.parametrize("how", ["grace over", "asked again"])
def test_what_is_not_done_in_time_is_given_back(how: str) -> None:
    gate = Gate()
    work = Work(
        lambda _: gate.wait(), concurrency=30, grace_seconds=0.0 if how == "grace over" else 600.0
    )
    work.queue.add(number=40)
    running = work.run(until_idle=False)
    gate.wait_for_arrivals(30)
    work.crew.stop()
    if how == "asked again":
        work.crew.stop()
    assert running.end() == {"released": 30}
    assert work.queue.statuses() == {"queued": 40}
    assert {each["attempts"] for each in work.queue.jobs.values()} == {0}
    assert {body["delay_seconds"] for body in work.queue.bodies("release")} == {0}
    before = len(work.queue.requests)
    gate.open()  # late outcomes are dropped
    assert handlers_end()
    assert len(work.queue.requests) == before
    assert work.queue.count("complete") == 0
    assert work.crew.ledger.counts == {"released": 30}


@pytest.mark.parametrize("seconds", [math.inf, 1e12, 1e300, 10**9])
def test_a_grace_beyond_all_clocks_lets_handlers_finish(seconds: float) -> None:
    gate, told = Gate(), Gate()

    def handler(context: JobContext) -> None:
        assert context.wait(seconds)
        told.open()
        gate.wait()

    work = Work(handler, grace_seconds=seconds)
    work.queue.add()
    running = work.run(until_idle=False)
    work.queue.wait_for(lambda: work.queue.statuses()["running"] == 1)
    work.crew.stop()
    told.wait()
    gate.open()
    assert running.end() == {"completed": 1}


def test_a_grace_without_an_end_has_one_when_asked_again() -> None:
    gate = Gate()
    work = Work(lambda _: gate.wait(), grace_seconds=math.inf)
    work.queue.add()
    running = work.run(until_idle=False)
    gate.wait_for_arrivals()
    work.crew.stop()
    work.crew.stop()
    assert running.end() == {"released": 1}
    gate.open()


def test_a_pause_beyond_all_clocks_ends_with_a_stop() -> None:
    work = Work(max_poll_seconds=math.inf)
    work.queue.retry_after_seconds = 1e300
    running = work.run(until_idle=False)
    work.queue.wait_for(lambda: work.queue.count("claim") == 1)
    work.crew.stop()
    assert running.end() == {}


def handlers_end() -> bool:
    """Wait until no handler's thread is left."""
    for thread in threading.enumerate():
        if thread.name.startswith("handler-"):
            thread.join(PATIENCE_SECONDS)
    return not any(each.name.startswith("handler-") for each in threading.enumerate())


def test_coroutines_that_are_not_done_in_time_are_cancelled() -> None:
    began, ended = Gate(), Gate()

    async def hang(_context: JobContext) -> None:
        began.open()
        try:
            await asyncio.Event().wait()
        finally:
            ended.open()

    work = Work(hang, grace_seconds=0.0)
    work.queue.before = held(ended, "release")  # no other worker gets the job before that
    work.queue.add()
    running = work.run(until_idle=False)
    began.wait()
    work.crew.stop()
    assert running.end() == {"released": 1}
    ended.wait()
    assert handlers_end()


def test_what_a_claim_under_way_brings_is_given_back_at_once() -> None:
    gate, claimed = Gate(), Gate()
    ran: list[JobContext] = []

    def before(verb: str, _body: object) -> None:
        if verb == "claim":
            claimed.open()
            gate.wait()

    work = Work(ran.append)
    work.queue.before = before
    work.queue.add(number=4)
    running = work.run(until_idle=False)
    claimed.wait()
    work.crew.stop()
    gate.open()
    assert running.end() == {"released": 4}
    assert {each["attempts"] for each in work.queue.jobs.values()} == {0}
    assert ran == []


def test_what_was_given_up_before_its_turn_is_not_begun() -> None:
    ran: list[JobContext] = []
    work, context = Work(ran.append), a_context()
    work.crew.ledger.start(context)
    context.end()
    work.crew._work_on(context)
    assert ran == []


@pytest.mark.parametrize("is_noticed", [True, False])
def test_what_lost_its_lease_before_its_turn_is_given_back(*, is_noticed: bool) -> None:
    ran: list[JobContext] = []
    work = Work(ran.append)
    work.queue.add()
    (claimed,) = work.queue.client.claim()
    context = JobContext(claimed, work.crew._keeper.report)
    work.crew.ledger.start(context)
    work.crew._keeper.keep(context, -math.inf)
    if is_noticed:
        context.lose_lease(is_certain=False)
    work.crew._work_on(context)
    work.crew.ledger.end_claims()
    work.crew.ledger.wait_until_told(PATIENCE_SECONDS)
    assert work.crew.ledger.counts == {"released": 1}
    assert ran == []
    assert work.queue.jobs[1]["attempts"] == 0


def test_a_claim_that_hangs_does_not_hold_up_the_end() -> None:
    gate, claimed = Gate(), Gate()
    handling = Gate()

    def before(verb: str, _body: object) -> None:
        if verb == "claim" and work.queue.count("claim") > 1:
            claimed.open()
            gate.wait()

    def handler(context: JobContext) -> None:
        handling.open()
        assert context.wait(PATIENCE_SECONDS)  # it hears of the stop, though the claim hangs

    work = Work(handler, grace_seconds=0.05, last_words_seconds=0.05)
    work.queue.before = before
    work.queue.add()
    running = work.run(until_idle=False)
    handling.wait()
    claimed.wait()
    work.crew.stop()
    running.end()
    assert work.queue.count("claim") == 2
    gate.open()


def test_a_stop_while_the_queue_cannot_be_told() -> None:
    """It is tried, and the work ends; what could not be told is counted, and no more is sent."""
    failed = Gate()

    def fail(verb: str, _body: object) -> Answer | None:
        if verb == "claim":
            return None
        failed.open()
        return problem(503, "unavailable", 20)

    work = Work(grace_seconds=0.0, last_words_seconds=0.0)
    work.queue.before = fail
    work.queue.add()
    running = work.run(until_idle=False)
    failed.wait()
    work.crew.stop()
    assert running.end() == {"lost": 1}


def test_leases_are_kept_until_the_queue_has_been_told() -> None:
    def fail(verb: str, _body: object) -> Answer | None:
        if verb == "complete" and work.queue.count("heartbeat") < 3:
            return FAILED
        return None

    work = Work()
    work.queue.before = fail
    work.queue.add(lease_seconds=1)
    assert work.run().end() == {"completed": 1}
    assert work.queue.count("heartbeat") >= 3


def test_the_queue_is_away_for_a_while_and_comes_back() -> None:
    gate = Gate()
    away = [True]

    def fail(verb: str, _body: object) -> Answer | None:
        if away[0] and verb == "complete":
            gate.open()
        if away[0] and gate._open.is_set():
            raise NoAnswerError("down", was_sent=False)
        return None

    work = Work(concurrency=10)
    work.queue.before = fail
    work.queue.add(number=50)
    running = work.run()
    gate.wait()
    work.queue.wait_for(lambda: work.queue.count("complete") >= 2)
    away[0] = False
    assert running.end() == {"completed": 50}
    assert {each["attempts"] for each in work.queue.jobs.values()} == {1}


# -- odd handlers ----------------------------------------------------------------------


class UntellableError(BaseException):
    """Nothing about it can be told."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


def test_no_exception_costs_a_thread(caplog: pytest.LogCaptureFixture) -> None:
    """After each, one of the two threads works on the next."""
    errors = [UntellableError(), SystemExit(), KeyboardInterrupt(), ValueError(), GeneratorExit()]

    def handler(context: JobContext) -> None:
        if context.job.id <= len(errors):
            raise errors[context.job.id - 1]

    work = Work(handler, concurrency=2)
    work.queue.add(number=20)
    with caplog.at_level(logging.CRITICAL):
        assert work.run().end() == {"completed": 15, "failed": 5}
    assert Counter(each["error"].split(":")[0].split("\n")[0] for each in failures(work)) == {
        "UntellableError": 1,
        "SystemExit": 1,
        "KeyboardInterrupt": 1,
        "ValueError": 1,
        "GeneratorExit": 1,
    }


def test_results_that_are_no_json_are_failed_runs_and_no_loop() -> None:
    results: list[object] = [float("nan"), {1, 2}, "fine", "x" * 3_000_000]
    work = Work(lambda context: results[context.job.id - 1])
    work.queue.add(number=4)
    assert work.run().end() == {"completed": 1, "failed": 3}


class OddRetryIn(RetryIn):
    """Made without what it needs."""

    def __init__(self) -> None:
        """Leave out the seconds."""


def test_a_word_to_the_queue_that_is_not_whole_is_a_failed_run() -> None:
    def handler(_context: JobContext) -> None:
        raise OddRetryIn

    work = Work(handler)
    work.queue.add()
    assert work.run().end() == {"failed": 1}
    assert failures(work)[0]["error"].startswith("AttributeError")


def test_a_stop_from_within_a_handler() -> None:
    work = Work(lambda _: work.crew.stop(), concurrency=1)
    work.queue.add(number=3)
    assert work.run(until_idle=False).end() == {"completed": 1}
    assert work.queue.statuses() == {"completed": 1, "queued": 2}


def test_a_claim_answered_oddly_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work()
    monkeypatch.setattr(work.crew._polling, "after_error", lambda _: 0.0)
    work.queue.before = lambda _verb, _body: (
        answer({"hello": 1}) if work.queue.count("claim") == 1 else None
    )
    work.queue.add()
    assert work.run().end() == {"completed": 1}
