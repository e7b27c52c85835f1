"""The writes that store a new job, as DynamoDB's wire format has them.

The store sends them, a large payload ahead of the rest; ``transact.py`` hands all of them to
a caller, for a transaction of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from job_retry import items
from job_retry.items import number

if TYPE_CHECKING:
    from job_retry.items import Item
    from job_retry.job import Job, KeyRecord
    from job_retry.unique import KeyWrite

Put: TypeAlias = dict[str, Any]
"""The members of a conditional put, alone or in a transaction."""

_NO_SUCH_ITEM_YET = "attribute_not_exists(id)"
_KEY_IS_FREE = "attribute_not_exists(pk)"
KEY_AS_SEEN = "job_id = :job_id AND turn = :turn"


def record_put(jobs_table: str, job: Job) -> Put:
    """Return the put of a new job's record."""
    return _put(jobs_table, items.job_to_item(job), _NO_SUCH_ITEM_YET)


def payload_put(jobs_table: str, job: Job) -> Put | None:
    """Return the put of a new job's payload; None where it is in the record."""
    if job.payload.part is None:
        return None
    item = items.part_to_item(job.id, job.payload, job.enqueue_token)
    return _put(jobs_table, item, _NO_SUCH_ITEM_YET)


def key_put(control_table: str, write: KeyWrite) -> Put:
    """Return the put of a key's record."""
    item = items.unique_to_item(write)
    if write.instead_of is None:
        return _put(control_table, item, _KEY_IS_FREE)
    put = _put(control_table, item, f"{_KEY_IS_FREE} OR ({KEY_AS_SEEN})")
    return put | {"ExpressionAttributeValues": key_as_seen(write.instead_of)}


def key_as_seen(record: KeyRecord) -> Item:
    """Return the values of `KEY_AS_SEEN`."""
    return {":job_id": number(record.job_id), ":turn": number(record.turn)}


def _put(table: str, item: Item, condition: str) -> Put:
    return {
        "TableName": table,
        "Item": item,
        "ConditionExpression": condition,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
