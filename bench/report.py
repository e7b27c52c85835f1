"""What every bench prints: a markdown table, and each bound with whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Bound:
    """A figure and what it must not exceed."""

    name: str
    value: float
    most: float

    @property
    def holds(self) -> bool:
        """Whether it does."""
        return self.value <= self.most


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a markdown table; all columns but the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show(bounds: Sequence[Bound]) -> int:
    """Print the bounds; return the exit code."""
    print()
    for bound in bounds:
        word = "holds " if bound.holds else "BROKEN"
        print(f"{word}  {bound.name}: {bound.value:.4g}, at most {bound.most:.4g}")
    return 0 if all(bound.holds for bound in bounds) else 1
