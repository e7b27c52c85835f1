"""Workers on the queue's own engine, in this process, with one clock for both."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from job_retry.engine import Engine
from job_retry.memory import MemoryStore
from job_retry_client import Discard, Job, JobContext, JobQueue, NewJob, RetryIn, Snooze, Worker
from job_retry_client.transports.in_process import InProcessTransport
from job_retry_client.worker.aws_lambda import LambdaWorker
from job_retry_client.worker.crew import ClaimPlan, Crew, Settings
from tests.client.fakes import LOST
from tests.client.worker.fakes import PATIENCE_SECONDS, VERBS, FakeClock, Gate, run
from tests.unit.builders import T0

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry_client.transports.base import Answer, Request


class Local(InProcessTransport):
    """The way to an engine in memory.

    Attributes:
        clock: of the engine, in seconds.
        counts: how often each verb was asked for.
        claim_seconds: for which the clock moves on after a claim.
        loses: whether the answer to this request is lost, once it is done.
    """

    def __init__(self) -> None:
        self.clock = FakeClock()
        began = self.clock()
        super().__init__(
            Engine(
                MemoryStore(),
                clock=lambda: T0 + round((self.clock() - began) * 1000),
                random=Random(1),
            )
        )
        self.changed = threading.Condition()
        self.counts: Counter[str] = Counter()
        self.claim_seconds = 0.0
        self.loses: Callable[[str], bool] = lambda _verb: False

    def send(self, request: Request) -> Answer:
        """Ask, once."""
        answer = super().send(request)
        verb = VERBS.get(request.operation.route, "other")
        with self.changed:
            self.counts[verb] += 1
            self.clock.now += self.claim_seconds if verb == "claim" else 0
            self.changed.notify_all()
            is_lost = self.loses(verb)
        if is_lost:
            raise LOST
        return answer


@pytest.fixture
def local() -> Local:
    return Local()


@pytest.fixture
def queue(local: Local) -> JobQueue:
    return JobQueue(local)


def a_worker(queue: JobQueue, handler: Callable[[JobContext], Any], **settings: Any) -> Worker:
    worker = Worker(queue, **{"grace_seconds": 600.0, **settings})
    # more often than a program may ask for it
    worker._settings = replace(worker._settings, max_poll_seconds=0.002)
    worker.handler("mail")(handler)
    return worker


def all_jobs(queue: JobQueue) -> list[Job]:
    return [queue.get(each) for each in queue.walk()]


def test_a_job_runs_again_until_it_is_done(queue: JobQueue) -> None:
    new = queue.enqueue("mail", backoff_seconds=0)

    def handler(context: JobContext) -> int:
        if context.job.attempts < 3:
            raise OSError(f"attempt {context.job.attempts}")
        return context.job.attempts

    assert a_worker(queue, handler).run(until_idle=True) == {"failed": 2, "completed": 1}
    job = queue.get(new)
    assert (job.status, job.attempts, job.result) == ("completed", 3, 3)
    assert [each.error.splitlines()[0] for each in job.history] == [
        "OSError: attempt 1",
        "OSError: attempt 2",
    ]
    assert "test_engine.py" in job.history[0].error


def test_a_job_out_of_attempts_is_dead(queue: JobQueue) -> None:
    new = queue.enqueue("mail", backoff_seconds=0, max_attempts=3)

    def handler(_context: JobContext) -> None:
        raise ValueError

    assert a_worker(queue, handler).run(until_idle=True) == {"failed": 2, "dead": 1}
    assert queue.get(new).status == "dead"


def test_what_a_handler_says(queue: JobQueue) -> None:
    said = {"discard": Discard("no"), "retry": RetryIn(60), "snooze": Snooze(300)}

    def handler(context: JobContext) -> None:
        raise said[context.payload]

    new = {each: queue.enqueue("mail", each, max_attempts=2) for each in said}
    strange = queue.enqueue("strange", max_attempts=1)
    counts = a_worker(queue, handler).run(until_idle=True)
    assert counts == {"dead": 1, "failed": 1, "released": 2}
    found = {each: queue.get(new[each]) for each in said} | {"strange": queue.get(strange)}
    shown = {
        name: (job.status, job.attempts, (job.run_after - strange.created_at).total_seconds())
        for name, job in found.items()
    }
    assert shown == {
        "discard": ("dead", 1, 0),
        "retry": ("queued", 1, 60),
        "snooze": ("queued", 0, 300),
        "strange": ("queued", 0, 60),
    }


def test_what_the_queue_refuses_is_a_failed_run_and_harms_no_other(queue: JobQueue) -> None:
    deep: list[Any] = []
    for _ in range(600):
        deep = [deep]
    results: dict[str, Any] = {"large": "x" * 300_000, "deep": deep, "fine": "fine"}
    errors = {"far": RetryIn(10**10), "later": Snooze(10**10)}
    together = threading.Barrier(9)

    def handler(context: JobContext) -> Any:
        together.wait(PATIENCE_SECONDS)
        if context.payload in errors:
            raise errors[context.payload]
        return results[context.payload]

    payloads = [*results, *errors, *["fine"] * 4]
    queue.enqueue_many(NewJob("mail", each, max_attempts=2) for each in payloads)
    worker = a_worker(queue, handler, concurrency=9)
    assert worker.run(until_idle=True) == {"completed": 5, "failed": 4}
    found = {job.payload: job for job in all_jobs(queue)}
    assert found["fine"].status == "completed"
    for payload in ("large", "deep", "far", "later"):
        assert found[payload].status == "queued"
        assert "the outcome was refused" in found[payload].history[0].error
    assert found["far"].history[0].error.startswith("to be run again in 10000000000 s")


def test_lost_answers_cost_nothing(local: Local, queue: JobQueue) -> None:
    asked: Counter[str] = Counter()

    def loses(verb: str) -> bool:
        asked[verb] += 1
        return verb in ("complete", "fail", "release") and asked[verb] % 2 == 1

    def handler(context: JobContext) -> None:
        if context.payload % 3 == 1:
            raise RetryIn(60)
        if context.payload % 3 == 2:
            raise Snooze(60)

    local.loses = loses
    queue.enqueue_many(NewJob("mail", number) for number in range(30))
    counts = a_worker(queue, handler).run(until_idle=True)
    assert counts == {"completed": 10, "failed": 10, "released": 10}
    found = Counter((job.status, job.attempts, len(job.history)) for job in all_jobs(queue))
    assert found == {
        ("completed", 1, 0): 10,
        ("queued", 1, 1): 10,
        ("queued", 0, 0): 10,
    }


def test_a_stop_spends_no_attempts(queue: JobQueue) -> None:
    gate = Gate()

    def handler(context: JobContext) -> None:
        if context.payload >= 20:
            gate.wait()

    queue.enqueue_many(NewJob("mail", number, max_attempts=1) for number in range(60))
    worker = a_worker(queue, handler, grace_seconds=0.0)
    running = run(worker, until_idle=False)
    gate.wait_for_arrivals(10)
    worker.stop()
    counts = running.end()
    assert counts["released"] >= 10
    found = Counter((job.status, job.attempts) for job in all_jobs(queue))
    assert found == {("completed", 1): counts["completed"], ("queued", 0): 60 - counts["completed"]}
    gate.open()


def test_a_run_without_a_lease_is_dropped(local: Local, queue: JobQueue) -> None:
    """Its lease ends, another worker takes the job, and then it comes to an end."""
    began, gate = Gate(), Gate()

    def late(_context: JobContext) -> str:
        began.open()
        gate.wait()
        return "late"

    new = queue.enqueue("mail", lease_seconds=900, backoff_seconds=0)
    first = run(a_worker(queue, late, concurrency=1))  # it has no room to take the job again
    began.wait()
    local.clock.now += 901
    other = a_worker(queue, lambda _: "in time", concurrency=1)
    assert other.run(until_idle=True) == {"completed": 1}
    gate.open()
    assert first.end() == {"lost": 1}
    job = queue.get(new)
    assert (job.status, job.result, job.attempts) == ("completed", "in time", 2)


def test_a_handler_of_ten_seconds_finishes_once_on_a_lease_of_two(
    local: Local, queue: JobQueue
) -> None:
    runs = []

    def handler(context: JobContext) -> str:
        runs.append(context.job.attempts)
        for number in range(1, 16):
            local.clock.now += 0.667
            with crew._keeper._changed:  # its clock has moved
                crew._keeper._changed.notify_all()
            with local.changed:
                assert local.changed.wait_for(
                    lambda: local.counts["heartbeat"] >= number,  # noqa: B023
                    PATIENCE_SECONDS,
                )
        assert not context.lease_lost
        return "done"

    worker = a_worker(queue, handler)
    crew = Crew(
        queue,
        worker._handlers,
        Settings(["default"], "w", 1, 600.0, 0.002),
        lambda: ClaimPlan(lease_seconds=2),
        clock=local.clock,
    )
    new = queue.enqueue("mail")
    crew.work(until_idle=True)
    assert crew.ledger.counts == {"completed": 1}
    assert runs == [1]
    assert queue.get(new).status == "completed"


def test_jobs_that_handlers_enqueue(queue: JobQueue) -> None:
    def handler(context: JobContext) -> None:
        if context.payload:
            queue.enqueue("mail", context.payload - 1)

    queue.enqueue("mail", 20)
    assert a_worker(queue, handler).run(until_idle=True) == {"completed": 21}


def test_four_workers_share_the_jobs(queue: JobQueue) -> None:
    ran: Counter[int] = Counter()
    lock = threading.Lock()

    def handler(context: JobContext) -> None:
        with lock:
            ran[context.job.id] += 1

    queue.enqueue_many(NewJob("mail") for _ in range(200))
    workers = [run(a_worker(queue, handler, concurrency=4)) for _ in range(4)]
    assert sum(each.end().get("completed", 0) for each in workers) == 200
    assert set(ran.values()) == {1}
    assert len(ran) == 200


def test_several_queues_in_order_of_preference(queue: JobQueue) -> None:
    order: list[str] = []
    for name in ("b", "a", "other"):
        queue.enqueue_many(NewJob("mail", queue=name) for _ in range(3))
    worker = Worker(queue, ["a", "b"], concurrency=1)

    @worker.handler("mail")
    def work(context: JobContext) -> None:
        order.append(context.job.queue)

    assert worker.run(until_idle=True) == {"completed": 6}
    assert order == ["a", "a", "a", "b", "b", "b"]


def test_a_lambda_worker_leaves_what_does_not_fit(local: Local, queue: JobQueue) -> None:
    worker = Worker(queue, max_seconds=50, concurrency=1)

    @worker.handler("mail")
    def work(_context: JobContext) -> None:
        local.clock.now += 50

    made = worker.lambda_handler()
    assert isinstance(made, LambdaWorker)
    made._clock = local.clock
    queue.enqueue_many(NewJob("mail") for _ in range(5))
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 160_000, log_stream_name="s")
    assert made({}, context) == {"completed": 3, "ended_by": "time"}
    assert made({}, context) == {"completed": 2, "ended_by": "idle"}
    assert Counter((job.status, job.attempts) for job in all_jobs(queue)) == {("completed", 1): 5}


def test_each_call_of_a_lambda_worker_finds_the_one_job_of_many_lanes(
    local: Local, queue: JobQueue
) -> None:
    """Also where one call follows the other at once, so that most lanes were just looked at."""
    worker = a_worker(queue, lambda _: None)
    made = worker.lambda_handler()
    assert isinstance(made, LambdaWorker)
    made._clock = local.clock
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000, log_stream_name="s")
    queue.enqueue("mail")
    queue.set_queue("default", lanes=64)
    local.clock.now += 20
    local.claim_seconds = 0.1  # as long as the pause, which is next to nothing here
    assert made({}, context) == {"completed": 1, "ended_by": "idle"}
    for _ in range(32):
        queue.enqueue("mail")
        assert made({}, context) == {"completed": 1, "ended_by": "idle"}
