"""Handlers by job type, coroutines, and what stands around them."""

from __future__ import annotations

import asyncio
import logging
import sys
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import Discard, Failure, JobContext, RetryIn, Snooze
from job_retry_client.worker.handlers import Handlers, Registered
from job_retry_client.worker.outcomes import Completed, Released
from tests.client.worker.fakes import PATIENCE_SECONDS, Gate, Running, a_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def handlers() -> Iterator[Handlers]:
    made = Handlers()
    yield made
    made.event_loop.close(PATIENCE_SECONDS)


def handle(handlers: Handlers, handler: Callable[[JobContext], Any], job_type: str = "mail") -> Any:
    handlers.add(job_type, Registered(handler, None))
    return handlers.run(a_context(job_type=job_type, payload={"n": 1}))


def test_a_handler_is_given_the_job_and_returns_its_result(handlers: Handlers) -> None:
    assert handle(handlers, lambda context: [context.payload, context.job.id]) == Completed(
        [{"n": 1}, 7]
    )


def test_a_type_has_one_handler(handlers: Handlers) -> None:
    handlers.add("mail", Registered(lambda _: 1, None))
    with pytest.raises(ValueError, match="'mail' has a handler already"):
        handlers.add("mail", Registered(lambda _: 2, None))
    assert handlers.job_types == ["mail"]


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), KeyboardInterrupt()])
def test_nothing_that_a_handler_raises_comes_out(handlers: Handlers, error: BaseException) -> None:
    def fall(_context: JobContext) -> None:
        raise error

    async def fall_later(_context: JobContext) -> None:
        await asyncio.sleep(0)
        raise error

    for handler, job_type in ((fall, "a"), (fall_later, "b")):
        outcome = handle(handlers, handler, job_type)
        assert isinstance(outcome, Failure)
        assert outcome.error.startswith(type(error).__name__)


def test_a_coroutine_runs_to_its_end(handlers: Handlers) -> None:
    async def work(context: JobContext) -> int:
        await asyncio.sleep(0)
        return context.job.id

    assert handle(handlers, work) == Completed(7)

    def begin(context: JobContext) -> Any:
        return work(context)

    assert handle(handlers, begin, "by a function") == Completed(7)


def test_coroutines_run_side_by_side(handlers: Handlers) -> None:
    both = asyncio.Barrier(2)

    async def work(_context: JobContext) -> None:
        await both.wait()

    handlers.add("mail", Registered(work, None))
    runs = [Running(lambda: {"n": int(handlers.run(a_context()) == Completed(None))}) for _ in "ab"]
    assert [run.end() for run in runs] == [{"n": 1}, {"n": 1}]


def test_one_coroutine_that_exits_leaves_the_others_alone(handlers: Handlers) -> None:
    gate = asyncio.Event()

    async def wait(_context: JobContext) -> str:
        await gate.wait()
        return "whole"

    async def leave(_context: JobContext) -> None:
        gate.set()
        sys.exit(3)

    handlers.add("wait", Registered(wait, None))
    handlers.add("leave", Registered(leave, None))
    waiting = Running(lambda: {"ok": int(handlers.run(a_context(1, job_type="wait")) == WHOLE)})
    left = Running(lambda: {"ok": int(handlers.run(a_context(2, job_type="leave")) != WHOLE)})
    assert left.end() == {"ok": 1}
    assert waiting.end() == {"ok": 1}
    assert handlers.run(a_context(3, job_type="wait")) == WHOLE


WHOLE = Completed("whole")


def test_a_coroutine_can_be_cancelled_from_outside(handlers: Handlers) -> None:
    gate, ended = Gate(), Gate()

    async def hang(_context: JobContext) -> None:
        asyncio.get_running_loop().call_soon(gate.open)
        try:
            await asyncio.Event().wait()
        finally:
            ended.open()

    handlers.add("mail", Registered(hang, None))
    context = a_context()
    running = Running(lambda: {"failed": int(isinstance(handlers.run(context), Failure))})
    gate.wait()
    context.cancel()
    assert running.end() == {"failed": 1}
    ended.wait()


def test_a_coroutine_cancelled_before_it_began_ends_too(handlers: Handlers) -> None:
    async def hang(_context: JobContext) -> None:
        await asyncio.Event().wait()

    handlers.add("mail", Registered(hang, None))
    context = a_context()
    context.cancel()
    assert isinstance(handlers.run(context), Failure)


def test_a_run_that_is_over_starts_no_coroutine(handlers: Handlers) -> None:
    began = []

    async def work(_context: JobContext) -> None:
        began.append(True)

    handlers.add("mail", Registered(work, None))
    context = a_context()
    context.end()
    assert isinstance(handlers.run(context), Failure)
    assert began == []


def test_the_loop_can_be_closed_and_used_again(handlers: Handlers) -> None:
    ended = Gate()

    async def hang(_context: JobContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.open()

    async def work(_context: JobContext) -> int:
        return 1

    handlers.add("hang", Registered(hang, None))
    context = a_context(job_type="hang")
    running = Running(lambda: {"failed": int(isinstance(handlers.run(context), Failure))})
    for _ in range(3):
        assert handle_again(handlers, work) == Completed(1)
        handlers.event_loop.close(PATIENCE_SECONDS)
    assert running.end() == {"failed": 1}
    ended.wait()


def handle_again(handlers: Handlers, handler: Callable[[JobContext], Any]) -> Any:
    name = f"type-{len(handlers.job_types)}"
    return handle(handlers, handler, name)


def test_what_is_registered_first_is_outermost(handlers: Handlers) -> None:
    seen = []

    def outer(context: JobContext, call: Callable[[JobContext], Any]) -> Any:
        seen.append("outer")
        try:
            return call(context) + 1
        finally:
            seen.append("outer's end")

    def inner(context: JobContext, call: Callable[[JobContext], Any]) -> Any:
        seen.append("inner")
        return call(context) * 10

    handlers.add_middleware(outer)
    handlers.add_middleware(inner)
    assert handle(handlers, lambda _: 4) == Completed(41)
    assert seen == ["outer", "inner", "outer's end"]


def test_middleware_has_a_coroutines_result_and_its_exception(handlers: Handlers) -> None:
    seen: list[object] = []

    def watch(context: JobContext, call: Callable[[JobContext], Any]) -> Any:
        try:
            seen.append(call(context))
        except Discard as error:
            seen.append(error)
            raise Snooze(5) from error

    handlers.add_middleware(watch)

    async def work(_context: JobContext) -> str:
        return "done"

    async def drop(_context: JobContext) -> None:
        raise Discard("no")

    assert handle(handlers, work, "a") == Completed(None)
    assert handle(handlers, drop, "b") == Released(5)
    assert seen[0] == "done"
    assert isinstance(seen[1], Discard)


def test_middleware_that_fails_is_a_failed_run(handlers: Handlers) -> None:
    def fall(_context: JobContext, _call: object) -> None:
        raise LookupError("tracer")

    handlers.add_middleware(fall)
    outcome = handle(handlers, lambda _: 1)
    assert isinstance(outcome, Failure)
    assert outcome.error.startswith("LookupError: tracer")


def test_coroutine_middleware_is_refused_at_once(handlers: Handlers) -> None:
    async def around(_context: JobContext, _call: object) -> None: ...

    with pytest.raises(TypeError, match="no coroutine function"):
        handlers.add_middleware(around)


@pytest.mark.parametrize("kind", ["function", "coroutine"])
def test_a_failed_run_is_logged_once_with_its_traceback(
    handlers: Handlers, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    def fall(_context: JobContext) -> None:
        raise LookupError("no such user")

    async def fall_later(_context: JobContext) -> None:
        raise LookupError("no such user")

    handle(handlers, fall if kind == "function" else fall_later)
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == (
        "WARNING",
        "job 7: the handler of 'mail' failed",
    )
    assert "LookupError: no such user" in caplog.text
    assert "raise LookupError" in caplog.text


def test_what_a_handler_says_on_purpose_is_a_line_of_the_log(
    handlers: Handlers, caplog: pytest.LogCaptureFixture
) -> None:
    def say(context: JobContext) -> object:
        words: list[Exception] = [Discard("bad address"), RetryIn(60, "busy"), Snooze(5)]
        if context.job.id < 3:
            raise words[context.job.id]
        return {1, 2}

    handlers.add("mail", Registered(say, None))
    for number in range(4):
        handlers.run(a_context(number))
    assert caplog.messages == [
        "job 0: the handler of 'mail' failed: Discard: bad address",
        "job 1: the handler of 'mail' failed: RetryIn: busy",
        "job 3: the handler's result is no JSON value: Object of type set is not JSON serializable",
    ]
    assert "Traceback" not in caplog.text


def test_of_a_run_that_was_given_up_nothing_is_logged(
    handlers: Handlers, caplog: pytest.LogCaptureFixture
) -> None:
    def fall(context: JobContext) -> None:
        context.end()
        raise LookupError

    handle(handlers, fall)
    assert caplog.messages == []


def test_an_unknown_type_is_given_back_later_and_told_once(
    handlers: Handlers, caplog: pytest.LogCaptureFixture
) -> None:
    together = Barrier(4)

    def run() -> None:
        together.wait(PATIENCE_SECONDS)
        for _ in range(50):
            assert handlers.run(a_context(job_type="strange")) == Released(60)

    with caplog.at_level(logging.ERROR, "job_retry_client.worker"):
        for each in [Running(run) for _ in range(4)]:
            each.end()
        handlers.run(a_context(job_type="stranger"))
    told = [each for each in caplog.messages if "no handler for job type" in each]
    assert len(told) == 2
    assert "'strange'" in told[0]


def test_strange_types_do_not_fill_the_memory(
    handlers: Handlers, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL):
        for number in range(2_500):
            handlers.run(a_context(job_type=f"strange-{number}"))
    assert len(handlers._missed) <= 1_000


def test_how_long_a_type_takes(handlers: Handlers) -> None:
    handlers.add("long", Registered(lambda _: 1, 300))
    handlers.add("usual", Registered(lambda _: 1, None))
    assert handlers.max_seconds("long", 60) == 300
    assert handlers.max_seconds("usual", 60) == 60
    assert handlers.max_seconds("strange", 60) == 60
