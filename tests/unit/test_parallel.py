"""Several calls at once."""

import threading

import pytest

from job_retry.parallel import THREADS, run_all


def test_results_stand_in_the_order_of_the_arguments() -> None:
    assert run_all(lambda each: each * 2, range(50)) == [each * 2 for each in range(50)]
    assert run_all(str, []) == []


def test_a_single_call_needs_no_thread() -> None:
    assert run_all(lambda _: threading.current_thread(), [1]) == [threading.current_thread()]


def test_calls_run_at_once() -> None:
    meeting = threading.Barrier(THREADS, timeout=30)  # lets none go before all have come
    run_all(lambda _: meeting.wait(), range(THREADS))


@pytest.mark.parametrize("count", [1, 2, 20])
def test_an_error_is_raised_when_all_have_ended(count: int) -> None:
    ended = []

    def call(number: int) -> None:
        ended.append(number)
        if number % 2 == 0:
            raise ValueError(number)

    with pytest.raises(ValueError, match=r"^0$"):
        run_all(call, range(count))
    assert sorted(ended) == list(range(count))
