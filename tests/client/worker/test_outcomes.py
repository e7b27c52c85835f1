"""From what a handler returns or raises to what the queue is told."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest

from job_retry_client import Discard, Failure, RetryIn, Snooze
from job_retry_client.worker.outcomes import (
    Completed,
    Released,
    outcome_of_error,
    outcome_of_result,
)


class UntellableError(Exception):
    """Its text raises something itself."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class OddDict(dict[str, int]):
    """It raises something where it is read."""

    def items(self) -> Any:
        """Fail."""
        raise KeyError("odd")


def raised(error: BaseException) -> BaseException:
    """Return an exception with a traceback."""
    try:
        raise error  # noqa: TRY301 - for the traceback
    except BaseException as caught:  # noqa: BLE001 - any
        return caught


@pytest.mark.parametrize("result", [None, 0, "", [], {"a": [1.5, True, None]}, "ü"])
def test_what_is_returned_is_the_result(result: object) -> None:
    assert outcome_of_result(result) == Completed(result)


def looped() -> list[object]:
    ring: list[object] = []
    ring.append(ring)
    return ring


def deep() -> list[object]:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    "result", [math.nan, {"x": math.inf}, object(), {1, 2}, looped(), {(1,): 2}, OddDict(a=1)]
)
def test_what_is_no_json_is_a_failed_run(result: object) -> None:
    outcome = outcome_of_result(result)
    assert isinstance(outcome, Failure)
    assert outcome.error.startswith("the handler's result is no JSON value: ")
    assert outcome.retry


def test_what_is_nested_beyond_all_limits_is_a_failed_run() -> None:
    assert isinstance(outcome_of_result(deep()), Failure)


def test_what_is_far_too_large_is_not_even_sent() -> None:
    assert isinstance(outcome_of_result("x" * 1_900_000), Completed)
    outcome = outcome_of_result("x" * 2_000_001)
    assert isinstance(outcome, Failure)
    assert "too large: 2,000,003 characters" in outcome.error


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Discard("bad address"), Failure("bad address", retry=False)),
        (Discard(), Failure("discarded", retry=False)),
        (RetryIn(60), Failure("to be run again in 60 s", retry_in_seconds=60)),
        (RetryIn(0.2, "busy"), Failure("busy", retry_in_seconds=1)),
        (RetryIn(timedelta(minutes=2)), Failure("to be run again in 120 s", retry_in_seconds=120)),
        (Snooze(300), Released(300)),
        (Snooze(timedelta(milliseconds=1)), Released(1)),
        (Snooze(0), Released(0)),
    ],
)
def test_what_a_handler_says_by_raising(error: Exception, outcome: object) -> None:
    assert outcome_of_error(raised(error)) == outcome


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf, timedelta(seconds=-1)])
@pytest.mark.parametrize("kind", [Snooze, RetryIn])
def test_no_time_is_refused_where_it_is_said(kind: type[Any], seconds: Any) -> None:
    with pytest.raises(ValueError, match="no time to wait"):
        kind(seconds)


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(3), KeyboardInterrupt()])
def test_any_other_exception_is_a_failed_run(error: BaseException) -> None:
    outcome = outcome_of_error(raised(error))
    assert isinstance(outcome, Failure)
    assert outcome.error.startswith(type(error).__name__)
    assert outcome.retry
    assert outcome.retry_in_seconds is None


def test_a_word_to_the_queue_tells_what_it_was_caused_by() -> None:
    def why(word: Exception) -> str:
        word.__cause__ = TimeoutError("bank")  # as ``from`` does
        outcome = outcome_of_error(raised(word))
        assert isinstance(outcome, Failure)
        return outcome.error

    assert why(RetryIn(60)) == "to be run again in 60 s\ncaused by TimeoutError: bank"
    assert why(Discard()) == "discarded\ncaused by TimeoutError: bank"


@pytest.mark.parametrize("kind", [UntellableError, type("Odd", (UntellableError, Discard), {})])
def test_an_error_without_a_text_is_told_all_the_same(kind: type[Exception]) -> None:
    outcome = outcome_of_error(raised(kind()))
    assert isinstance(outcome, Failure)
    assert "its text cannot be told: RuntimeError" in outcome.error
