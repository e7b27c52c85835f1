"""Jobs in DynamoDB; with `dynamo_control`, the only module that talks to it.

One query on an id gives everything about a job; one index, by status and run_after,
serves claims, expiry, lists and dead letters. See ``docs/architecture.md``.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from job_retry import items, writes
from job_retry.dynamo_control import DynamoControl
from job_retry.dynamo_errors import ConditionFailedError, translated
from job_retry.errors import StoreBusyError
from job_retry.items import number, string
from job_retry.job import Document, Status
from job_retry.lanes import Partition
from job_retry.store import ChangedError, IdTakenError, KeyTakenError, Page
from job_retry.transitions import Guard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from job_retry.decisions import Change
    from job_retry.items import Item
    from job_retry.job import Attempt, Job
    from job_retry.store import Row, Start
    from job_retry.unique import KeyWrite
    from job_retry.writes import Put

_BATCH_READ = 100  # keys that one BatchGetItem takes
_BATCH_WRITE = 25  # items that one BatchWriteItem takes
_BATCH_PAUSES = (0.05, 0.1, 0.2, 0.4)  # seconds before asking for what a batch left undone
_HISTORY_BYTES = 2_000_000  # of errors that are read at once

# The one write of a claim. The length of the lease is the record's own, unless the claim
# names one; so the record need not be read first.
_CLAIM = (
    "SET #status = :running, status_lane = :status_lane, run_after = :now + {lease_ms}, "
    "run_lease_ms = {lease_ms}, due_at = run_after, attempts = attempts + :one, "
    "lease_token = :lease_token, claimed_by = :claimed_by, last_attempted_at = :now, "
    "updated_at = :now REMOVE later"
)
# The index row may lag: only the record says whether the job still waits, and whether it
# is due: a retry that was queued again for later is not.
_STILL_WAITS_AND_IS_DUE = "#status = :queued AND run_after <= :now"

_STATUS_AS_READ = "#status = :status_read"
_LEASE_AS_READ = "lease_token = :lease_token_read"
_LEASE_END_AS_READ = "run_after = :run_after_read"
_FAILURES_AS_READ = "failures = :failures_read"


class DynamoStore(DynamoControl):
    """The store of the deployed stack, and of any local engine that speaks its protocol."""

    def __init__(
        self,
        client: DynamoDBClient,
        *,
        jobs_table: str,
        control_table: str,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        """Keep jobs in two tables.

        Args:
            client: of botocore, configured with the retries that are wanted.
            jobs_table: its name.
            control_table: its name.
            pause: waits for some seconds, where a batch was left undone.
        """
        super().__init__(client, control_table)
        self._jobs = jobs_table
        self._pause = pause

    # -- writes ------------------------------------------------------------------------

    def add(self, job: Job, keys: Sequence[KeyWrite] = ()) -> None:
        """Store a new job, its large payload first, so that no claim can miss it."""
        record = writes.record_put(self._jobs, job)
        payload = writes.payload_put(self._jobs, job)
        if payload is not None:
            self._put_new(payload)
        try:
            if keys:
                self._put_new_with_keys(record, keys)
            else:
                self._put_new(record)
        except (IdTakenError, KeyTakenError):
            if payload is not None:
                self._delete_item(job.id, items.PAYLOAD)
            raise

    def claim(
        self,
        row: Row,
        *,
        lease_token: str,
        worker_id: str | None,
        lease_seconds: int | None,
        now: int,
    ) -> Job:
        """Lease a queued, due job in one conditional write of three units."""
        running = Partition(
            Status.RUNNING, row.partition.queue, row.partition.priority, row.partition.lane
        )
        values: Item = {
            ":queued": string(Status.QUEUED),
            ":running": string(Status.RUNNING),
            ":status_lane": string(running.key),
            ":now": number(now),
            ":one": number(1),
            ":lease_token": string(lease_token),
            ":claimed_by": {"NULL": True} if worker_id is None else string(worker_id),
        }
        if lease_seconds is not None:
            values[":lease_ms"] = number(lease_seconds * 1000)
        lease_ms = "lease_ms" if lease_seconds is None else ":lease_ms"
        try:
            with translated():
                answer = self._client.update_item(
                    TableName=self._jobs,
                    Key=items.key(row.id),
                    UpdateExpression=_CLAIM.format(lease_ms=lease_ms),
                    ConditionExpression=_STILL_WAITS_AND_IS_DUE,
                    ExpressionAttributeNames={"#status": "status"},
                    ExpressionAttributeValues=values,
                    ReturnValues="ALL_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ConditionFailedError as failed:
            job = _job_or_none(failed.item)
            # The SDK repeats a call whose answer was lost: the claim may be our own.
            if job is not None and job.lease_token == lease_token and job.lease_expires_at:
                return job
            raise ChangedError(job) from None
        return items.job_from_item(answer["Attributes"])

    def apply(self, change: Change) -> Job:
        """Write a change if the job is still as decided on."""
        result = change.values.get("result")
        apart = result if isinstance(result, Document) and result.part else None
        if apart is not None:
            self._put(items.part_to_item(change.before.id, apart, change.before.enqueue_token))
        update: Any = self._update(change)
        along: list[Any] = []
        if change.attempt is not None:
            history = items.attempt_to_item(change.before.id, change.attempt)
            along.append({"Put": {"TableName": self._jobs, "Item": history}})
        if change.key is not None:
            along.append({"Put": writes.key_put(self._control, change.key)})
        try:
            if not along:
                with translated():
                    answer = self._client.update_item(**update, ReturnValues="ALL_NEW")
                return items.job_from_item(answer["Attributes"])
            with translated():
                self._client.transact_write_items(TransactItems=[{"Update": update}, *along])
        except ConditionFailedError as failed:
            if not failed.failed:
                raise KeyTakenError(
                    [items.unique_from_item(each) for each in failed.others]
                ) from None
            job = _job_or_none(failed.item)
            if job is not None and job.fingerprint == change.values.get("fingerprint", ""):
                return job  # our own write, whose answer the SDK did not get
            if apart is not None and not failed.in_flux and _has_no_use_for(apart, job):
                self._delete_item(change.before.id, apart.part or "")
            raise ChangedError(job) from None
        return change.after

    def delete(self, change: Change) -> None:
        """Remove a job's record, then the rest: what is left of a broken delete is unseen."""
        condition, names, values = _condition(change)
        try:
            with translated():
                self._client.delete_item(
                    TableName=self._jobs,
                    Key=items.key(change.before.id),
                    ConditionExpression=condition,
                    ExpressionAttributeNames=names,
                    ExpressionAttributeValues=values,
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ConditionFailedError as failed:
            if failed.item is not None or failed.in_flux:
                raise ChangedError(_job_or_none(failed.item)) from None
            # gone already, by our own earlier call or another's
        self.sweep(change.before.id)

    def sweep(self, job_id: int) -> bool:
        """Remove what an interrupted delete left behind; say whether there was anything."""
        keys = [
            {"id": item["id"], "part": item["part"]}
            for item in self._query_job(job_id, ProjectionExpression="id, part")
        ]
        if any(key["part"]["S"] == items.RECORD for key in keys):
            return False
        for some in _chunks(keys, _BATCH_WRITE):
            self._delete_all(some)
        return bool(keys)

    # -- reads -------------------------------------------------------------------------

    def read(self, job_id: int, *, consistent: bool = False) -> Job | None:
        """Return a job's record: half a read unit, a whole one when consistent."""
        with translated():
            answer = self._client.get_item(
                TableName=self._jobs, Key=items.key(job_id), ConsistentRead=consistent
            )
        return _job_or_none(answer.get("Item"))

    def read_whole(self, job_id: int) -> tuple[Job, list[Attempt]] | None:
        """Return a job with payload and result, and its history, oldest first.

        Read backwards, results, payload and record come first and the latest attempts
        next, so that a very long history need not be read to its beginning.
        """
        parts: dict[str, Item] = {}
        attempts: list[Attempt] = []
        room = _HISTORY_BYTES
        for item in self._query_job(job_id, ScanIndexForward=False):
            part = item["part"]["S"]
            if not part.startswith(items.ATTEMPT):
                parts[part] = item
                continue
            attempts.append(items.attempt_from_item(item))
            room -= len(attempts[-1].error)
            if room < 0:
                break
        if items.RECORD not in parts:
            return None
        job = items.with_documents(items.job_from_item(parts[items.RECORD]), parts)
        return job, attempts[::-1]

    def read_many(self, job_ids: Sequence[int]) -> dict[int, Job]:
        """Return the records of those jobs that exist."""
        found: dict[int, Job] = {}
        for some in _chunks(sorted(set(job_ids)), _BATCH_READ):
            wanted: Any = {self._jobs: {"Keys": [items.key(job_id) for job_id in some]}}
            for _ in self._rounds():
                with translated():
                    answer = self._client.batch_get_item(RequestItems=wanted)
                jobs = map(items.job_from_item, answer["Responses"].get(self._jobs, []))
                found |= {job.id: job for job in jobs}
                wanted = answer.get("UnprocessedKeys")
                if not wanted:
                    break
        return found

    def read_document(self, job_id: int, document: Document) -> Document:
        """Return a document that stands apart with its text."""
        if document.part is None:
            return document
        key = items.key(job_id, document.part)
        # It was written before the record that refers to it; a cheap read that comes too
        # soon after misses it, a consistent one does not.
        for consistent in (False, True):
            with translated():
                answer = self._client.get_item(
                    TableName=self._jobs, Key=key, ConsistentRead=consistent
                )
            if "Item" in answer:
                text = items.part_text(answer["Item"])
                return Document(document.size, text, document.part)
        return document  # deleted since

    def rows(
        self,
        partition: Partition,
        *,
        limit: int,
        newest_first: bool = False,
        start: Start | None = None,
    ) -> Page:
        """Return the first rows of a partition: half a read unit for about forty."""
        condition = "status_lane = :status_lane"
        values: Item = {":status_lane": string(partition.key)}
        resume: dict[str, Any] = {}
        if start is not None and start.after_id is not None:
            resume["ExclusiveStartKey"] = {
                **items.key(start.after_id),
                "status_lane": string(partition.key),
                "run_after": number(start.run_after),
            }
        elif start is not None:
            operator = ("<" if newest_first else ">") + ("=" if start.inclusive else "")
            condition += f" AND run_after {operator} :start"
            values[":start"] = number(start.run_after)
        with translated():
            answer = self._client.query(
                TableName=self._jobs,
                IndexName=items.INDEX,
                KeyConditionExpression=condition,
                ExpressionAttributeValues=values,
                ScanIndexForward=not newest_first,
                Limit=limit,
                # two attributes fewer in each row take half the time to parse
                ProjectionExpression="id, job_type, run_after",
                **resume,
            )
        rows = [items.row_from_item(item, partition) for item in answer["Items"]]
        return Page(rows, more="LastEvaluatedKey" in answer)

    # -- the calls ---------------------------------------------------------------------

    def _update(self, change: Change) -> dict[str, Any]:
        """Return the update that sets a change's values, and no others.

        The decision alone says what is written, so the expression follows from it; only
        the claim, which decides inside the store, has a text of its own.
        """
        condition, names, values = _condition(change)
        item = items.job_to_item(change.after)
        written = items.attributes_of(change.values)
        names |= {f"#{name}": name for name in written}
        values |= {f":{name}": item[name] for name in written if name in item}
        sets = ", ".join(f"#{name} = :{name}" for name in written if name in item)
        removes = ", ".join(f"#{name}" for name in written if name not in item)
        return {
            "TableName": self._jobs,
            "Key": items.key(change.before.id),
            "UpdateExpression": f"SET {sets}" + (f" REMOVE {removes}" if removes else ""),
            "ConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def _put_new_with_keys(self, record: Put, keys: Sequence[KeyWrite]) -> None:
        puts = [record, *(writes.key_put(self._control, key) for key in keys)]
        entries: Any = [{"Put": put} for put in puts]
        try:
            with translated():
                self._client.transact_write_items(TransactItems=entries)
        except ConditionFailedError as failed:
            if _is_own(failed.item, record):
                return  # our own transaction, whose answer the SDK did not get
            if failed.failed and not failed.in_flux:
                raise IdTakenError from None
            raise KeyTakenError([items.unique_from_item(each) for each in failed.others]) from None

    def _put_new(self, put: Any) -> None:
        try:
            with translated():
                self._client.put_item(**put)
        except ConditionFailedError as failed:
            # Ours, if the SDK repeated a put whose answer was lost.
            if not _is_own(failed.item, put):
                raise IdTakenError from None

    def _put(self, item: Item) -> None:
        with translated():
            self._client.put_item(TableName=self._jobs, Item=item)

    def _delete_item(self, job_id: int, part: str) -> None:
        with translated():
            self._client.delete_item(TableName=self._jobs, Key=items.key(job_id, part))

    def _delete_all(self, keys: Sequence[Item]) -> None:
        unwritten: Any = {self._jobs: [{"DeleteRequest": {"Key": key}} for key in keys]}
        for _ in self._rounds():
            with translated():
                answer = self._client.batch_write_item(RequestItems=unwritten)
            unwritten = answer.get("UnprocessedItems")
            if not unwritten:
                return

    def _rounds(self) -> Iterator[None]:
        """Yield as often as a batch may be tried, pausing between, then give up."""
        yield
        for seconds in _BATCH_PAUSES:
            self._pause(seconds)
            yield
        raise StoreBusyError("DynamoDB is throttling this table")

    def _query_job(self, job_id: int, **more: Any) -> Iterator[Item]:
        return self._query(
            TableName=self._jobs,
            KeyConditionExpression="id = :id",
            ExpressionAttributeValues={":id": number(job_id)},
            ConsistentRead=True,
            **more,
        )


def _condition(change: Change) -> tuple[str, dict[str, str], Item]:
    """Return the condition that a change's edge in the transition table demands."""
    clauses = [_STATUS_AS_READ]
    names = {"#status": "status"}
    values: Item = {":status_read": string(change.before.status)}
    if Guard.LEASE in change.transition.guards:
        clauses.append(_LEASE_AS_READ)
        values[":lease_token_read"] = string(change.before.lease_token or "")
    if Guard.LEASE_END in change.transition.guards:
        clauses.append(_LEASE_END_AS_READ)
        values[":run_after_read"] = number(change.before.run_after)
    if Guard.FAILURES in change.transition.guards:
        clauses.append(_FAILURES_AS_READ)
        values[":failures_read"] = number(change.before.failures)
    return " AND ".join(clauses), names, values


def _job_or_none(item: Any) -> Job | None:
    return None if item is None else items.job_from_item(item)


def _is_own(item: Mapping[str, Any] | None, put: Put) -> bool:
    """Say whether an item was written by the very enqueue that this put is of."""
    return item is not None and item["enqueue_token"] == put["Item"]["enqueue_token"]


def _has_no_use_for(document: Document, job: Job | None) -> bool:
    """Say whether a result that stands apart is not the one its job refers to."""
    return job is None or job.result is None or job.result.part != document.part


def _chunks(sequence: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(sequence), size):
        yield sequence[start : start + size]
