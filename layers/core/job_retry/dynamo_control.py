"""The control table in DynamoDB: the queues' records, counts of their load, unique keys."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from job_retry import items
from job_retry.dynamo_errors import ConditionFailedError, translated
from job_retry.items import number
from job_retry.store import KeyTakenError
from job_retry.writes import KEY_AS_SEEN, key_as_seen, key_put

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

    from job_retry.items import Item
    from job_retry.job import KeyRecord
    from job_retry.lanes import QueueRecord
    from job_retry.unique import KeyWrite


class DynamoControl:
    """The half of the DynamoDB store that is not about jobs."""

    def __init__(self, client: DynamoDBClient, control_table: str) -> None:
        self._client = client
        self._control = control_table

    def queue(self, name: str) -> QueueRecord | None:
        """Return what is known of a queue; None if it never had a job."""
        with translated():
            answer = self._client.get_item(TableName=self._control, Key=items.queue_key(name))
        return items.queue_from_item(answer["Item"]) if "Item" in answer else None

    def queues(self) -> list[QueueRecord]:
        """Return all queues, by name."""
        return [
            items.queue_from_item(item)
            for item in self._query(
                TableName=self._control,
                KeyConditionExpression="pk = :pk",
                ExpressionAttributeValues={":pk": items.QUEUES},
            )
        ]

    def register(self, name: str, priority: int) -> QueueRecord:
        """Note that a queue has jobs of a priority; repeating it changes nothing."""
        with translated():
            answer = self._client.update_item(
                TableName=self._control,
                Key=items.queue_key(name),
                UpdateExpression="ADD priorities :priority",
                ExpressionAttributeValues={":priority": {"NS": [str(priority)]}},
                ReturnValues="ALL_NEW",
            )
        return items.queue_from_item(answer["Attributes"])

    def save_queue(self, record: QueueRecord) -> QueueRecord | None:
        """Write all of a queue's record but its priorities, as its next version."""
        settings = items.queue_settings(record) | {"version": record.version + 1}
        sets = ", ".join(f"{name} = :{name}" for name in settings)
        values = {
            f":{name}": {"NULL": True} if value is None else number(value)
            for name, value in settings.items()
        }
        try:
            with translated():
                answer = self._client.update_item(
                    TableName=self._control,
                    Key=items.queue_key(record.name),
                    UpdateExpression=f"SET {sets}",
                    ConditionExpression="attribute_not_exists(version) OR version = :seen",
                    ExpressionAttributeValues={**values, ":seen": number(record.version)},
                    ReturnValues="ALL_NEW",
                )
        except ConditionFailedError:
            return None
        return items.queue_from_item(answer["Attributes"])

    def count_enqueue(self, queue: str, minute: int) -> int:
        """Count a sampled enqueue of this minute, and return how many there are."""
        with translated():
            answer = self._client.update_item(
                TableName=self._control,
                Key=items.rate_key(queue, minute),
                UpdateExpression="ADD enqueued :one SET expires_at = :expires_at",
                ExpressionAttributeValues={
                    ":one": number(1),
                    ":expires_at": number((minute + 60) * 60),
                },
                ReturnValues="UPDATED_NEW",
            )
        return int(answer["Attributes"]["enqueued"]["N"])

    # -- unique keys -------------------------------------------------------------------

    def read_key(self, key: str) -> KeyRecord | None:
        """Return a key's record as it stands: one read unit."""
        with translated():
            answer = self._client.get_item(
                TableName=self._control, Key=items.unique_key(key), ConsistentRead=True
            )
        return items.unique_from_item(answer["Item"]) if "Item" in answer else None

    def take_key(self, write: KeyWrite) -> None:
        """Write a key's record, if what stands there is still what was seen: one unit."""
        put: Any = key_put(self._control, write)
        try:
            with translated():
                self._client.put_item(**put)
        except ConditionFailedError as failed:
            known = [] if failed.item is None else [items.unique_from_item(failed.item)]
            if known != [write.record]:  # else our own put, which the SDK repeated
                raise KeyTakenError(known) from None

    def free_key(self, record: KeyRecord, now: int) -> None:
        """Remove a key's record, or let it go by itself when its time is over: one unit."""
        condition: Any = {
            "TableName": self._control,
            "Key": items.unique_key(record.key),
            "ConditionExpression": KEY_AS_SEEN,
            "ExpressionAttributeValues": key_as_seen(record),
        }
        with suppress(ConditionFailedError), translated():  # another has taken it since
            if now >= record.until:
                self._client.delete_item(**condition)
                return
            condition["ExpressionAttributeValues"][":expires_at"] = items.expires_at(record)
            self._client.update_item(UpdateExpression="SET expires_at = :expires_at", **condition)

    def _query(self, **query: Any) -> Iterator[Item]:
        while True:
            with translated():
                answer = self._client.query(**query)
            yield from answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
