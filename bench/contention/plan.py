"""Which runs make up the bench, and how many lanes are recommended."""

from __future__ import annotations

from bench.contention.scenario import CYCLE_SECONDS, Scenario

LANE_JOBS = 250
"""Jobs a second that a lane is meant for: half of what its partition carries."""

WORKERS = (1, 10, 100, 1000)
LANES = (1, 2, 4, 8, 16, 32, 64)
STREAM_SHARE = 0.7

_FEW_LANES = (1, 8, 64)  # are enough where workers are few and lanes hardly matter
_MANY_WORKERS = 100

# A run of few workers is cheap and shows little in a second; one of many is the reverse.
_SECONDS = {1: 30.0, 10: 6.0, 100: 1.5, 1000: 0.5}
_WARM_SECONDS = {1: 2.0, 10: 2.0, 100: 1.0, 1000: 0.7}
# The pauses of the SDK are as long as seconds, and have to even out.
_THROTTLED_WARM_SECONDS = 1.5
_THROTTLED_SECONDS = 1.0


def recommended_lanes(jobs_per_second: float) -> int:
    """Return how many lanes a queue should have: a lane for 250 jobs a second, as 2^n."""
    lanes = 1
    while lanes * LANE_JOBS < jobs_per_second:
        lanes *= 2
    return lanes


def full_backlogs() -> list[Scenario]:
    """Return the runs with a backlog that never ends."""
    return [
        _full(workers, lanes)
        for workers in WORKERS
        for lanes in (LANES if workers >= _MANY_WORKERS else lanes_of_few(workers))
    ]


def lanes_of_few(workers: int) -> list[int]:
    """Return the numbers of lanes that few workers are tried with."""
    return sorted({*_FEW_LANES, recommended_lanes(wish(workers))})


def streams() -> list[Scenario]:
    """Return the runs where jobs keep coming in, as many as 70 % of the workers take."""
    return [
        Scenario(
            workers=workers,
            lanes=recommended_lanes(wish(workers)),
            arrivals=STREAM_SHARE * wish(workers),
            warm_seconds=_WARM_SECONDS[workers],
            seconds=_SECONDS[workers],
        )
        for workers in WORKERS
    ]


def wish(workers: int) -> float:
    """Return the jobs a second that so many workers would complete if nothing held them up."""
    return workers / CYCLE_SECONDS


def _full(workers: int, lanes: int) -> Scenario:
    throttled = wish(workers) > 2 * LANE_JOBS * lanes
    return Scenario(
        workers=workers,
        lanes=lanes,
        warm_seconds=_THROTTLED_WARM_SECONDS if throttled else _WARM_SECONDS[workers],
        seconds=_THROTTLED_SECONDS if throttled else _SECONDS[workers],
    )
