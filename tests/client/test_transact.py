"""A job and a row of the caller's own in one transaction: both, or neither."""

from __future__ import annotations

import uuid
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from job_retry import runtime
from job_retry_client import (
    InvalidRequestError,
    JobNotFoundError,
    JobQueue,
    NewJob,
    TooLargeError,
)
from tests.store.builders import dynamo_client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

    from job_retry_client import TransactItems
    from tests.conftest import MakeTables

NEW = {
    "small": NewJob("mail", {"order": 7}),
    "large": NewJob("mail", "x" * 100_000),
    "unique": NewJob("mail", {"order": 7}, unique_key="order-7"),
    "large and unique": NewJob("mail", "x" * 100_000, unique_key="order-7"),
}
new_jobs = pytest.mark.parametrize("new", NEW.values(), ids=NEW.keys())


@pytest.fixture
def queue(
    dynoxide_url: str, make_tables: MakeTables, monkeypatch: pytest.MonkeyPatch
) -> Iterator[JobQueue]:
    """A client that has the tables, named by the environment as a function's would."""
    tables = make_tables(dynoxide_url)
    monkeypatch.setenv("JOBS_TABLE", tables.jobs)
    monkeypatch.setenv("CONTROL_TABLE", tables.control)
    monkeypatch.setenv("DYNAMODB_ENDPOINT_URL", dynoxide_url)
    runtime.engine.cache_clear()
    yield JobQueue.connect("in-process:")
    runtime.engine.cache_clear()


class Orders:
    """The caller's own table.

    Attributes:
        client: that writes to it.
    """

    def __init__(self, client: DynamoDBClient) -> None:
        self.client = client
        self._table = f"Orders-{uuid.uuid4().hex[:12]}"
        client.create_table(
            TableName=self._table,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def place(self, order: str, job: TransactItems) -> None:
        """Store an order that is not there yet, with its job."""
        put: Any = {
            "Put": {
                "TableName": self._table,
                "Item": {"id": {"S": order}, "job_id": {"N": str(job.job.id)}},
                "ConditionExpression": "attribute_not_exists(id)",
            }
        }
        entries: Any = [put, *job.entries]
        self.client.transact_write_items(TransactItems=entries)

    def job_of(self, order: str) -> int | None:
        """Return the id of an order's job, if there is the order."""
        item = self.client.get_item(TableName=self._table, Key={"id": {"S": order}}).get("Item")
        return None if item is None else int(item["job_id"]["N"])


@pytest.fixture
def orders(dynoxide_url: str) -> Orders:
    """The caller's table, empty."""
    return Orders(dynamo_client(dynoxide_url))


@new_jobs
def test_both_are_stored_and_the_job_is_done(queue: JobQueue, orders: Orders, new: NewJob) -> None:
    item = queue.transact_item(new)
    assert (item.job.status, item.job.payload) == ("queued", new.payload)
    orders.place("7", item)
    assert orders.job_of("7") == item.job.id
    assert queue.get(item.job).payload == new.payload
    assert [each.id for each in queue.list()] == [item.job.id]
    claimed = queue.claim().job
    assert claimed is not None
    assert (claimed.id, claimed.payload, claimed.attempts) == (item.job.id, new.payload, 1)
    assert queue.complete(claimed, {"sent": True}).status == "completed"


@new_jobs
def test_neither_is_stored_where_the_callers_condition_fails(
    queue: JobQueue, orders: Orders, new: NewJob
) -> None:
    first = queue.transact_item(NewJob("other", queue="another"))
    orders.place("7", first)
    item = queue.transact_item(new)
    with pytest.raises(orders.client.exceptions.TransactionCanceledException):
        orders.place("7", item)
    assert orders.job_of("7") == first.job.id
    with pytest.raises(JobNotFoundError):
        queue.get(item.job)
    assert not queue.claim()
    # and its unique key is free
    assert not queue.enqueue("mail", unique_key="order-7").duplicate


def test_what_is_not_sent_is_not_stored(queue: JobQueue) -> None:
    item = queue.transact_item(NEW["large and unique"])
    with pytest.raises(JobNotFoundError):
        queue.get(item.job)
    assert not queue.claim()


def test_a_unique_key_that_is_held_cancels_the_transaction(queue: JobQueue, orders: Orders) -> None:
    holder = queue.enqueue("mail", unique_key="order-7")
    with pytest.raises(orders.client.exceptions.TransactionCanceledException) as error:
        orders.place("7", queue.transact_item(NEW["unique"]))
    reason: Any = error.value.response["CancellationReasons"][-1]
    assert reason["Code"] == "ConditionalCheckFailed"
    assert reason["Item"]["job_id"]["N"] == str(holder.id)
    assert orders.job_of("7") is None
    assert [each.id for each in queue.list()] == [holder.id]


def test_a_unique_key_is_held_from_the_transaction_on(queue: JobQueue, orders: Orders) -> None:
    item = queue.transact_item(NEW["unique"])
    orders.place("7", item)
    again = queue.enqueue("mail", {"order": 7}, unique_key="order-7")
    assert (again.id, again.duplicate) == (item.job.id, True)


def test_a_job_may_be_due_later(queue: JobQueue, orders: Orders) -> None:
    moment = datetime(2100, 1, 1, tzinfo=timezone.utc)  # noqa: UP017 - as the client's users do
    item = queue.transact_item(NewJob("mail", run_after=moment, priority=9, queue="q"))
    assert (item.job.run_after, item.job.priority, item.job.queue) == (moment, 9, "q")
    orders.place("7", item)
    assert queue.get(item.job) == item.job
    assert not queue.claim("q")


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        (NewJob("mail", max_attempts=0), InvalidRequestError),
        (NewJob("mail", idempotency_key="k"), InvalidRequestError),
        (NewJob("mail", "x" * 300_000), TooLargeError),
    ],
)
def test_a_job_that_is_not_acceptable_is_refused(
    queue: JobQueue, new: NewJob, kind: type[Exception]
) -> None:
    with pytest.raises(kind) as error:
        queue.transact_item(new)
    assert type(error.value) is kind
