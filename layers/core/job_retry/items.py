"""Jobs as DynamoDB items and back: every attribute name of the tables stands here.

Some names are reserved words (``status``, ``result``); expressions write them as ``#name``.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from job_retry.job import Attempt, Document, Job, KeyRecord, Status
from job_retry.lanes import Partition, QueueRecord
from job_retry.store import Row, partition_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from job_retry.unique import KeyWrite

Value: TypeAlias = dict[str, Any]
"""One attribute's value as DynamoDB's wire format has it: {"S": …}, {"N": …}."""

Item: TypeAlias = dict[str, Any]
"""An item, or a key, as the wire format has it."""

_UNIT_BYTES = 1024  # that a write unit pays for
_PART_OVERHEAD = 80  # bytes of an item beside the text

INDEX = "status-run_after-index"
RECORD = "job"
PAYLOAD = "payload"
ATTEMPT = "attempt#"

# Fields of Job that do not stand under their own name alone.
_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "status": ("status", "status_lane", "later"),
    "lane": ("lane", "status_lane"),
    "result": ("result", "result_bytes", "result_part"),
    "run_lease_seconds": ("run_lease_ms",),
    "unique": ("unique_key", "unique_turn", "unique_content", "unique_until"),
}


def number(value: float) -> Value:
    """Return a number as DynamoDB's wire format has it."""
    return {"N": str(value)}


def string(value: str) -> Value:
    """Return a string as DynamoDB's wire format has it."""
    return {"S": value}


QUEUES = string("queue")
"""The control table's partition of the queues' records."""

_UNIQUE = string("key")


def key(job_id: int, part: str = RECORD) -> Item:
    """Return the table key of a part of a job."""
    return {"id": number(job_id), "part": string(part)}


def job_to_item(job: Job) -> Item:
    """Return a job's record; what is None is left out."""
    payload, result = job.payload, job.result
    optional: dict[str, Value | None] = {
        "later": {"BOOL": True} if _is_queued_for_later(job) else None,
        "payload": _inline(payload),
        "payload_bytes": number(payload.size) if payload.part else None,
        "max_backoff_seconds": _number_or_none(job.max_backoff_seconds),
        "jitter": _string_or_none(None if job.jitter is None else repr(job.jitter)),
        "last_attempted_at": _number_or_none(job.last_attempted_at),
        "claimed_by": _string_or_none(job.claimed_by),
        "lease_token": _string_or_none(job.lease_token),
        "run_lease_ms": _number_or_none(
            None if job.run_lease_seconds is None else job.run_lease_seconds * 1000
        ),
        "due_at": _number_or_none(job.due_at),
        "progress": _string_or_none(job.progress),
        "last_error": _string_or_none(job.last_error),
        "failures": _number_or_none(job.failures or None),
        "result": _inline(result) if result else None,
        "result_bytes": number(result.size) if result and result.part else None,
        "result_part": _string_or_none(result.part if result else None),
        "fingerprint": _string_or_none(job.fingerprint),
    }
    if (unique := job.unique) is not None:
        optional |= {
            "unique_key": string(unique.key),
            "unique_turn": number(unique.turn),
            "unique_content": string(unique.content),
            "unique_until": number(unique.until),
        }
    return {
        **key(job.id),
        "status_lane": string(partition_of(job).key),
        "run_after": number(job.run_after),
        "status": string(job.status),
        "queue": string(job.queue),
        "job_type": string(job.job_type),
        "priority": number(job.priority),
        "lane": number(job.lane),
        "attempts": number(job.attempts),
        "max_attempts": number(job.max_attempts),
        "backoff_seconds": number(job.backoff_seconds),
        "lease_ms": number(job.lease_seconds * 1000),
        "updated_at": number(job.updated_at),
        "enqueue_token": string(job.enqueue_token),
        **{name: value for name, value in optional.items() if value is not None},
    }


def _is_queued_for_later(job: Job) -> bool:
    """Say whether a job was not due yet when it was queued.

    Nothing writes a queued job without moving it on, so ``updated_at`` is that moment.
    Filters of the table's stream, which know no present moment, go by the attribute.
    """
    return job.status is Status.QUEUED and job.run_after > job.updated_at


def job_from_item(item: Mapping[str, Any]) -> Job:
    """Return the job that a record holds."""
    run_lease_ms = _integer_or_none(item, "run_lease_ms")
    jitter = _text_or_none(item, "jitter")
    return Job(
        id=int(item["id"]["N"]),
        queue=item["queue"]["S"],
        job_type=item["job_type"]["S"],
        status=Status(item["status"]["S"]),
        priority=int(item["priority"]["N"]),
        lane=int(item["lane"]["N"]),
        payload=_document(item, "payload", part=PAYLOAD),
        attempts=int(item["attempts"]["N"]),
        max_attempts=int(item["max_attempts"]["N"]),
        backoff_seconds=int(item["backoff_seconds"]["N"]),
        max_backoff_seconds=_integer_or_none(item, "max_backoff_seconds"),
        jitter=None if jitter is None else float(jitter),
        lease_seconds=int(item["lease_ms"]["N"]) // 1000,
        run_after=int(item["run_after"]["N"]),
        updated_at=int(item["updated_at"]["N"]),
        enqueue_token=item["enqueue_token"]["S"],
        last_attempted_at=_integer_or_none(item, "last_attempted_at"),
        claimed_by=_text_or_none(item, "claimed_by"),
        lease_token=_text_or_none(item, "lease_token"),
        run_lease_seconds=None if run_lease_ms is None else run_lease_ms // 1000,
        due_at=_integer_or_none(item, "due_at"),
        progress=_text_or_none(item, "progress"),
        last_error=_text_or_none(item, "last_error"),
        failures=_integer_or_none(item, "failures") or 0,
        result=(
            _document(item, "result", part=_text_or_none(item, "result_part"))
            if "result" in item or "result_part" in item
            else None
        ),
        fingerprint=_text_or_none(item, "fingerprint"),
        unique=(
            KeyRecord(
                item["unique_key"]["S"],
                int(item["id"]["N"]),
                int(item["unique_turn"]["N"]),
                item["unique_content"]["S"],
                int(item["unique_until"]["N"]),
            )
            if "unique_key" in item
            else None
        ),
    )


def with_documents(job: Job, parts: Mapping[str, Mapping[str, Any]]) -> Job:
    """Return a job with the texts that stand apart, from all its items by sort key."""
    return replace(
        job,
        payload=_with_text(job.payload, parts),
        result=job.result and _with_text(job.result, parts),
    )


def attributes_of(fields: Iterable[str]) -> list[str]:
    """Return the attributes in which fields of `Job` are kept."""
    named = [name for field in fields for name in _ATTRIBUTES.get(field, (field,))]
    return list(dict.fromkeys(named))


def part_to_item(job_id: int, document: Document, enqueue_token: str) -> Item:
    """Return the item of a document that stands apart; the token says whose it is."""
    if document.part is None or document.text is None:
        raise ValueError(document)
    return {
        **key(job_id, document.part),
        **_packed(document.text),
        "enqueue_token": string(enqueue_token),
    }


def part_text(item: Mapping[str, Any]) -> str:
    """Return the JSON text that an item of `part_to_item` holds."""
    if "packed" in item:
        return zlib.decompress(item["packed"]["B"]).decode()
    text: str = item["text"]["S"]
    return text


def _packed(text: str) -> Item:
    """Return a text as it is, or compressed where that saves a unit of each write."""
    raw = text.encode()
    if len(raw) > _UNIT_BYTES:
        packed = zlib.compress(raw)
        if _units(len(packed)) < _units(len(raw)):
            return {"packed": {"B": packed}}
    return {"text": string(text)}


def _units(size: int) -> int:
    return -(-(size + _PART_OVERHEAD) // _UNIT_BYTES)


def attempt_to_item(job_id: int, attempt: Attempt) -> Item:
    """Return an entry of a job's history."""
    worker = {} if attempt.worker_id is None else {"worker_id": string(attempt.worker_id)}
    return {
        **key(job_id, f"{ATTEMPT}{attempt.number:06d}"),
        "attempt": number(attempt.attempt),
        "started_at": number(attempt.started_at),
        "ended_at": number(attempt.ended_at),
        "error": string(attempt.error),
        **worker,
    }


def attempt_from_item(item: Mapping[str, Any]) -> Attempt:
    """Return the entry of a history that an item holds."""
    return Attempt(
        number=int(item["part"]["S"].removeprefix(ATTEMPT)),
        attempt=int(item["attempt"]["N"]),
        worker_id=_text_or_none(item, "worker_id"),
        started_at=int(item["started_at"]["N"]),
        ended_at=int(item["ended_at"]["N"]),
        error=item["error"]["S"],
    )


def row_from_item(item: Mapping[str, Any], partition: Partition) -> Row:
    """Return a row of the index."""
    return Row(int(item["id"]["N"]), item["job_type"]["S"], int(item["run_after"]["N"]), partition)


def unique_key(key: str) -> Item:
    """Return the control table's key of a unique key's record."""
    return {"pk": string(key), "sk": _UNIQUE}


def expires_at(record: KeyRecord) -> Value:
    """Return when DynamoDB may drop a key's record by itself, in seconds as it wants it."""
    return number(record.until // 1000 + 1)


def unique_to_item(write: KeyWrite) -> Item:
    """Return a unique key's record."""
    record = write.record
    return {
        **unique_key(record.key),
        "job_id": number(record.job_id),
        "turn": number(record.turn),
        "content": string(record.content),
        "until": number(record.until),
        **({"expires_at": expires_at(record)} if write.goes_by_itself else {}),
    }


def unique_from_item(item: Mapping[str, Any]) -> KeyRecord:
    """Return the record of a unique key that an item holds."""
    return KeyRecord(
        item["pk"]["S"],
        int(item["job_id"]["N"]),
        int(item["turn"]["N"]),
        item["content"]["S"],
        int(item["until"]["N"]),
    )


def queue_key(name: str) -> Item:
    """Return the control table's key of a queue."""
    return {"pk": QUEUES, "sk": string(name)}


def queue_from_item(item: Mapping[str, Any]) -> QueueRecord:
    """Return the queue that a control record describes."""
    return QueueRecord(
        name=item["sk"]["S"],
        priorities=frozenset(int(each) for each in item.get("priorities", {}).get("NS", [])),
        lanes=_integer_or_none(item, "lanes") or 1,
        lanes_before=_integer_or_none(item, "lanes_before") or 1,
        lanes_from=_integer_or_none(item, "lanes_from") or 0,
        lanes_read=_integer_or_none(item, "lanes_read") or 1,
        lanes_ever=_integer_or_none(item, "lanes_ever") or 1,
        lease_seconds=_integer_or_none(item, "lease_seconds"),
        max_attempts=_integer_or_none(item, "max_attempts"),
        backoff_seconds=_integer_or_none(item, "backoff_seconds"),
        version=_integer_or_none(item, "version") or 0,
    )


def queue_settings(record: QueueRecord) -> dict[str, int | None]:
    """Return all of a queue's record but its name, priorities and version, by attribute."""
    return {
        "lanes": record.lanes,
        "lanes_before": record.lanes_before,
        "lanes_from": record.lanes_from,
        "lanes_read": record.lanes_read,
        "lanes_ever": record.lanes_ever,
        "lease_seconds": record.lease_seconds,
        "max_attempts": record.max_attempts,
        "backoff_seconds": record.backoff_seconds,
    }


def rate_key(queue: str, minute: int) -> Item:
    """Return the control table's key of a minute's count of sampled enqueues."""
    return {"pk": string(f"rate#{queue}"), "sk": string(f"{minute}")}


def _document(item: Mapping[str, Any], name: str, part: str | None) -> Document:
    size = _integer_or_none(item, f"{name}_bytes")
    if size is not None:
        return Document(size, None, part)
    text = item[name]["S"]
    return Document(len(text.encode()), text)


def _with_text(document: Document, parts: Mapping[str, Mapping[str, Any]]) -> Document:
    if document.part is None or document.part not in parts:
        return document
    return document._replace(text=part_text(parts[document.part]))


def _inline(document: Document) -> Value | None:
    return None if document.part or document.text is None else string(document.text)


def _number_or_none(value: int | None) -> Value | None:
    return None if value is None else number(value)


def _string_or_none(value: str | None) -> Value | None:
    return None if value is None else string(value)


def _integer_or_none(item: Mapping[str, Any], name: str) -> int | None:
    value = item.get(name, {}).get("N")
    return None if value is None else int(value)


def _text_or_none(item: Mapping[str, Any], name: str) -> str | None:
    value: str | None = item.get(name, {}).get("S")
    return value
