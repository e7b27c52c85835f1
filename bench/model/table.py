"""A table: its items, and what each partition of it carries."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from botocore.exceptions import ClientError

from bench.model import expressions
from bench.model.capacity import READ_UNITS, WRITE_UNITS, Bucket

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from bench.model.expressions import Item, Names, Values
    from bench.model.index import Index, Key

PARTITIONS = 64
"""Of a table. On demand, a table starts with four and grows with its traffic; a queue that
is to carry ten thousand jobs a second has to be warmed up first (WarmThroughput)."""


class Table:
    """Items by key, each write atomic. Every item here is under 1 KB: a write is one unit."""

    def __init__(
        self,
        keys: tuple[str, ...],
        index: Index,
        show_later: Callable[[Key, Item], None],
        counts: Counter[str],
    ) -> None:
        """Make an empty table.

        Args:
            keys: names of the key's attributes.
            index: of this table.
            show_later: brings a write to the index in time.
            counts: of what happens: throttles, lost, write_units, read_units.
        """
        self.items: dict[Key, Item] = {}
        self.index = index
        self._keys = keys
        self._show_later = show_later
        self._counts = counts
        self._writes = [Bucket(WRITE_UNITS) for _ in range(PARTITIONS)]
        self._reads = [Bucket(READ_UNITS) for _ in range(PARTITIONS)]

    def key(self, item: Item) -> Key:
        """Return an item's key."""
        return tuple(next(iter(item[name].values())) for name in self._keys)

    def get(self, key: Key, *, consistent: bool, now: float) -> Item | None:
        """Read an item; the cheap read, too, sees every write here, as it nearly always does."""
        self.spend_read(self._reads[_place(key)], 1.0 if consistent else 0.5, now)
        item = self.items.get(key)
        return dict(item) if item is not None else None

    def write(
        self,
        key: Key,
        change: Callable[[Item | None], Item],
        now: float,
        *,
        condition: str | None,
        names: Names,
        values: Values,
    ) -> Item:
        """Change an item if the condition holds, and return it as it is then.

        Raises:
            ClientError: the condition does not hold, or a partition of the table or of the
                index carries no more. A condition that failed costs its unit all the same.
        """
        before = self.items.get(key)
        table = self._writes[_place(key)]
        if condition is not None:
            holds = expressions.condition(condition)(before or {}, names, values)
            if not holds:
                self._spend([table], now)
                self._counts["lost"] += 1
                raise failed(before)
        after = change(before)
        cost = [partition.writes for partition in self.index.cost(before, after)]
        self._spend([table, *cost], now)
        self.items[key] = after
        if cost:
            self._show_later(key, after)
        return after

    def put_at_once(self, item: Item) -> None:
        """Store an item that was there before the run began, or that others pay for."""
        key = self.key(item)
        self.items[key] = item
        self.index.show(key, item)

    def spend_read(self, bucket: Bucket, units: float, now: float) -> None:
        """Pay for a read.

        Raises:
            ClientError: the partition carries no more.
        """
        if not bucket.has(units, now):
            self._counts["throttles"] += 1
            raise throttled()
        bucket.spend(units)
        self._counts["read_units"] += units  # type: ignore[assignment]  # halves

    def _spend(self, buckets: list[Bucket], now: float) -> None:
        """Pay a unit each, or nothing at all: a full index holds up the table's writes."""
        if not all(bucket.has(1.0, now) for bucket in buckets):
            self._counts["throttles"] += 1
            raise throttled()
        for bucket in buckets:
            bucket.spend(1.0)
        self._counts["write_units"] += len(buckets)


def failed(item: Item | None) -> ClientError:
    """Return the error of a condition that does not hold, with ALL_OLD's item."""
    error = _error("ConditionalCheckFailedException", "the condition does not hold")
    if item is not None:
        error.response["Item"] = item  # type: ignore[typeddict-unknown-key]  # as boto3 has it
    return error


def throttled() -> ClientError:
    """Return the error of a partition that carries no more."""
    return _error("ThrottlingException", "a partition carries no more")


def _error(code: str, message: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "model")


def _place(key: Key) -> int:
    """Return the partition that a key's hash part falls into."""
    # not hash(): that of a string differs from process to process
    return crc32(key[0].encode()) % PARTITIONS
