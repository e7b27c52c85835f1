"""Counting what calls to DynamoDB are billed, by what the engine itself reports."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

Units = Counter[str]
"""``read`` and ``write`` units, fractions included."""

_READS = frozenset({"GetItem", "Query", "BatchGetItem"})


class Meter:
    """Counts the units that a client's calls are billed."""

    def __init__(self, client: DynamoDBClient) -> None:
        self._events = client.meta.events
        self._units: Units = Counter()

    @contextmanager
    def reading(self) -> Iterator[Units]:
        """Count what happens inside."""
        self._units = Counter()
        asked, answered = "before-parameter-build.dynamodb", "after-call.dynamodb"
        self._events.register(asked, self._ask)
        self._events.register(answered, self._count)
        try:
            yield self._units
        finally:
            self._events.unregister(asked, self._ask)
            self._events.unregister(answered, self._count)

    def _ask(self, params: dict[str, Any], **_: Any) -> None:
        params["ReturnConsumedCapacity"] = "TOTAL"

    def _count(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        kind = "read" if model.name in _READS else "write"
        for each in consumed if isinstance(consumed, list) else [consumed]:
            self._units[kind] += each["CapacityUnits"]
