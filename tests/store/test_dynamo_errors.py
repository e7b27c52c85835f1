"""What DynamoDB's refusals come to, answered by botocore's own stub."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber

from job_retry import decisions
from job_retry.dynamo import DynamoStore
from job_retry.errors import StoreBusyError, StoreUnavailableError
from job_retry.items import job_to_item
from job_retry.job import Status
from job_retry.store import ChangedError, Row, partition_of
from tests.store.builders import LARGE, TOKEN, job_in, queued_job

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "TransactionInProgressException",
]
IN_FLUX = ["TransactionConflictException"]


@pytest.fixture
def client() -> Any:
    """A client that is never to reach anything, and asks once."""
    return boto3.client("dynamodb")


@pytest.fixture
def stub(client: Any) -> Iterator[Stubber]:
    """The answers it gets; all of them must be asked for."""
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def pauses() -> list[float]:
    """How long the store waited, each time."""
    return []


@pytest.fixture
def store(client: Any, pauses: list[float]) -> DynamoStore:
    """A store on that client."""
    return DynamoStore(client, jobs_table="Jobs", control_table="Control", pause=pauses.append)


@pytest.mark.parametrize("code", BUSY)
def test_throttling_is_busy(store: DynamoStore, stub: Stubber, code: str) -> None:
    stub.add_client_error("get_item", code)
    with pytest.raises(StoreBusyError):
        store.read(1)


@pytest.mark.parametrize("code", ["InternalServerError", "ServiceUnavailable"])
def test_a_failing_store_is_unavailable(store: DynamoStore, stub: Stubber, code: str) -> None:
    stub.add_client_error("get_item", code)
    with pytest.raises(StoreUnavailableError):
        store.read(1)


def test_a_store_that_is_not_there_is_unavailable() -> None:
    client = boto3.client("dynamodb", endpoint_url="http://127.0.0.1:9")
    store = DynamoStore(client, jobs_table="Jobs", control_table="Control")
    with pytest.raises(StoreUnavailableError):
        store.read(1)


def test_what_is_our_own_fault_is_not_hidden(
    store: DynamoStore, client: Any, stub: Stubber
) -> None:
    stub.add_client_error("get_item", "ValidationException")
    with pytest.raises(client.exceptions.ClientError):
        store.read(1)


@pytest.mark.parametrize("code", IN_FLUX)
def test_a_job_in_flux_is_looked_at_again(store: DynamoStore, stub: Stubber, code: str) -> None:
    job = queued_job()
    stub.add_client_error("update_item", code)
    with pytest.raises(ChangedError):
        store.apply(decisions.cancel(job, fingerprint="f", now=1))


@pytest.mark.parametrize("code", IN_FLUX)
def test_a_dead_job_in_flux_is_not_taken_for_gone(
    store: DynamoStore, stub: Stubber, code: str
) -> None:
    stub.add_client_error("delete_item", code)
    with pytest.raises(ChangedError):
        store.delete(decisions.delete(job_in(Status.DEAD)))


def test_a_conflict_of_transactions_is_a_changed_job(store: DynamoStore, stub: Stubber) -> None:
    job = job_in(Status.RUNNING)
    change = decisions.expire(job, now=job.run_after + 1, random=Random(1))
    assert change is not None
    stub.add_client_error(
        "transact_write_items",
        "TransactionCanceledException",
        modeled_fields={"CancellationReasons": [{"Code": "TransactionConflict"}, {"Code": "None"}]},
    )
    with pytest.raises(ChangedError) as changed:
        store.apply(change)
    assert changed.value.job is None


@pytest.mark.parametrize("in_flux", [False, True])
def test_a_large_result_goes_only_when_surely_useless(
    store: DynamoStore, stub: Stubber, *, in_flux: bool
) -> None:
    change = decisions.complete(job_in(Status.RUNNING), lease_token=TOKEN, result=LARGE, now=1)
    assert change is not None
    stub.add_response("put_item", {})
    if in_flux:
        stub.add_client_error("update_item", "TransactionConflictException")
    else:
        stub.add_client_error("update_item", "ConditionalCheckFailedException")
        stub.add_response("delete_item", {})
    with pytest.raises(ChangedError):
        store.apply(change)


def test_a_lost_claim_that_was_settled_meanwhile_is_not_ours(
    store: DynamoStore, stub: Stubber
) -> None:
    job = job_in(Status.RUNNING)
    row = Row(job.id, job.job_type, job.run_after, partition_of(job))
    released = decisions.release(job, lease_token=None, run_after=None, delay_seconds=None, now=1)
    assert released is not None
    stub.add_client_error(
        "update_item",
        "ConditionalCheckFailedException",
        modeled_fields={"Item": job_to_item(released.after)},
    )
    with pytest.raises(ChangedError):
        store.claim(row, lease_token=TOKEN, worker_id=None, lease_seconds=None, now=1)


def test_what_a_batch_leaves_undone_is_asked_for_again_after_a_pause(
    store: DynamoStore, stub: Stubber, pauses: list[float]
) -> None:
    job = queued_job()
    undone = {"UnprocessedKeys": {"Jobs": {"Keys": [{"id": {"N": "1"}, "part": {"S": "job"}}]}}}
    stub.add_response("batch_get_item", {"Responses": {}, **undone})
    stub.add_response("batch_get_item", {"Responses": {"Jobs": [job_to_item(job)]}})
    assert store.read_many([job.id]) == {job.id: job}
    assert len(pauses) == 1


def test_a_batch_is_not_tried_for_ever(
    store: DynamoStore, stub: Stubber, pauses: list[float]
) -> None:
    undone = {"UnprocessedKeys": {"Jobs": {"Keys": [{"id": {"N": "1"}, "part": {"S": "job"}}]}}}
    for _ in range(5):
        stub.add_response("batch_get_item", {"Responses": {}, **undone})
    with pytest.raises(StoreBusyError):
        store.read_many([1])
    assert pauses == sorted(pauses)
