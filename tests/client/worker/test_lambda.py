"""A worker inside a Lambda function, which has only so much time."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import InvalidRequestError, JobContext, Worker
from job_retry_client.worker.aws_lambda import LambdaWorker
from tests.client.fakes import problem
from tests.client.worker.fakes import FakeClock, FakeQueue, Gate

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry_client.transports.base import Answer

LAST = 2  # seconds that are kept for the end


class Function:
    """A Lambda function on a queue, with a clock that the test moves."""

    def __init__(self, **settings: Any) -> None:
        self.clock = FakeClock()
        self.queue = FakeQueue()
        self.worker = Worker(self.queue.client, **settings)
        made = self.worker.lambda_handler()
        assert isinstance(made, LambdaWorker)
        made._clock = self.clock
        # more often than a program may ask for it
        made._settings = replace(made._settings, max_poll_seconds=0.002)
        self._handler = made

    def invoke(
        self, seconds: float = 900, name: str | None = "2030/01/01/[1]abc"
    ) -> dict[str, Any]:
        """Call it with so much time left."""
        context = SimpleNamespace(
            get_remaining_time_in_millis=lambda: int(seconds * 1000),
            function_name="mailer",
            log_stream_name=name,
        )
        return self._handler({"Records": []}, context)

    def handle(
        self, handler: Callable[[JobContext], Any], job_type: str = "mail", **more: Any
    ) -> None:
        """Register a handler."""
        self.worker.handler(job_type, **more)(handler)


@pytest.fixture
def function() -> Function:
    return Function(max_seconds=60)


def test_it_works_until_nothing_is_due(function: Function) -> None:
    function.handle(lambda context: context.job.id)
    function.queue.add(number=30)
    assert function.invoke() == {"completed": 30, "ended_by": "idle"}


def test_the_summary_tells_each_kind(function: Function) -> None:
    def handler(context: JobContext) -> None:
        if context.job.id == 2:
            raise ValueError

    function.handle(handler)
    function.queue.add(number=2)
    function.queue.add("strange")
    assert function.invoke() == {"completed": 1, "failed": 1, "released": 1, "ended_by": "idle"}


def test_it_can_be_called_again(function: Function) -> None:
    async def work(context: JobContext) -> int:
        await asyncio.sleep(0)
        return context.job.id

    function.handle(work)
    for _ in range(3):
        function.queue.add(number=2)
        assert function.invoke() == {"completed": 2, "ended_by": "idle"}
    assert function.queue.statuses() == {"completed": 6}


def test_a_lease_is_as_long_as_the_invocation_lasts_and_never_renewed() -> None:
    function = Function(concurrency=1)
    beats = []

    def handler(context: JobContext) -> None:
        function.clock.now += 200
        keeper = context._report.__self__  # type: ignore[attr-defined]
        keeper.tick()
        beats.append(keeper._leases[context].is_beating)

    function.handle(handler)
    function.queue.add()
    assert function.invoke(300)["completed"] == 1
    assert beats == [False]
    first, *others = [claim["lease_seconds"] for claim in function.queue.bodies("claim")]
    assert (first, set(others)) == (301, {101})
    assert function.queue.count("heartbeat") == 0


def test_the_workers_name_is_that_of_its_log(function: Function) -> None:
    function.handle(lambda _: None)
    function.invoke()
    function.invoke(name=None)
    function.invoke(name="x" * 300)
    names = [claim["worker_id"] for claim in function.queue.bodies("claim")]
    assert names == ["2030/01/01/[1]abc", "mailer", "x" * 128]


@pytest.mark.parametrize(("seconds", "does"), [(60 + LAST, 1), (60 + LAST - 0.001, 0)])
def test_nothing_is_claimed_that_does_not_fit(
    function: Function, seconds: float, does: int
) -> None:
    function.handle(lambda _: None)
    function.queue.add()
    summary = function.invoke(seconds)
    assert function.queue.statuses()["completed"] == does
    assert summary["ended_by"] == ("idle" if does else "time")
    if not does:
        assert function.queue.requests == []
        assert summary == {"ended_by": "time"}


def test_a_timeout_that_is_too_short_for_all_is_told_each_time(
    function: Function, caplog: pytest.LogCaptureFixture
) -> None:
    function.handle(lambda _: None)
    function.queue.add()
    for _ in range(2):
        assert function.invoke(10) == {"ended_by": "time"}
    told, again = caplog.messages
    assert told == again
    assert told.startswith(
        "no job is begun of 'mail': the invocation has 8.0 s for handlers, and these may take 60 s "
        "or more; raise the function's timeout, or lower max_seconds"
    )


def test_a_timeout_that_is_too_short_for_some_is_told_once(
    function: Function, caplog: pytest.LogCaptureFixture
) -> None:
    function.handle(lambda _: None, "quick", max_seconds=5)
    function.handle(lambda _: None, "long", max_seconds=600)
    function.handle(lambda _: None, "longer", max_seconds=700.5)
    for _ in range(2):
        function.invoke(100)
    (told,) = caplog.messages
    assert told.startswith("no job is begun of 'long', 'longer': ")
    assert "600 s or more" in told
    function.invoke(4)
    assert "'quick'" in caplog.messages[-1]


def test_a_timeout_that_is_long_enough_is_not_told(
    function: Function, caplog: pytest.LogCaptureFixture
) -> None:
    function.handle(lambda _: None)
    function.invoke(60 + LAST)
    assert caplog.messages == []


@pytest.mark.parametrize("seconds", [0, 0.5, LAST, -1])
def test_with_hardly_any_time_nothing_is_claimed(function: Function, seconds: float) -> None:
    function.handle(lambda _: None, max_seconds=0.001)
    function.queue.add()
    assert function.invoke(seconds) == {"ended_by": "time"}
    assert function.queue.requests == []


def test_time_goes_by_between_claims() -> None:
    """The next is made only if what it brings still fits."""
    function = Function(max_seconds=50, concurrency=1)

    def handler(_context: JobContext) -> None:
        function.clock.now += 50

    function.handle(handler)
    function.queue.add(number=10)
    assert function.invoke(230) == {"completed": 4, "ended_by": "time"}
    assert function.queue.statuses() == {"completed": 4, "queued": 6}
    assert sum(each["attempts"] for each in function.queue.jobs.values()) == 4


def test_not_having_looked_at_all_lanes_is_no_end_before_the_time_is_short() -> None:
    function = Function(max_seconds=50)

    def after(_verb: str, _body: object) -> None:
        function.clock.now += 10

    function.handle(lambda _: None)
    function.queue.lanes_unseen = True
    function.queue.after = after
    assert function.invoke(900) == {"ended_by": "idle"}
    assert function.queue.count("claim") == 8
    function.queue.requests.clear()
    assert function.invoke(50 + LAST + 20) == {"ended_by": "time"}
    assert function.queue.count("claim") == 3


def test_only_types_that_fit_are_claimed(function: Function) -> None:
    function.handle(lambda _: None, "quick", max_seconds=5)
    function.handle(lambda _: None, "usual")
    function.handle(lambda _: None, "long", max_seconds=600)
    for job_type in ("long", "usual", "quick"):
        function.queue.add(job_type)
    summary = function.invoke(100)
    assert summary == {"completed": 2, "ended_by": "idle"}
    assert function.queue.bodies("claim")[0]["job_types"] == ["quick", "usual"]
    assert function.queue.jobs[1]["status"] == "queued"
    assert function.queue.jobs[1]["attempts"] == 0


def test_with_time_for_all_it_claims_what_the_worker_is_told_to() -> None:
    everything, known = Function(), Function(claims_all_types=False)
    for each in (everything, known):
        each.handle(lambda _: None)
        each.invoke()
    assert "job_types" not in everything.queue.bodies("claim")[0]
    assert known.queue.bodies("claim")[0]["job_types"] == ["mail"]


def test_a_claim_names_no_more_types_than_it_may(function: Function) -> None:
    for number in range(150):
        function.handle(lambda _: None, f"type-{number}", max_seconds=1)
    function.handle(lambda _: None, "long", max_seconds=10_000)
    function.invoke()
    assert len(function.queue.bodies("claim")[0]["job_types"]) == 100


def test_what_a_slow_claim_brings_too_late_is_given_back(function: Function) -> None:
    ran: list[JobContext] = []

    def after(verb: str, _body: object) -> None:
        if verb == "claim":
            function.clock.now += 5

    function.handle(ran.append)
    function.handle(lambda _: None, "quick", max_seconds=1)
    function.queue.after = after
    function.queue.add()
    function.queue.add("quick")
    summary = function.invoke(60 + LAST + 4)
    assert ran == []
    assert summary["completed"] == 1
    assert summary["released"] == 1
    assert function.queue.jobs[1]["status"] == "queued"
    assert function.queue.jobs[1]["attempts"] == 0


@pytest.mark.parametrize("seconds", [20, LAST + 5, 900])
def test_a_job_of_an_unknown_type_waits_a_minute_whatever_time_is_left(
    function: Function, seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    function.handle(lambda _: None, "known", max_seconds=5)
    ids = function.queue.add("renamed_type", 3)
    function.queue.add("known", 2)
    summary = function.invoke(seconds)
    assert summary == {"completed": 2, "released": 3, "ended_by": "idle"}
    told = [(body["job_id"], body["delay_seconds"]) for body in function.queue.bodies("release")]
    assert sorted(told) == [(each, 60) for each in ids]
    assert [function.queue.jobs[each]["attempts"] for each in ids] == [0, 0, 0]
    assert [text for text in caplog.messages if "no handler for job type" in text] == [
        "no handler for job type 'renamed_type': its jobs are given back, every 60 s"
    ]


def test_without_any_handler_all_jobs_wait_a_minute(function: Function) -> None:
    function.queue.add(number=2)
    assert function.invoke() == {"released": 2, "ended_by": "idle"}
    assert {body["delay_seconds"] for body in function.queue.bodies("release")} == {60}


def test_what_does_not_fit_any_more_is_given_back_once(function: Function) -> None:
    """It is due again at once, for others: this invocation names only what still fits."""

    def after(verb: str, _body: object) -> None:
        if verb == "claim":
            function.clock.now += 5

    function.handle(lambda _: None, "usual")
    function.handle(lambda _: None, "quick", max_seconds=1)
    function.queue.after = after
    function.queue.add("usual", 3)
    assert function.invoke(60 + LAST + 4) == {"released": 3, "ended_by": "idle"}
    named = [claim.get("job_types") for claim in function.queue.bodies("claim")]
    assert named[0] is None
    assert {str(each) for each in named[1:]} == {"['quick']"}
    assert len({body["job_id"] for body in function.queue.bodies("release")}) == 3


@pytest.mark.parametrize("kind", ["function", "coroutine"])
def test_what_is_not_done_in_time_has_failed(function: Function, kind: str) -> None:
    began, gate = Gate(), Gate()

    def hang(_context: JobContext) -> str:
        function.clock.now += 1
        began.open()
        gate.wait()
        return "late"

    async def hang_later(_context: JobContext) -> str:
        function.clock.now += 1
        began.open()
        await asyncio.Event().wait()
        return "late"

    function.handle(hang if kind == "function" else hang_later, max_seconds=0.1)
    function.queue.add()
    summary = function.invoke(LAST + 0.3)
    began.wait()
    assert summary == {"failed": 1, "ended_by": "time"}
    assert "time was up" in function.queue.jobs[1]["last_error"]
    gate.open()
    # the next invocation in this process finds no trace of it
    function.queue.later.clear()
    function.queue.jobs[1]["status"] = "completed"
    assert function.invoke() == {"ended_by": "idle"}
    assert function.queue.count("complete") == 0


def test_it_ends_in_time_even_if_the_queue_hangs() -> None:
    gate = Gate()
    function = Function(max_seconds=0.1)

    def hang(verb: str, _body: object) -> None:
        if verb == "complete":
            function.clock.now += 1
            gate.wait()

    function.handle(lambda _: None)
    function.queue.before = hang
    function.queue.add()
    asked: list[float] = []
    crew_told = "job_retry_client.worker.ledger.Ledger.wait_until_told"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew_told, lambda _ledger, seconds: asked.append(seconds))
        summary = function.invoke(LAST + 0.2)
    assert summary == {"lost": 1, "ended_by": "time"}
    assert len(asked) == 1
    assert asked[0] < LAST
    gate.open()


def test_what_is_not_acceptable_is_an_error_of_the_invocation(function: Function) -> None:
    def refuse(_verb: str, _body: object) -> Answer:
        return problem(422, "invalid_field")

    function.handle(lambda _: None)
    function.queue.before = refuse
    with pytest.raises(InvalidRequestError):
        function.invoke()
    function.queue.before = lambda _verb, _body: None
    assert function.invoke() == {"ended_by": "idle"}


def test_the_ways_metrics_are_written_at_the_end() -> None:
    class Flushing(FakeQueue):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    queue = Flushing()
    worker = Worker(queue.client)
    worker.handler("mail")(lambda _: None)
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000, log_stream_name="s")
    worker.lambda_handler()({}, context)
    assert queue.flushed == 1


def test_a_lease_covers_the_whole_invocation(function: Function) -> None:
    function.handle(lambda _: None)
    for seconds in (62.0, 100.4, 899.999):
        function.queue.requests.clear()
        function.invoke(seconds)
        (claim,) = function.queue.bodies("claim")
        assert claim["lease_seconds"] == math.ceil(int(seconds * 1000) / 1000) + 1
