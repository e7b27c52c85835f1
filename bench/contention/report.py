"""The figures as a table for people, for the documentation and for programs."""

from __future__ import annotations

import csv
from dataclasses import asdict
from typing import TYPE_CHECKING

from bench.contention.plan import recommended_lanes, wish

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.contention.measures import Result

BEGIN, END = "<!-- bench-claim -->", "<!-- /bench-claim -->"

_HEADINGS = (
    "workers",
    "lanes",
    "load",
    "jobs/s",
    "failed writes / claim",
    "round trips / claim",
    "queries / claim",
    "older jobs passed over",
    "by how much older, ms",
    "due → claimed p50, ms",
    "p99, ms",
    "throttled / job",
    "empty claims / claim",
)


def text_table(results: Sequence[Result]) -> str:
    """Return the results in columns."""
    rows = [_cells(each) for each in results]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (_HEADINGS, *rows)
    )


def markdown_table(results: Sequence[Result]) -> str:
    """Return the results as Markdown, the recommended lanes in bold."""
    lines = [_markdown_row(_HEADINGS), _markdown_row(["--:"] * len(_HEADINGS))]
    for result in results:
        cells = _cells(result)
        if result.load == "full" and result.lanes == recommended_lanes(wish(result.workers)):
            cells[1] = f"**{cells[1]}**"
        lines.append(_markdown_row(cells))
    return "\n".join(lines)


def put_between_markers(page: Path, table: str) -> bool:
    """Put the table into a page between its markers; say whether the page has them."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return False
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    return True


def write_csv(results: Sequence[Result], path: Path) -> None:
    """Write every figure."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [asdict(each) for each in results]
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {
                    name: f"{value:.4g}" if isinstance(value, float) else value
                    for name, value in row.items()
                }
            )


def _cells(result: Result) -> list[str]:
    return [
        f"{result.workers:,}",
        str(result.lanes),
        result.load,
        f"{result.jobs_per_second:,.0f}",
        f"{result.lost_per_claim:.3f}",
        f"{result.round_trips:.2f}",
        f"{result.queries_per_claim:.2f}",
        _whole(result.older_p50),
        _whole(result.order_ms_p50),
        _whole(result.waited_ms_p50),
        _whole(result.waited_ms_p99),
        f"{result.throttled:.2f}",
        f"{result.empty:.2f}",
    ]


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
