"""A table's index, which shows each write a moment later."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from bench.model.capacity import READ_UNITS, WRITE_UNITS, Bucket

if TYPE_CHECKING:
    from bench.model.expressions import Item

Key: TypeAlias = tuple[str, ...]
"""Of the table: its key attributes' values."""

_SHOWN = ("id", "part", "status_lane", "run_after", "job_type")
_HASH, _RANGE = "status_lane", "run_after"


class Place(NamedTuple):
    """Where in a partition a row stands; equal moments have an order, here by key."""

    moment: int
    key: Key


@dataclass(slots=True)
class IndexPartition:
    """The rows under one hash key.

    DynamoDB gives a hot key a partition of its own in time; here each has one at once.
    """

    places: list[Place] = field(default_factory=list)
    rows: dict[Key, Item] = field(default_factory=dict)
    writes: Bucket = field(default_factory=lambda: Bucket(WRITE_UNITS))
    reads: Bucket = field(default_factory=lambda: Bucket(READ_UNITS))


class Index:
    """The rows as they are shown, and who pays for a change."""

    def __init__(self) -> None:
        self.partitions: dict[str, IndexPartition] = defaultdict(IndexPartition)
        self._shown: dict[Key, Item] = {}

    def cost(self, before: Item | None, after: Item | None) -> list[IndexPartition]:
        """Return the partitions that a write spends a unit in, one for each unit.

        Out of one partition and into another costs a unit in each, as does a new sort key
        in the same one; a change that the index does not show costs nothing.
        """
        old, new = _row(before), _row(after)
        if old == new:
            return []
        if old and new and all(old[name] == new[name] for name in (_HASH, _RANGE)):
            return [self.partitions[new[_HASH]["S"]]]
        return [self.partitions[row[_HASH]["S"]] for row in (old, new) if row]

    def show(self, key: Key, item: Item | None) -> None:
        """Show an item as it was written."""
        old, new = self._shown.pop(key, None), _row(item)
        if old:
            partition = self.partitions[old[_HASH]["S"]]
            del partition.rows[key]
            del partition.places[bisect_left(partition.places, _place(key, old))]
        if new:
            partition = self.partitions[new[_HASH]["S"]]
            partition.rows[key] = self._shown[key] = new
            insort(partition.places, _place(key, new))

    def read(
        self,
        partition: IndexPartition,
        *,
        limit: int,
        forward: bool,
        first: int | None = None,
        last: int | None = None,
        after: tuple[int, Key] | None = None,
    ) -> tuple[list[Item], bool]:
        """Return rows in order, and whether the limit ended them.

        Args:
            partition: which.
            limit: rows at most.
            forward: the earliest first.
            first: no row before this moment.
            last: no row after this moment.
            after: begin behind this row, in the direction of reading.
        """
        places = partition.places
        low = 0 if first is None else bisect_left(places, Place(first, ()))
        high = len(places) if last is None else bisect_left(places, Place(last + 1, ()))
        if after is not None and forward:
            low = max(low, bisect_right(places, Place(*after)))
        elif after is not None:
            high = min(high, bisect_left(places, Place(*after)))
        if forward:
            chosen = places[low : min(high, low + limit)]
        else:
            chosen = places[max(low, high - limit) : high][::-1]
        return [partition.rows[place.key] for place in chosen], len(chosen) == limit


def _row(item: Item | None) -> Item | None:
    if item is None or _HASH not in item or _RANGE not in item:
        return None
    return {name: item[name] for name in _SHOWN if name in item}


def _place(key: Key, row: Item) -> Place:
    return Place(int(row[_RANGE]["N"]), key)
