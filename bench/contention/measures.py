"""What is measured in a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class Samples:
    """What was seen while the run was measured; each list has an entry for a claimed job."""

    round_trips: list[int] = field(default_factory=list)
    older: list[int] = field(default_factory=list)
    order_ms: list[int] = field(default_factory=list)
    waited_ms: list[float] = field(default_factory=list)
    completed: int = 0
    empty: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One line of the table.

    Attributes:
        load: "full", the backlog never ends, or "70 %" of what the workers could take.
        jobs_per_second: completed.
        lost_per_claim: conditional writes that failed, for each job claimed.
        round_trips: calls one after the other in a claim that brought a job, the mean.
        queries_per_claim: of the index, for each job claimed.
        older_p50: jobs that were due earlier than the one claimed, and waited still.
        order_ms_p50: by how much the oldest of those was older.
        waited_ms_p50: from due to the answer of the claim; only where jobs keep coming in.
        throttled: calls that DynamoDB refused, for each job completed.
        empty: claims that found nothing, for each job claimed.
        processes: warm processes of the claim function.
    """

    load: str
    workers: int
    lanes: int
    jobs_per_second: float
    lost_per_claim: float
    round_trips: float
    queries_per_claim: float
    write_units_per_job: float
    read_units_per_job: float
    older_p50: float | None
    order_ms_p50: float | None
    order_ms_p99: float | None
    waited_ms_p50: float | None
    waited_ms_p99: float | None
    throttled: float
    empty: float
    processes: int


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which a share of them lies; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
