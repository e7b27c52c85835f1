"""`Worker.run`: signals, its thread, running again."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import threading
from datetime import timedelta
from queue import SimpleQueue
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import InvalidRequestError, JobContext, Worker
from job_retry_client.worker.crew import Crew
from job_retry_client.worker.worker import _heard
from tests.client.fakes import problem
from tests.client.worker.fakes import PATIENCE_SECONDS, FakeQueue, Gate, Running, held, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue()


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Signals that come too late for the worker do nothing; it leaves them as they were."""

    def ignore(*_: object) -> None: ...

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {each: signal.signal(each, ignore) for each in numbers}
    yield
    after = [signal.getsignal(each) for each in numbers]
    for number, handler in before.items():
        signal.signal(number, handler)
    assert after == [ignore, ignore]


def a_worker(queue: FakeQueue, handler: Callable[[JobContext], Any], **settings: Any) -> Worker:
    worker = Worker(queue.client, **{"grace_seconds": 600.0, **settings})
    worker.handler("mail")(handler)
    return worker


def beside(call: Callable[[], None]) -> Running:
    """Do something in another thread while `run` has this one."""
    return Running(call)


def test_it_returns_how_many_came_to_what(queue: FakeQueue) -> None:
    queue.add(number=3)
    assert a_worker(queue, lambda _: None).run(until_idle=True) == {"completed": 3}


def test_it_can_run_again(queue: FakeQueue) -> None:
    async def work(_context: JobContext) -> None:
        await asyncio.sleep(0)

    worker = a_worker(queue, work)
    for _ in range(3):
        queue.add(number=2)
        assert worker.run(until_idle=True) == {"completed": 2}
        worker.stop()  # says nothing to the next


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_it_finish_what_it_is_at(queue: FakeQueue, number: signal.Signals) -> None:
    gate, stopped = Gate(), threading.Event()

    def handler(context: JobContext) -> None:
        gate.wait()
        assert context.wait(PATIENCE_SECONDS)
        stopped.set()

    worker = a_worker(queue, handler, concurrency=2)
    queue.add(number=3)

    def act() -> None:
        gate.wait_for_arrivals(2)
        os.kill(os.getpid(), number)
        gate.open()

    acting = beside(act)
    assert worker.run() == {"completed": 2}
    acting.end()
    assert stopped.is_set()
    assert queue.statuses() == {"completed": 2, "queued": 1}


def test_a_second_signal_ends_the_grace(queue: FakeQueue) -> None:
    gate, told = Gate(), Gate()

    def handler(context: JobContext) -> None:
        assert context.wait(PATIENCE_SECONDS)
        told.open()
        gate.wait()

    worker = a_worker(queue, handler)
    queue.add()

    def act() -> None:
        queue.wait_for(lambda: queue.statuses()["running"] == 1)
        os.kill(os.getpid(), signal.SIGTERM)
        told.wait()
        os.kill(os.getpid(), signal.SIGINT)

    acting = beside(act)
    assert worker.run() == {"released": 1}
    acting.end()
    assert queue.jobs[1]["attempts"] == 0
    gate.open()


def test_both_signals_in_one_moment_do_not_lock_it_up(queue: FakeQueue) -> None:
    gate = Gate()
    worker = a_worker(queue, lambda _: gate.wait())
    queue.add(number=2)

    def act() -> None:
        gate.wait_for_arrivals(2)
        for _ in range(50):
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)

    acting = beside(act)
    assert worker.run() == {"released": 2}
    acting.end()
    gate.open()


def test_the_signals_do_afterwards_what_they_did_before(queue: FakeQueue) -> None:
    got = []
    before = signal.signal(signal.SIGTERM, lambda *_: got.append(1))
    try:
        a_worker(queue, lambda _: None).run(until_idle=True)
        os.kill(os.getpid(), signal.SIGTERM)
        assert got == [1]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_signal_handler_does_no_more_than_pass_it_on(
    queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may come while the thread that it interrupts holds any lock."""
    stop, stopped_by = Crew.stop, []

    def note(crew: Crew) -> None:
        stopped_by.append(threading.current_thread())
        stop(crew)

    def act() -> None:
        queue.wait_for(lambda: queue.count("claim") >= 1)
        handler = signal.getsignal(signal.SIGTERM)
        assert callable(handler)
        handler(signal.SIGTERM, None)

    monkeypatch.setattr(Crew, "stop", note)
    acting = beside(act)
    assert a_worker(queue, lambda _: None).run() == {}
    acting.end()
    assert set(stopped_by) == {threading.main_thread()}


def test_the_wait_for_news_ends_by_itself() -> None:
    """Where several signals come together, the system may wake the wrong thread."""
    assert Running(lambda: {"none": int(_heard(SimpleQueue()) is None)}).end() == {"none": 1}


def test_it_runs_in_any_thread(queue: FakeQueue) -> None:
    worker = a_worker(queue, lambda _: None)
    queue.add(number=2)
    running = run(worker, until_idle=False)
    queue.wait_for(lambda: queue.statuses()["completed"] == 2)
    worker.stop()
    assert running.end() == {"completed": 2}


def test_a_stop_before_it_runs_is_not_forgotten(queue: FakeQueue) -> None:
    worker = a_worker(queue, lambda _: None)
    worker.stop()
    queue.add()
    assert worker.run() == {}
    assert worker.run(until_idle=True) == {"completed": 1}


def test_a_second_run_is_refused_and_leaves_the_first_alone(queue: FakeQueue) -> None:
    gate = Gate()

    async def work(_context: JobContext) -> str:
        await asyncio.to_thread(gate.wait)
        return "whole"

    worker = a_worker(queue, work)
    queue.add()
    running = run(worker, until_idle=False)
    gate.wait_for_arrivals()
    with pytest.raises(RuntimeError, match="at work already"):
        worker.run(until_idle=True)
    invoke = worker.lambda_handler()
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000, log_stream_name="s")
    with pytest.raises(RuntimeError, match="at work already"):
        invoke({}, context)
    worker.stop()
    gate.open()
    assert running.end() == {"completed": 1}
    assert queue.jobs[1]["result"] == "whole"
    queue.add()
    assert worker.run(until_idle=True) == {"completed": 1}
    queue.add()
    assert invoke({}, context) == {"completed": 1, "ended_by": "idle"}


def test_a_run_within_a_handler_is_refused(queue: FakeQueue) -> None:
    worker = a_worker(queue, lambda _: worker.run(until_idle=True))
    queue.add()
    assert worker.run(until_idle=True) == {"failed": 1}
    assert queue.jobs[1]["last_error"].startswith("RuntimeError: this worker is at work already")


def test_coroutines_clean_up_before_it_returns(queue: FakeQueue) -> None:
    cleaned: list[bool] = []

    async def hang(_context: JobContext) -> None:
        worker.stop()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(1000):
                await asyncio.sleep(0)
            cleaned.append(True)

    worker = a_worker(queue, hang, grace_seconds=0.0)
    queue.add()
    assert worker.run() == {"released": 1}
    assert cleaned == [True]


def test_what_the_queue_does_not_understand_is_raised(queue: FakeQueue) -> None:
    queue.before = lambda _verb, _body: problem(422, "invalid_field")
    with pytest.raises(InvalidRequestError):
        a_worker(queue, lambda _: None).run()


def test_another_signals_exception_stops_it(queue: FakeQueue) -> None:
    """The work does not go on behind the back of a program that has gone on."""

    class AlarmError(Exception):
        pass

    def ring(*_: object) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGUSR1, ring)
    worker = a_worker(queue, lambda _: None)

    def act() -> None:
        queue.wait_for(lambda: queue.count("claim") >= 1)
        os.kill(os.getpid(), signal.SIGUSR1)

    acting = beside(act)
    try:
        with pytest.raises(AlarmError):
            worker.run()
    finally:
        signal.signal(signal.SIGUSR1, before)
    acting.end()
    assert worker._crew is not None
    worker._crew.ledger.wait_until_claimed(lambda: True, PATIENCE_SECONDS)
    claims = queue.count("claim")
    queue.add()
    assert queue.count("claim") == claims


def test_no_thread_of_a_worker_keeps_the_process_alive(queue: FakeQueue) -> None:
    gate = Gate()
    before = set(threading.enumerate())
    seen: list[threading.Thread] = []

    async def work(context: JobContext) -> None:
        if context.job.id == 1:
            queue.wait_for(lambda: queue.count("heartbeat") >= 1)
        seen.extend(set(threading.enumerate()) - before)

    worker = a_worker(queue, work)
    queue.before = held(gate, "heartbeat")
    queue.add(number=1, lease_seconds=1)
    worker.run(until_idle=True)
    names = {each.name.rstrip("-0123456789") for each in seen}
    assert names >= {"worker", "claims", "settler", "leases", "handler", "heartbeat", "coroutines"}
    assert all(each.daemon for each in seen)
    gate.open()


def test_after_the_end_no_thread_is_left(queue: FakeQueue) -> None:
    async def work(_context: JobContext) -> None:
        await asyncio.sleep(0)

    before = set(threading.enumerate())
    worker = a_worker(queue, work)
    for _ in range(5):
        queue.add(number=20)
        worker.run(until_idle=True)
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive(), thread.name


# -- what it claims --------------------------------------------------------------------


def claim_of(queue: FakeQueue, worker: Worker) -> dict[str, Any]:
    worker.run(until_idle=True)
    return queue.bodies("claim")[-1]


def test_what_a_claim_says(queue: FakeQueue) -> None:
    worker = Worker(queue.client, ["b", "a"], lease_seconds=30, worker_id="me", concurrency=3)
    worker.handler("mail")(lambda _: None)
    assert claim_of(queue, worker) == {
        "queues": ["b", "a"],
        "worker_id": "me",
        "lease_seconds": 30,
        "max_jobs": 3,
    }
    assert len(claim_of(queue, Worker(queue.client))["worker_id"]) <= 128


def test_types_are_named_where_others_are_left_alone(queue: FakeQueue) -> None:
    worker = Worker(queue.client, claims_all_types=False)
    for number in range(100):
        worker.handler(f"type-{number}")(lambda _: None)
    assert len(claim_of(queue, worker)["job_types"]) == 100
    worker.handler("one too many")(lambda _: None)
    for none_or_too_many in (worker, Worker(queue.client, claims_all_types=False)):
        with pytest.raises(ValueError, match="1 to 100 job types"):
            none_or_too_many.run()


def test_parentheses_that_were_forgotten_are_told(queue: FakeQueue) -> None:
    with pytest.raises(TypeError, match="of which type"):
        Worker(queue.client).handler(lambda _: None)  # type: ignore[arg-type]


def test_what_cannot_work_is_refused_where_it_is_registered(queue: FakeQueue) -> None:
    worker = Worker(queue.client)
    for nothing in (5, None, "send"):
        given: Any = nothing
        with pytest.raises(TypeError, match="a handler is a function, not"):
            worker.handler("mail")(given)
        with pytest.raises(TypeError, match="a middleware is a function, not"):
            worker.middleware(given)
    with pytest.raises(ValueError, match="not empty"):
        worker.handler("")
    worker.handler("mail")(lambda _: None)  # nothing is left of what was refused
    queue.add()
    assert worker.run(until_idle=True) == {"completed": 1}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("concurrency", 0),
        ("concurrency", -1),
        ("lease_seconds", 0),
        ("grace_seconds", -0.1),
        ("grace_seconds", -math.inf),
        ("grace_seconds", math.nan),
        ("max_poll_seconds", 0),
        ("max_poll_seconds", -1),
        ("max_poll_seconds", 0.099),
        ("max_poll_seconds", math.nan),
        ("max_seconds", -1),
        ("max_seconds", math.nan),
    ],
)
def test_a_number_that_means_nothing_is_refused_at_once(
    queue: FakeQueue, name: str, given: float
) -> None:
    settings: dict[str, Any] = {name: given}
    with pytest.raises(ValueError, match=f"{name} must be .* or more, not {given}"):
        Worker(queue.client, **settings)
    if name == "max_seconds":
        with pytest.raises(ValueError, match="max_seconds must be 0 or more"):
            Worker(queue.client).handler("mail", max_seconds=given)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("concurrency", 1.5),
        ("concurrency", "4"),
        ("lease_seconds", 30.5),
        ("grace_seconds", "20"),
        ("grace_seconds", None),
        ("max_poll_seconds", "20"),
        ("max_seconds", timedelta(seconds=5)),
    ],
)
def test_what_is_no_number_is_refused_at_once(queue: FakeQueue, name: str, given: object) -> None:
    settings: dict[str, Any] = {name: given}
    with pytest.raises(TypeError, match=f"{name} must be"):
        Worker(queue.client, **settings)


def test_registering_gives_back_what_was_registered(queue: FakeQueue) -> None:
    worker = Worker(queue.client)

    @worker.handler("mail")
    def work(context: JobContext) -> int:
        return context.job.id

    @worker.middleware
    def around(context: JobContext, call: Callable[[JobContext], Any]) -> Any:
        return call(context) + 100

    queue.add()
    assert worker.run(until_idle=True) == {"completed": 1}
    assert queue.jobs[1]["result"] == 101
    assert callable(work)
    assert callable(around)
