"""Threads that work on what is added."""

from __future__ import annotations

import threading

from job_retry_client.worker.slots import Slots
from tests.client.worker.fakes import PATIENCE_SECONDS, Gate


def names() -> list[str]:
    return [each.name for each in threading.enumerate()]


def test_never_more_at_once_than_said() -> None:
    gate, done = Gate(), threading.Semaphore(0)

    def work(_thing: int) -> None:
        gate.wait()
        done.release()

    slots = Slots(3, "few", work)
    for number in range(10):
        slots.add(number)
    gate.wait_for_arrivals(3)
    assert sum(name.startswith("few-") for name in names()) == 3
    assert gate.arrived == 3
    gate.open()
    for _ in range(10):
        assert done.acquire(timeout=PATIENCE_SECONDS)
    slots.close()


def test_no_thread_is_started_for_nothing() -> None:
    Slots[int](3, "idle", lambda _: None).close()
    assert not any(name.startswith("idle-") for name in names())


def test_a_thread_outlives_what_its_work_raises(caplog: object) -> None:  # noqa: ARG001 - quiet
    gate = Gate()

    def work(number: int) -> None:
        if number == 0:
            raise ValueError(number)
        gate.wait()

    slots = Slots(1, "hardy", work)
    slots.add(0)
    slots.add(1)
    gate.wait_for_arrivals()
    gate.open()
    slots.close()


def test_what_was_added_before_the_end_is_done() -> None:
    gate, seen = Gate(), []
    end = threading.Event()

    def work(number: int) -> None:
        gate.wait()
        seen.append(number)
        if number == 4:
            end.set()

    slots = Slots(1, "last", work)
    for number in range(5):
        slots.add(number)
    slots.close()
    gate.open()
    assert end.wait(PATIENCE_SECONDS)
    assert seen == [0, 1, 2, 3, 4]


def test_the_process_does_not_wait_for_them() -> None:
    gate = Gate()
    slots = Slots[int](1, "hanging", lambda _: gate.wait())
    slots.add(1)
    gate.wait_for_arrivals()
    (thread,) = [each for each in threading.enumerate() if each.name == "hanging-1"]
    assert thread.daemon
    gate.open()
    slots.close()
