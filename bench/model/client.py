"""The client of boto3 as far as claims need it, on modelled tables in virtual time."""
# The arguments' names are boto3's.
# ruff: noqa: N803

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from bench.model import expressions
from bench.model.chance import Lognormal
from bench.model.index import Index
from bench.model.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from bench.model.expressions import Item
    from bench.model.index import Key
    from bench.model.world import World

JOBS, CONTROL = "jobs", "control"

# Assumed, as a function in the same region sees them: DynamoDB promises single-digit
# milliseconds and says no more.
LATENCY = Lognormal(median=0.004, p99=0.015)
LAG = Lognormal(median=0.010, p99=0.100)

_ROW_BYTES = 110  # of the index: keys, job_type and their names
_READ_BLOCK = 4096  # bytes that half a unit reads

# botocore's standard mode: a throttled call is made again after rand · 2^i seconds.
_ATTEMPTS = 4
_MAX_BACKOFF = 20.0


class ModelledDynamoDB:
    """What of ``boto3.client("dynamodb")`` the store calls to enqueue, claim and complete."""

    def __init__(self, world: World, random: Random) -> None:
        self.counts: Counter[str] = Counter()
        self._world = world
        self._random = random
        self._shown_at: dict[Key, float] = {}
        self.index = Index()
        self.jobs = Table(("id", "part"), self.index, self._show_later, self.counts)
        self.control = Table(("pk", "sk"), Index(), lambda _key, _item: None, self.counts)

    def put_item(
        self, *, TableName: str, Item: Item, ConditionExpression: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """Write an item."""
        _known(more)
        table = self._table(TableName)
        return self._call(
            lambda: (
                table.write(
                    table.key(Item),
                    lambda _before: dict(Item),
                    self._world.now,
                    condition=ConditionExpression,
                    names=more.get("ExpressionAttributeNames", {}),
                    values=more.get("ExpressionAttributeValues", {}),
                )
                and {}
            )
        )

    def update_item(
        self,
        *,
        TableName: str,
        Key: Item,
        UpdateExpression: str,
        ConditionExpression: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Change an item, or make it."""
        _known(more)
        table = self._table(TableName)
        names = more.get("ExpressionAttributeNames", {})
        values = more.get("ExpressionAttributeValues", {})
        change = expressions.update(UpdateExpression)

        def changed(before: Item | None) -> Item:
            after = dict(Key if before is None else before)
            change(before or {}, after, names, values)
            return after

        def write() -> dict[str, Any]:
            item = table.write(
                table.key(Key),
                changed,
                self._world.now,
                condition=ConditionExpression,
                names=names,
                values=values,
            )
            return {"Attributes": dict(item)}

        return self._call(write)

    def get_item(
        self, *, TableName: str, Key: Item, ConsistentRead: bool = False
    ) -> dict[str, Any]:
        """Read an item."""
        table = self._table(TableName)

        def read() -> dict[str, Any]:
            item = table.get(table.key(Key), consistent=ConsistentRead, now=self._world.now)
            return {} if item is None else {"Item": item}

        return self._call(read)

    def batch_get_item(self, *, RequestItems: dict[str, Any]) -> dict[str, Any]:
        """Read several items."""

        def read() -> dict[str, Any]:
            found: dict[str, list[Item]] = {}
            for name, request in RequestItems.items():
                table = self._table(name)
                keys = [table.key(key) for key in request["Keys"]]
                items = [table.get(key, consistent=False, now=self._world.now) for key in keys]
                found[name] = [item for item in items if item is not None]
            return {"Responses": found, "UnprocessedKeys": {}}

        return self._call(read)

    def query(
        self,
        *,
        TableName: str,
        IndexName: str,
        KeyConditionExpression: str,
        ExpressionAttributeValues: dict[str, Any],
        Limit: int,
        ScanIndexForward: bool = True,
        ExclusiveStartKey: Item | None = None,
        ProjectionExpression: str | None = None,
    ) -> dict[str, Any]:
        """Read a partition of the index from its beginning, or from behind a row."""
        table = self._table(TableName)
        del IndexName
        if KeyConditionExpression != "status_lane = :status_lane":
            raise expressions.UnknownExpressionError(KeyConditionExpression)
        name = ExpressionAttributeValues[":status_lane"]["S"]

        def read() -> dict[str, Any]:
            after = None
            if ExclusiveStartKey is not None:
                moment = int(ExclusiveStartKey["run_after"]["N"])
                after = (moment, table.key(ExclusiveStartKey))
            partition = self.index.partitions[name]
            rows, more = self.index.read(
                partition, limit=Limit, forward=ScanIndexForward, after=after
            )
            blocks = max(math.ceil(len(rows) * _ROW_BYTES / _READ_BLOCK), 1)
            table.spend_read(partition.reads, blocks / 2, self._world.now)
            self.counts["queries"] += 1
            answer: dict[str, Any] = {"Items": rows}
            if ProjectionExpression is not None:
                shown = ProjectionExpression.split(", ")
                answer["Items"] = [{name: row[name] for name in shown} for row in rows]
            if more:
                answer["LastEvaluatedKey"] = rows[-1]
            return answer

        return self._call(read)

    def _call(self, serve: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Make a call: half the latency there, half back; again if it was throttled."""
        for attempt in range(_ATTEMPTS):
            self._world.current().calls += 1
            half = LATENCY.draw(self._random) / 2
            self._world.sleep(half)
            answer, failure = _outcome(serve)
            self._world.sleep(half)
            if failure is None:
                return answer
            last = attempt == _ATTEMPTS - 1
            if failure.response["Error"]["Code"] != "ThrottlingException" or last:
                try:
                    raise failure
                finally:
                    del failure  # or it would hold this frame, and the frame it
            self._world.sleep(self._random.random() * min(2.0**attempt, _MAX_BACKOFF))
        raise AssertionError

    def _table(self, name: str) -> Table:
        return {JOBS: self.jobs, CONTROL: self.control}[name]

    def _show_later(self, key: Key, item: Item) -> None:
        """Bring a write to the index after a lag; those of one item stay in order."""
        moment = self._world.now + LAG.draw(self._random)
        moment = max(moment, self._shown_at.get(key, 0.0))
        self._shown_at[key] = moment
        self._world.at(moment, partial(self.index.show, key, item))


def _outcome(serve: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], ClientError | None]:
    try:
        return serve(), None
    except ClientError as error:
        return {}, error


_UNDERSTOOD = {
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "ReturnValues",
    "ReturnValuesOnConditionCheckFailure",
}


def _known(arguments: dict[str, Any]) -> None:
    if not arguments.keys() <= _UNDERSTOOD:
        raise TypeError(f"the model does not know {arguments.keys() - _UNDERSTOOD}")
