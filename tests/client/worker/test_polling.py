"""The pauses of a worker."""

from __future__ import annotations

import pytest

from job_retry.taking import _REST_MS
from job_retry_client import NoAnswerError, QueueBusyError, ServerError
from job_retry_client.worker.polling import Polling, growing_pause

DOWN = NoAnswerError("nobody", was_sent=False)


def busy(retry_after: float | None) -> QueueBusyError:
    return QueueBusyError(429, {}, retry_after)


@pytest.mark.parametrize(("draw", "pause"), [(0.0, 10.0), (0.5, 11.0), (1.0, 12.0)])
def test_an_idle_worker_comes_back_when_the_queue_says_or_a_little_later(
    draw: float, pause: float
) -> None:
    assert Polling(20, lambda: draw).after_answer(10.0) == pytest.approx(pause)


def test_an_idle_worker_looks_as_often_as_it_was_told_to() -> None:
    draws = iter([0.0, 0.3, 1.0])
    polling = Polling(6, lambda: next(draws))
    pauses = [polling.after_answer(20.0) for _ in range(3)]
    assert pauses == pytest.approx([5.0, 5.3, 6.0])


def test_where_the_queue_says_nothing_it_is_a_second() -> None:
    assert Polling(20, lambda: 0.0).after_answer(None) == 1.0


def test_that_nothing_is_due_takes_eight_claims_where_each_sees_some_of_the_lanes() -> None:
    polling = Polling(20, lambda: 0.0)
    pauses = [polling.before_idle(lanes_unseen=True) for _ in range(8)]
    assert pauses == [0.1] * 7 + [None]


def test_they_last_longer_than_a_lane_is_let_alone_that_was_looked_at() -> None:
    polling = Polling(20, lambda: 0.0)
    assert sum(polling.before_idle(lanes_unseen=True) or 0 for _ in range(8)) * 1000 > _REST_MS


def test_jobs_in_between_begin_the_row_anew() -> None:
    polling = Polling(20, lambda: 0.0)
    for _ in range(3):
        assert all(polling.before_idle(lanes_unseen=True) for _ in range(7))
        polling.note_jobs()


def test_one_claim_that_has_seen_all_is_enough() -> None:
    polling = Polling(20, lambda: 0.0)
    assert polling.before_idle(lanes_unseen=True)
    assert polling.before_idle(lanes_unseen=False) is None


def test_after_errors_the_pauses_grow() -> None:
    polling = Polling(20, lambda: 1.0)
    assert [polling.after_error(DOWN) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    polling = Polling(20, lambda: 0.0)
    assert [polling.after_error(DOWN) for _ in range(3)] == [0.5, 1, 2]
    assert [polling.after_error(DOWN) for _ in range(5_000)][-1] == 15


def test_an_answer_ends_that() -> None:
    polling = Polling(20, lambda: 1.0)
    polling.after_error(DOWN)
    polling.after_error(DOWN)
    polling.note_answer()
    assert polling.after_error(DOWN) == 1


def test_a_queue_that_is_too_busy_is_left_alone_for_as_long_as_it_says() -> None:
    assert Polling(20, lambda: 0.0).after_error(busy(7)) == 7
    assert Polling(20, lambda: 1.0).after_error(busy(7)) == pytest.approx(8.4)
    assert Polling(20, lambda: 0.0).after_error(busy(1_000)) == 30
    assert Polling(20, lambda: 0.0).after_error(busy(None)) == 1
    assert Polling(20, lambda: 0.0).after_error(ServerError(500, {})) == 0.5


def test_a_pause_is_never_over_its_longest() -> None:
    assert growing_pause(10_000, 0.2, 5.0, lambda: 1.0) == 5.0
