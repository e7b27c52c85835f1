"""The same 200 jobs, raced for by threads and then by processes, on dynoxide."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.store import race

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

    from tests.conftest import MakeTables, Tables

_SPAWN = multiprocessing.get_context("spawn")  # forking a process with threads is unsafe
_THREADS, _STEPS = 16, 150
_PROCESSES, _THREADS_EACH = 4, 4

_clock: race.Clock | None = None


def _receive_clock(ticks: Synchronized[int]) -> None:
    global _clock  # noqa: PLW0603 - a shared counter can only be inherited, not sent
    _clock = race.Clock(ticks)


def _race_in_process(url: str, tables: Tables, seed: int, job_ids: list[int]) -> list[race.Event]:
    assert _clock is not None
    return race.race(url, tables, _clock, seed, job_ids, _THREADS_EACH, _STEPS)


@pytest.fixture
def raced_tables(dynoxide_url: str, make_tables: MakeTables) -> Tables:
    """Tables that only one race uses: it expires and lists everything in them."""
    return make_tables(dynoxide_url)


def test_threads_never_hold_a_job_twice(dynoxide_url: str, raced_tables: Tables) -> None:
    clock = race.Clock(_SPAWN.Value("q", 0))
    engine = race.engine_on(dynoxide_url, raced_tables, clock, 0, [])
    job_ids = race.enqueue_all(engine)
    events = race.race(dynoxide_url, raced_tables, clock, 1, job_ids, _THREADS, _STEPS)
    race.check(engine, job_ids, events)
    race.finish(engine, clock, job_ids)


def test_processes_never_hold_a_job_twice(dynoxide_url: str, raced_tables: Tables) -> None:
    clock = race.Clock(_SPAWN.Value("q", 0))
    engine = race.engine_on(dynoxide_url, raced_tables, clock, 0, [])
    job_ids = race.enqueue_all(engine)
    with ProcessPoolExecutor(
        _PROCESSES, mp_context=_SPAWN, initializer=_receive_clock, initargs=(clock.ticks,)
    ) as pool:
        runs = [
            pool.submit(_race_in_process, dynoxide_url, raced_tables, seed, job_ids)
            for seed in range(1, _PROCESSES + 1)
        ]
        events = [event for run in runs for event in run.result()]
    race.check(engine, job_ids, events)
    race.finish(engine, clock, job_ids)
