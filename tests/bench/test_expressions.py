"""The model's expressions mean what they mean to a real engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench.model import expressions
from local.tables import local_client

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from tests.conftest import MakeTables, Tables

KEY: dict[str, Any] = {"id": {"N": "7"}, "part": {"S": "job"}}
ITEM: dict[str, Any] = {
    **KEY,
    "status": {"S": "queued"},
    "run_after": {"N": "1000"},
    "lease_ms": {"N": "900000"},
    "attempts": {"N": "9"},
    "progress": {"S": "1"},
    "priorities": {"NS": ["0", "9"]},
}
NAMES = {"#status": "status"}

# Each value is in both kinds of digits: "9" < "10" as numbers, not as text.
CONDITIONS = [
    "attribute_not_exists(id)",
    "attribute_exists(id)",
    "attribute_not_exists(gone)",
    "#status = :queued AND run_after <= :later",
    "#status = :queued AND run_after <= :earlier",
    "#status = :running AND run_after <= :later",
    "attempts < :ten",
    "attempts > :ten",
    "attempts = :text_nine",
    "attempts <> :text_nine",
    "gone = :ten",
    "gone <> :ten",
    "gone < :ten",
    "attribute_not_exists(version) OR version = :ten",
    "attribute_exists(version) OR (#status = :queued AND attempts >= :ten)",
]
VALUES: dict[str, Any] = {
    ":queued": {"S": "queued"},
    ":running": {"S": "running"},
    ":earlier": {"N": "999"},
    ":later": {"N": "10000"},
    ":ten": {"N": "10"},
    ":text_nine": {"S": "9"},
}
UPDATES = [
    "SET #status = :running, run_after = :later + lease_ms, attempts = attempts + :ten",
    "SET lane = :ten REMOVE progress, gone",
    "SET attempts = attempts - :ten, old_attempts = attempts",
    "ADD attempts :ten",
    "ADD enqueued :ten SET #status = :running",
    "ADD priorities :five",
]
SETS = {":five": {"NS": ["5", "9"]}}


def used(text: str, names: dict[str, Any]) -> dict[str, Any]:
    """Return what an expression refers to; DynamoDB refuses what it does not."""
    return {name: value for name, value in names.items() if name in text}


@pytest.fixture(scope="module")
def engine(dynoxide_url: str) -> DynamoDBClient:
    return local_client(dynoxide_url)


@pytest.fixture(scope="module")
def tables(dynoxide_url: str, make_tables: MakeTables) -> Tables:
    return make_tables(dynoxide_url)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_holds_here_as_there(
    engine: DynamoDBClient, tables: Tables, condition: str
) -> None:
    engine.put_item(TableName=tables.jobs, Item=ITEM)
    more: Any = {"ExpressionAttributeNames": used(condition, NAMES)}
    more["ExpressionAttributeValues"] = used(condition, VALUES)
    there = True
    try:
        engine.put_item(
            TableName=tables.jobs,
            Item=ITEM,
            ConditionExpression=condition,
            **{name: value for name, value in more.items() if value},
        )
    except engine.exceptions.ConditionalCheckFailedException:
        there = False
    assert expressions.condition(condition)(ITEM, NAMES, VALUES) is there


@pytest.mark.parametrize("update", UPDATES)
def test_an_update_makes_the_same_item(engine: DynamoDBClient, tables: Tables, update: str) -> None:
    engine.put_item(TableName=tables.jobs, Item=ITEM)
    values = used(update, VALUES | SETS)
    more: Any = {"ExpressionAttributeNames": used(update, NAMES)}
    there = engine.update_item(
        TableName=tables.jobs,
        Key=KEY,
        UpdateExpression=update,
        ExpressionAttributeValues=values,
        ReturnValues="ALL_NEW",
        **{name: value for name, value in more.items() if value},
    )["Attributes"]
    here = dict(ITEM)
    expressions.update(update)(ITEM, here, NAMES, values)
    assert _sorted(here) == _sorted(there)


@pytest.mark.parametrize(
    "text",
    [
        "size(a) > :one",
        "a BETWEEN :one AND :two",
        "begins_with(a, :one)",
        "NOT a = :one",
        "a.b = :c",
    ],
)
def test_what_it_does_not_know_is_an_error(text: str) -> None:
    with pytest.raises(expressions.UnknownExpressionError):
        expressions.condition(text)


@pytest.mark.parametrize(
    "text", ["SET a = if_not_exists(a, :one)", "DELETE a :one", "SET a = :one :b"]
)
def test_an_unknown_update_too(text: str) -> None:
    with pytest.raises(expressions.UnknownExpressionError):
        expressions.update(text)


def _sorted(item: Any) -> dict[str, Any]:
    """Return an item with its sets in order."""
    return {
        name: {
            kind: sorted(content) if kind == "NS" else content for kind, content in value.items()
        }
        for name, value in item.items()
    }
