"""What the cold start bench measured, as tables, and what it had to be."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

BARE = "a bare `boto3.client`, one call"
BARE_ON_LAYER = "the same, on the layer's packages"
USUAL = "a claim written the usual way"
CLAIM = "ClaimJobsFunction"
COMPLETE = "CompleteJobFunction"
SDK_CLAIM = "the SDK calls of a claim"
SDK_COMPLETE = "the SDK calls of a complete"

BEGIN, END = "<!-- bench-cold -->", "<!-- /bench-cold -->"


@dataclass(frozen=True)
class Bound:
    """What a handler may take at most, as a multiple of what another takes."""

    kind: str  # "cold" or "warm"
    handler: str
    reference: str
    at_most: float


BOUNDS = (
    Bound("cold", CLAIM, BARE, 1.6),
    Bound("cold", CLAIM, USUAL, 0.7),
    Bound("warm", CLAIM, SDK_CLAIM, 1.5),
    Bound("warm", COMPLETE, SDK_COMPLETE, 1.5),
)


@dataclass(frozen=True)
class Measured:
    """CPU milliseconds of each handler, a figure for each round.

    Attributes:
        python: version of the interpreter.
        cold: from the start of a process to its first answer.
        warm: of one request in a process that has served others.
    """

    python: str
    cold: Mapping[str, Sequence[float]]
    warm: Mapping[str, Sequence[float]]

    def ratio(self, kind: str, handler: str, reference: str) -> float:
        """Compare two handlers round by round: the machine's pace drifts, and both with it."""
        figures = self.cold if kind == "cold" else self.warm
        pairs = zip(figures[handler], figures[reference], strict=True)
        return median(of_handler / of_reference for of_handler, of_reference in pairs)

    def of(self, bound: Bound) -> float:
        """Return what a bound is about."""
        return self.ratio(bound.kind, bound.handler, bound.reference)


def missed(measured: Measured) -> list[Bound]:
    """Return the bounds that do not hold."""
    return [bound for bound in BOUNDS if measured.of(bound) > bound.at_most]


def render(measured: Measured) -> str:
    """Return the tables as Markdown."""
    heading = (
        f"CPU time, user and system, Python {measured.python}; medians of "
        f"{len(measured.cold[BARE])} rounds, in each of which every handler took its turn. "
        "Milliseconds are this machine's; the bounds are on ratios."
    )
    return "\n\n".join(
        [
            heading,
            _bounds(measured),
            _cold(measured),
            _warm(measured),
        ]
    )


def write(path: Path, text: str) -> None:
    """Put the tables between the page's markers.

    Raises:
        ValueError: the page has no such markers.
    """
    page = path.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no {BEGIN} … {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def _bounds(measured: Measured) -> str:
    rows = [
        [
            f"{bound.kind}: {_name(bound.handler)} ≤ {bound.at_most} × {_name(bound.reference)}",
            f"{measured.of(bound):.2f} ×",
            "holds" if measured.of(bound) <= bound.at_most else "**missed**",
        ]
        for bound in BOUNDS
    ]
    return _table(["bound", "measured", ""], rows)


def _cold(measured: Measured) -> str:
    rows = [
        [
            _name(name),
            f"{median(figures):.0f}",
            f"{measured.ratio('cold', name, BARE):.2f} ×",
            f"{measured.ratio('cold', name, USUAL):.2f} ×",
        ]
        for name, figures in measured.cold.items()
    ]
    return _table(["first answer of a fresh process", "CPU ms", "bare client", "usual way"], rows)


def _warm(measured: Measured) -> str:
    rows = [[_name(name), f"{median(figures):.2f}"] for name, figures in measured.warm.items()]
    return _table(["a request of a warm process", "CPU ms"], rows)


def _name(handler: str) -> str:
    return f"`{handler}`" if handler.endswith("Function") else handler


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, rule, *rows])
