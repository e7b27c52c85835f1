"""The figures as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl

from bench.contention.plan import LANES, WORKERS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.contention.measures import Result


def plot(results: Sequence[Result], path: Path) -> None:
    """Draw jobs a second, failed writes and round trips over the number of lanes."""
    mpl.use("Agg")  # no screen needed
    from matplotlib import pyplot as plt  # noqa: PLC0415 - takes its backend when it is imported

    full = [each for each in results if each.load == "full"]
    figure, (jobs, lost, trips) = plt.subplots(1, 3, figsize=(12, 4))
    for workers in WORKERS:
        mine = [each for each in full if each.workers == workers]
        lanes = [each.lanes for each in mine]
        label = f"{workers:,} workers" if workers > 1 else "1 worker"
        jobs.plot(lanes, [each.jobs_per_second for each in mine], marker="o", label=label)
        lost.plot(lanes, [each.lost_per_claim for each in mine], marker="o", label=label)
        trips.plot(lanes, [each.round_trips for each in mine], marker="o", label=label)
    jobs.plot(LANES, [500 * each for each in LANES], "k:")
    jobs.set(title="jobs a second (dotted: 1,000 write units a lane)", yscale="log")
    lost.set(title="failed writes per claim")
    lost.legend(fontsize="small")
    lost.axhline(0.05, color="k", linestyle=":")
    trips.set(title="round trips per claim")
    trips.axhline(2.2, color="k", linestyle=":")
    for axes in (jobs, lost, trips):
        axes.set_xscale("log", base=2)
        axes.set_xticks(LANES, [str(each) for each in LANES])
        axes.set_xlabel("lanes")
        axes.grid(alpha=0.3)
    figure.tight_layout()
    # without the version of matplotlib in it, the same figures give the same file
    figure.savefig(path, dpi=80, metadata={"Software": None})
    plt.close(figure)
