"""Telling the queue outcomes: together, again, in other words, or not at all."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import Failure, Job, JobContext, JobQueue, NoAnswerError, Retries
from job_retry_client.worker.leases import LeaseKeeper
from job_retry_client.worker.ledger import Ledger
from job_retry_client.worker.outcomes import Completed, Released
from job_retry_client.worker.settling import Settlement, Settler
from tests.client.fakes import FAILED, LOST, THROTTLED, answer, problem, results
from tests.client.worker.fakes import (
    LEASE_LOST,
    PATIENCE_SECONDS,
    FakeClock,
    FakeQueue,
    Gate,
    held,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from job_retry_client.transports.base import Answer
    from job_retry_client.worker.outcomes import Outcome


class Told:
    """A settler on a queue, driven by the test through `settle`, or by its own threads."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.queue = FakeQueue()
        once = JobQueue(self.queue, retries=Retries(attempts=1))
        self.ledger = Ledger(100)
        self.ledger.end_claims()
        self.keeper = LeaseKeeper(once, clock=self.clock)
        self.settler = Settler(once, self.ledger, self.keeper, clock=self.clock)

    def runs(self, number: int, **fields: Any) -> list[JobContext]:
        """Claim jobs, and let their handlers be at work."""
        self.queue.add(number=number, **fields)
        claimed: list[Job] = []
        while len(claimed) < number:
            claimed += self.queue.client.claim(max_jobs=25)
        runs = [JobContext(each, self.keeper.report) for each in claimed]
        for run in runs:
            self.ledger.start(run)
            self.keeper.keep(run, self.clock())
        return runs

    def ended(self, run: JobContext, outcome: Outcome) -> Settlement:
        """Let a handler end."""
        assert run.end()
        self.ledger.finish(run, is_to_be_told=True)
        return Settlement(run, outcome, self.clock())

    def end(self, run: JobContext, outcome: Outcome) -> None:
        """Let a handler end, and have the settler's threads do the rest."""
        self.ended(run, outcome)
        self.settler.add(run, outcome)

    def settle_all(self, settlements: list[Settlement], rounds: int = 10) -> int:
        """Settle until nothing is to be told again, and return in which round that was."""
        for number in range(1, rounds + 1):
            settlements = self.settler.settle(settlements)
            if not settlements:
                return number
        return rounds + 1

    def wait(self) -> None:
        """Wait until the threads have told all."""
        self.ledger.wait_until_told(PATIENCE_SECONDS)
        assert self.ledger.untold() == []

    def wait_until_put_back(self) -> None:
        """Wait until something is to be told again, later."""
        with self.settler._changed:
            assert self.settler._changed.wait_for(
                lambda: any(each.tries for each in self.settler._waiting), PATIENCE_SECONDS
            )


@pytest.fixture
def told() -> Iterator[Told]:
    made = Told()
    yield made
    made.settler.close()
    made.keeper.close()


# -- together --------------------------------------------------------------------------


def test_each_kind_is_one_request(told: Told) -> None:
    runs = told.runs(6)
    outcomes: list[Outcome] = [
        Completed(1),
        Failure("e"),
        Completed([2]),
        Released(5),
        Failure("f", 9),
        Released(),
    ]
    settlements = [told.ended(run, each) for run, each in zip(runs, outcomes, strict=True)]
    assert told.settler.settle(settlements) == []
    assert told.queue.bodies("complete") == [
        {
            "jobs": [
                {"id": 1, "lease_token": "1/1", "result": 1},
                {"id": 3, "lease_token": "3/1", "result": [2]},
            ]
        }
    ]
    assert told.queue.bodies("fail") == [
        {
            "jobs": [
                {"id": 2, "lease_token": "2/1", "error": "e", "retry": True},
                {
                    "id": 5,
                    "lease_token": "5/1",
                    "error": "f",
                    "retry": True,
                    "retry_in_seconds": 9,
                },
            ]
        }
    ]
    assert told.queue.bodies("release") == [
        {"job_id": 4, "lease_token": "4/1", "delay_seconds": 5},
        {"job_id": 6, "lease_token": "6/1", "delay_seconds": 0},
    ]
    assert told.ledger.counts == {"completed": 2, "failed": 2, "released": 2}
    assert told.ledger.is_empty
    assert all(told.keeper.is_over(run) for run in runs)


def test_what_died_is_counted_as_that(told: Told) -> None:
    first, second = told.runs(2, max_attempts=1)
    told.settle_all(
        [told.ended(first, Failure("e")), told.ended(second, Failure("e", retry=False))]
    )
    assert told.ledger.counts == {"dead": 2}


def test_what_ends_during_a_request_goes_with_the_next(told: Told) -> None:
    gate = Gate()
    runs = told.runs(31)
    told.queue.before = held(gate)
    told.settler.start()
    told.end(runs[0], Completed(0))
    gate.wait_for_arrivals(1)
    for run in runs[1:]:
        told.end(run, Completed(0))
    gate.open()
    told.wait()
    assert [len(body["jobs"]) for body in told.queue.bodies("complete")] == [1, 25, 5]


def test_one_that_ends_alone_does_not_wait_for_others(told: Told) -> None:
    (run,) = told.runs(1)
    told.settler.start()
    told.end(run, Completed(0))
    told.wait()
    assert told.queue.count("complete") == 1


# -- again -----------------------------------------------------------------------------


def test_a_lost_answer_is_asked_for_again_and_counts_once(told: Told) -> None:
    lost = []

    def lose(verb: str, _body: object) -> Answer | None:
        lost.append(verb)
        if lost.count(verb) == 1:
            raise LOST
        return None

    runs = told.runs(3)
    told.queue.after = lose
    outcomes: list[Outcome] = [Completed(1), Failure("e"), Released(3)]
    settlements = [told.ended(run, each) for run, each in zip(runs, outcomes, strict=True)]
    assert told.settle_all(settlements) == 2
    assert told.ledger.counts == {"completed": 1, "failed": 1, "released": 1}
    assert [each["attempts"] for each in told.queue.jobs.values()] == [1, 1, 0]


class OddError(Exception):
    """Of a transport that does not keep to its contract."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "failure",
    [
        FAILED,
        THROTTLED,
        NoAnswerError("down", was_sent=False),
        OddError(),
        problem(403, ""),
        answer({}),
        answer({"title": "not found"}, 404),
    ],
)
def test_a_queue_that_cannot_be_told_is_told_later(
    told: Told, failure: Answer | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)

    def fail(_verb: str, _body: object) -> Answer:
        if isinstance(failure, Exception):
            raise failure
        return failure

    runs = told.runs(3)
    outcomes: list[Outcome] = [Completed(1), Failure("e"), Released(3)]
    settlements = [told.ended(run, each) for run, each in zip(runs, outcomes, strict=True)]
    told.queue.before = fail
    for _ in range(5):
        settlements = told.settler.settle(settlements)
        assert [each.outcome for each in settlements] == outcomes
    assert not any(told.keeper.is_over(run) for run in runs)
    told.queue.before = lambda _verb, _body: None
    assert told.settler.settle(settlements) == []
    assert told.ledger.counts == {"completed": 1, "failed": 1, "released": 1}


def test_the_pauses_grow_and_are_what_the_queue_asks_for_at_least(told: Told) -> None:
    run, another = told.runs(2)
    settlements = [told.ended(run, Completed(1))]
    pauses = []
    told.queue.before = lambda _verb, _body: FAILED
    for _ in range(8):
        settlements = told.settler.settle(settlements)
        pauses.append(settlements[0].due_at - told.clock())
    for number, pause in enumerate(pauses):
        longest = min(0.2 * 2**number, 5.0)
        assert longest / 2 <= pause <= longest
    told.queue.before = lambda _verb, _body: problem(503, "unavailable", 17)
    (again,) = told.settler.settle(settlements)
    assert again.due_at - told.clock() == pytest.approx(17)
    told.queue.before = lambda _verb, _body: results(THROTTLED)
    (again,) = told.settler.settle([told.ended(another, Completed(1))])
    assert again.due_at - told.clock() == pytest.approx(1)


def test_what_cannot_be_told_does_not_keep_others_waiting(told: Told) -> None:
    runs = told.runs(60)
    stubborn = {run.job.id for run in runs[:30]}

    def refuse(verb: str, body: dict[str, Any]) -> Answer | None:
        if verb == "complete" and any(each["id"] in stubborn for each in body["jobs"]):
            return FAILED
        return None

    told.queue.before = refuse
    told.settler.start()
    for run in runs[:30]:
        told.end(run, Completed(1))
    told.queue.wait_for(lambda: told.queue.count("complete") >= 2)
    for run in runs[30:]:
        told.end(run, Completed(1))
    told.queue.wait_for(lambda: told.queue.statuses()["completed"] == 30)
    assert {each["id"] for each in told.queue.jobs.values() if each["status"] == "running"} == (
        stubborn
    )


def test_a_release_does_not_wait_behind_a_request_that_hangs(told: Told) -> None:
    gate = Gate()
    runs = told.runs(10)
    told.queue.before = held(gate, "complete")
    told.settler.start()
    told.end(runs[0], Completed(1))
    gate.wait_for_arrivals()
    for run in runs[1:]:
        told.end(run, Released())
    told.queue.wait_for(lambda: told.queue.statuses()["queued"] == 9)
    gate.open()
    told.wait()


def test_releases_go_side_by_side(told: Told) -> None:
    gate = Gate()
    runs = told.runs(20)
    told.queue.before = held(gate)
    for run in runs:
        told.end(run, Released())
    gate.wait_for_arrivals(8)
    gate.open()
    told.wait()


def test_an_outage_that_outlasts_the_patience_lets_the_lease_end(told: Told) -> None:
    (run,) = told.runs(1, lease_seconds=900)
    settlements = [told.ended(run, Completed(1))]
    told.queue.before = lambda verb, _body: FAILED if verb == "complete" else None
    for _ in range(3):
        told.clock.now += 100
        settlements = told.settler.settle(settlements)
        assert not told.keeper._leases[run].is_to_end
    told.clock.now += 1
    settlements = told.settler.settle(settlements)
    assert told.keeper._leases[run].is_to_end
    told.clock.now += 598
    settlements = told.settler.settle(settlements)
    assert len(settlements) == 1
    told.clock.now += 1
    assert told.settler.settle(settlements) == []
    assert told.ledger.counts == {"lost": 1}
    assert told.ledger.is_empty


# -- not at all ------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [Completed(1), Failure("e"), Released(1)])
@pytest.mark.parametrize("refusal", [LEASE_LOST, problem(409, "not_running"), None])
def test_an_outcome_without_a_lease_is_dropped_and_counted(
    told: Told, outcome: Outcome, refusal: Answer | None, caplog: pytest.LogCaptureFixture
) -> None:
    run, other = told.runs(2)
    told.queue.give_to_another(1)
    settlements = [told.ended(run, outcome), told.ended(other, Completed(1))]
    if refusal is not None and isinstance(outcome, Released):
        told.queue.before = lambda verb, _body: refusal if verb == "release" else None
    with caplog.at_level(logging.WARNING):
        assert told.settler.settle(settlements) == []
    assert told.ledger.counts == {"lost": 1, "completed": 1}
    assert run.lease_lost
    assert "job 1: its outcome is dropped" in caplog.text
    assert told.queue.jobs[1]["status"] == "running"


def test_after_the_leases_end_a_failed_request_is_the_last(told: Told) -> None:
    (run,) = told.runs(1, lease_seconds=30)
    settlements = [told.ended(run, Completed(1))]
    told.queue.before = lambda _verb, _body: FAILED
    settlements = told.settler.settle(settlements)
    told.clock.now += 30
    assert told.settler.settle(settlements) == []
    assert told.ledger.counts == {"lost": 1}


def test_after_the_leases_end_it_may_still_count(told: Told) -> None:
    (run,) = told.runs(1, lease_seconds=30)
    told.clock.now += 31
    assert told.settler.settle([told.ended(run, Completed(1))]) == []
    assert told.ledger.counts == {"completed": 1}


# -- in other words --------------------------------------------------------------------


def refuse_where(
    spoiled: Callable[[dict[str, Any]], bool], refusal: Answer
) -> Callable[[str, dict[str, Any]], Answer | None]:
    """Return a queue's behaviour: a whole request is refused for one job of it."""

    def before(verb: str, body: dict[str, Any]) -> Answer | None:
        jobs = body.get("jobs", [body])
        return refusal if verb != "claim" and any(map(spoiled, jobs)) else None

    return before


TOO_LARGE = problem(413, "too_large")
INVALID = problem(422, "invalid_field")


@pytest.mark.parametrize("refusal", [TOO_LARGE, INVALID, problem(400, "invalid_json")])
def test_one_that_spoils_a_whole_request_harms_no_other(told: Told, refusal: Answer) -> None:
    runs = told.runs(5)
    told.queue.before = refuse_where(lambda each: each.get("result") == "deep", refusal)
    settlements = [told.ended(run, Completed("ok")) for run in runs[:4]]
    settlements.insert(2, told.ended(runs[4], Completed("deep")))
    assert told.settle_all(settlements) == 2
    assert told.ledger.counts == {"completed": 4, "failed": 1}
    assert told.queue.statuses() == {"completed": 4, "queued": 1}
    assert "the outcome was refused" in told.queue.jobs[5]["last_error"]


def test_one_that_is_refused_in_a_batch_is_a_failed_run(told: Told) -> None:
    first, second = told.runs(2)
    refused = []
    refuse = refuse_where(lambda each: each["id"] == 2 and "result" in each, TOO_LARGE)

    def before(verb: str, body: dict[str, Any]) -> Answer | None:
        if verb == "complete" and len(body["jobs"]) == 2:
            refused.append(verb)
            told.queue._do("complete", {"jobs": body["jobs"][:1]})
            return results(told.queue.jobs[1], TOO_LARGE)
        return refuse(verb, body)

    told.queue.before = before
    settlements = [told.ended(first, Completed(1)), told.ended(second, Completed("x" * 300_000))]
    assert told.settle_all(settlements) == 2
    assert refused == ["complete"]
    assert told.ledger.counts == {"completed": 1, "failed": 1}
    assert "TooLargeError" in told.queue.jobs[2]["last_error"]


def test_a_result_that_changed_since_is_a_failed_run(told: Told) -> None:
    first, second = told.runs(2)
    result: dict[str, Any] = {}
    settlements = [told.ended(first, Completed(result)), told.ended(second, Completed(1))]
    result["late"] = object()
    assert told.settle_all(settlements) == 2
    assert told.ledger.counts == {"completed": 1, "failed": 1}
    assert "TypeError" in told.queue.jobs[1]["last_error"]


def test_a_failure_that_is_refused_is_told_in_plain_words(told: Told) -> None:
    run, other = told.runs(2)
    told.queue.before = refuse_where(lambda each: "retry_in_seconds" in each, INVALID)
    settlements = [
        told.ended(run, Failure("busy", retry_in_seconds=10**12)),
        told.ended(other, Failure("e")),
    ]
    assert told.settle_all(settlements) == 2
    assert told.ledger.counts == {"failed": 2}
    assert told.queue.jobs[1]["last_error"].startswith("busy\nthe outcome was refused")


def test_a_discard_in_plain_words_is_still_one(told: Told) -> None:
    (run,) = told.runs(1)
    told.queue.before = refuse_where(lambda each: each.get("error") == "odd", INVALID)
    assert told.settle_all([told.ended(run, Failure("odd", retry=False))]) == 2
    assert told.ledger.counts == {"dead": 1}


def test_a_release_that_is_refused_is_a_failed_run(told: Told) -> None:
    (run,) = told.runs(1)
    told.queue.before = refuse_where(lambda each: each.get("delay_seconds", 0) > 10**6, INVALID)
    assert told.settle_all([told.ended(run, Released(10**9))]) == 2
    assert told.ledger.counts == {"failed": 1}


@pytest.mark.parametrize("outcome", [Completed(1), Failure("e"), Released(1)])
def test_what_is_refused_in_any_words_is_given_up(told: Told, outcome: Outcome) -> None:
    run, other = told.runs(2)
    told.queue.before = refuse_where(
        lambda each: 1 in (each.get("id"), each.get("job_id")), INVALID
    )
    settlements = [told.ended(run, outcome), told.ended(other, Completed(2))]
    assert told.settle_all(settlements) == 2
    assert told.ledger.counts == {"lost": 1, "completed": 1}
    assert told.keeper.is_over(run)
    assert told.ledger.is_empty


def test_other_words_are_told_at_once(told: Told) -> None:
    (run,) = told.runs(1)
    told.queue.before = refuse_where(lambda each: "result" in each, TOO_LARGE)
    (again,) = told.settler.settle([told.ended(run, Completed(1))])
    assert again.due_at <= told.clock()


# -- the threads -----------------------------------------------------------------------


def test_the_thread_tells_again_when_it_is_time(told: Told) -> None:
    (run,) = told.runs(1)
    told.queue.before = lambda _verb, _body: FAILED
    told.settler.start()
    told.end(run, Completed(1))
    told.wait_until_put_back()
    told.queue.before = lambda _verb, _body: None
    told.clock.now += 1
    told.wait()
    assert told.ledger.counts == {"completed": 1}


def test_at_the_end_what_waits_is_told_once_more(told: Told) -> None:
    (run,) = told.runs(1)
    told.queue.before = lambda _verb, _body: FAILED
    told.settler.start()
    told.end(run, Completed(1))
    told.wait_until_put_back()
    told.queue.before = lambda _verb, _body: None
    told.settler.close()
    told.wait()
    assert told.ledger.counts == {"completed": 1}


def test_after_the_end_a_failed_request_is_the_last(told: Told) -> None:
    (run,) = told.runs(1)
    told.queue.before = lambda _verb, _body: FAILED
    settlements = [told.ended(run, Completed(1))]
    told.settler.close()
    assert told.settler.settle(settlements) == []
    assert told.ledger.counts == {"lost": 1}
