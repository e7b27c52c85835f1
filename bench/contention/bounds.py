"""What has to hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.contention.plan import recommended_lanes, wish

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.contention.measures import Result

_MAX_LOST = 0.05
_MAX_ROUND_TRIPS = 2.2
_MIN_JOBS = 10_000
_LINEAR = 0.15
_WORKERS_LIMIT = 0.75  # of what the workers ask for; above it, they and not the lanes decide


@dataclass(frozen=True, slots=True)
class Bound:
    """A figure, its limit, and whether it holds."""

    text: str
    holds: bool

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'FAILS'}  {self.text}"


def check(results: Sequence[Result]) -> Iterator[Bound]:
    """Hold the results against every bound."""
    full = {(each.workers, each.lanes): each for each in results if each.load == "full"}
    for workers in (100, 1000):
        result = full[workers, recommended_lanes(wish(workers))]
        at = f"at {workers:,} workers and the recommended {result.lanes} lanes"
        lost, trips = result.lost_per_claim, result.round_trips
        yield Bound(f"{lost:.3f} ≤ {_MAX_LOST} failed writes per claim {at}", lost <= _MAX_LOST)
        yield Bound(
            f"{trips:.2f} ≤ {_MAX_ROUND_TRIPS} round trips per claim {at}",
            trips <= _MAX_ROUND_TRIPS,
        )
    most = full[1000, recommended_lanes(wish(1000))].jobs_per_second
    yield Bound(f"{most:,.0f} ≥ {_MIN_JOBS:,} jobs/s at 1,000 workers", most >= _MIN_JOBS)
    yield from _linear([each for each in full.values() if each.workers == 1000])  # noqa: PLR2004


def _linear(results: Sequence[Result]) -> Iterator[Bound]:
    """Hold each number of lanes against one lane, as long as the lanes are the limit."""
    one = results[0].jobs_per_second
    for result in results[1:]:
        proportional = one * result.lanes
        if proportional > _WORKERS_LIMIT * wish(result.workers):
            return
        share = result.jobs_per_second / proportional
        yield Bound(
            f"{result.lanes} lanes carry {result.jobs_per_second:,.0f} jobs/s, {share:.0%} of "
            f"{result.lanes} × one lane's; within {_LINEAR:.0%}",
            abs(share - 1) <= _LINEAR,
        )
