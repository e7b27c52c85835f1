"""How wide the columns of a list of jobs are, so that what matters most stays whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

GAP = 2
"""Blanks between two columns."""


class _Step(NamedTuple):
    """What is given up.

    Attributes:
        without: the columns that are left out.
        least: the widths of columns that may be narrower than what is in them.
    """

    without: frozenset[str]
    least: Mapping[str, int]


# An ID is to be copied, and status, attempts and moment say nothing in part: they are whole. The
# error is long and its beginning says most; names can be guessed from their beginnings.
_STEPS = (
    _Step(frozenset(), {"Queue": 8, "Type": 8, "Last error": 10}),
    _Step(frozenset({"Last error"}), {"Queue": 4, "Type": 4}),
    # a moment in several lines is whole, too
    _Step(frozenset({"Last error"}), {"Queue": 4, "Type": 4, "When": 10}),
    _Step(frozenset({"Last error", "Queue", "Type"}), {"When": 10}),
)
_GROWING = (("When",), ("Queue", "Type"), ("Last error",))


def fitted(natural: Mapping[str, int], room: int) -> dict[str, int]:
    """Return the widths of the columns that are to be shown, in order.

    Args:
        natural: how wide each column would be if there were room for all.
        room: the width of the whole table. Where it does not suffice for what is always whole,
            the widths are over it.
    """
    for step in _STEPS:
        widths = {
            name: min(width, step.least.get(name, width))
            for name, width in natural.items()
            if name not in step.without
        }
        left = room - sum(widths.values()) - GAP * (len(widths) - 1)
        if left >= 0:
            break
    for names in _GROWING:
        left = _grow(widths, natural, [name for name in names if name in widths], left)
    return widths


def _grow(
    widths: dict[str, int], natural: Mapping[str, int], names: Iterable[str], left: int
) -> int:
    """Widen columns, the narrowest first, and return how much room is left then."""
    while left > 0 and (narrow := [name for name in names if widths[name] < natural[name]]):
        widths[min(narrow, key=widths.__getitem__)] += 1
        left -= 1
    return left
