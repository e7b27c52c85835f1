"""How claims fare when many workers want the same jobs (``make bench-claim``).

The layer's own store and claim code runs against a modelled DynamoDB in virtual time, see
``bench/model``. Prints a table and the bounds it checked; ends with 1 where one fails.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from bench.contention.bounds import check
from bench.contention.plan import full_backlogs, streams
from bench.contention.plot import plot
from bench.contention.report import markdown_table, put_between_markers, text_table, write_csv
from bench.contention.scenario import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.contention.measures import Result
    from bench.contention.scenario import Scenario

_DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser(prog="python -m bench.claim", description=main.__doc__)
    parser.add_argument("--docs", type=Path, default=_DOCS, help="folder of performance.md")
    parser.add_argument(
        "--processes", type=int, default=min(os.cpu_count() or 1, 2), help="runs at once"
    )
    options = parser.parse_args()
    began = time.monotonic()
    with ProcessPoolExecutor(options.processes) as pool:
        results = run(pool)
    print(text_table(results))
    print()
    bounds = list(check(results))
    for bound in bounds:
        print(bound)
    _write(results, options.docs)
    print(f"took {time.monotonic() - began:.0f} s")
    return 0 if all(bound.holds for bound in bounds) else 1


def run(pool: ProcessPoolExecutor) -> list[Result]:
    """Play all scenarios; the order of the results is the plan's, whichever ends first."""
    scenarios = [*full_backlogs(), *streams()]
    # the long ones stand at the end; begun first, none is left over
    running = {each: pool.submit(play, each) for each in reversed(scenarios)}
    return [running[each].result() for each in scenarios]


def play(scenario: Scenario) -> Result:
    """Play one scenario."""
    # Next to nothing here is cyclic; to look for it among a million values takes a quarter
    # of the time.
    gc.set_threshold(100_000, 50, 100)
    return Run(scenario).play()


def _write(results: Sequence[Result], docs: Path) -> None:
    folder = docs / "performance"
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(results, folder / "claim.csv")
    plot(results, folder / "claim.png")
    page = docs / "performance.md"
    if not put_between_markers(page, markdown_table(results)):
        print(f"{page} has no place for the table", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
