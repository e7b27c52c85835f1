"""A row of the caller's own and its job: both are stored, or neither."""

from __future__ import annotations

import json
import uuid
from base64 import b64encode
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from job_retry import items
from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.errors import InvalidFieldError, InvalidJsonError, TooLargeError
from job_retry.job import NewJob, Status
from job_retry.listing import ListRequest
from job_retry.memory import MemoryStore
from job_retry.schemas.queue import QueueBody
from job_retry.transact import TransactJob, transact_job
from job_retry.unique import KeyWrite
from tests.store.builders import LARGE, NOW, dynamo_client, dynamo_store, queued_job, unique_queue
from tests.store.lost import LostAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from job_retry.job import Job
    from job_retry.transitions import Action
    from tests.conftest import Tables

SIDES = 20
SECOND_MS = 1000
HOUR_MS = 3600 * SECOND_MS
MAX_BYTES = 256 * 1024
RANDOM_KB = '"' + b64encode(Random(1).randbytes(MAX_BYTES * 3 // 4 - 6)).decode() + '"'
PAYLOADS = {"small": '{"n":1.0}', "1 KB": f'"{"é" * 500}"', "5 KB": LARGE, "256 KB": RANDOM_KB}
every_payload = pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)

_ticks = count(NOW)  # no two ids in the table are of one millisecond


class Shop:
    """A caller with a table of orders, beside a queue of its own."""

    def __init__(self, url: str, tables: Tables, orders: str) -> None:
        self.tables = tables
        self.orders = orders
        self.client = dynamo_client(url)
        self.store = dynamo_store(url, tables)
        self.queue = unique_queue()
        self.later_ms = 0
        self.told: list[Action] = []
        self.engine = self.new_engine("first")

    def new_engine(self, seed: str) -> Engine:
        """Return another engine of the queue."""
        return Engine(
            self.store,
            clock=lambda: next(_ticks) + self.later_ms,
            random=Random(f"{self.queue} {seed}"),
            observer=lambda action, _job: self.told.append(action),
        )

    def job(self, *, engine: Engine | None = None, **fields: object) -> TransactJob:
        """Return a job of the queue, and its entries."""
        payload = str(fields.pop("payload", "null"))
        head = json.dumps({"job_type": "ship", "queue": self.queue, **fields})
        return transact_job(
            f'{head[:-1]}, "payload": {payload}}}',
            engine=engine or self.engine,
            jobs_table=self.tables.jobs,
            control_table=self.tables.control,
        )

    def order(self, name: str, prepared: TransactJob) -> None:
        """Store an order that is not there yet, with its job."""
        put: Any = {
            "TableName": self.orders,
            "Item": {"name": {"S": f"{self.queue} {name}"}, "job": {"N": str(prepared.job.id)}},
            "ConditionExpression": "attribute_not_exists(#name)",
            "ExpressionAttributeNames": {"#name": "name"},
        }
        entries: Any = [{"Put": put}, *prepared.entries]
        self.client.transact_write_items(TransactItems=entries)

    def refused(self, name: str, prepared: TransactJob) -> list[Any]:
        """See that an order is refused, and return the reasons, the order's own first."""
        with pytest.raises(self.client.exceptions.TransactionCanceledException) as cancelled:
            self.order(name, prepared)
        reasons: list[Any] = cancelled.value.response["CancellationReasons"]
        return reasons

    def ordered(self, name: str) -> int | None:
        """Return the job that an order names; None for no order."""
        key: Any = {"name": {"S": f"{self.queue} {name}"}}
        answer = self.client.get_item(TableName=self.orders, Key=key, ConsistentRead=True)
        return int(answer["Item"]["job"]["N"]) if "Item" in answer else None

    def parts(self, job: Job) -> list[str]:
        """Return the keys of all that is stored of a job."""
        answer = self.client.query(
            TableName=self.tables.jobs,
            KeyConditionExpression="id = :id",
            ExpressionAttributeValues={":id": items.number(job.id)},
            ConsistentRead=True,
        )
        return [item["part"]["S"] for item in answer["Items"]]

    def listed(self) -> list[int]:
        """Return the queue's jobs."""
        return [job.id for job in self.engine.list_jobs(ListRequest(queue=self.queue)).jobs]

    def run(self) -> Job:
        """Claim the one job that is due, complete it, and return it as it was claimed."""
        [job] = self.engine.claim(ClaimRequest(queues=[self.queue], max_jobs=25)).jobs
        self.engine.complete(job.id, lease_token=job.lease_token, result="1")
        return job

    def left_over_key(self) -> Job:
        """Return a completed job of the key ``k``, whose record nobody cleared away."""
        job = self.engine.enqueue(NewJob(job_type="ship", queue=self.queue, unique_key="k"))
        self.run()
        assert job.unique is not None
        filler = replace(queued_job(queue=self.queue), status=Status.CANCELLED)
        self.store.add(filler, [KeyWrite(job.unique)])  # a key's record comes with a job only
        return job


@pytest.fixture(scope="module")
def orders(dynoxide_url: str) -> str:
    """The name of the caller's table."""
    name = f"Orders-{uuid.uuid4().hex[:12]}"
    dynamo_client(dynoxide_url).create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
    )
    return name


@pytest.fixture
def shop(dynoxide_url: str, tables: Tables, orders: str) -> Shop:
    """A caller with a queue of its own."""
    return Shop(dynoxide_url, tables, orders)


def failed(reasons: Sequence[Any]) -> list[int]:
    """Return the places of the entries that stood in a transaction's way."""
    return [at for at, reason in enumerate(reasons) if reason["Code"] == "ConditionalCheckFailed"]


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make calls at the same moment, each in a thread of its own."""
    barrier = Barrier(len(calls))

    def make(call: Callable[[], Any]) -> Any:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(make, calls))


# -- both, or neither ------------------------------------------------------------------


@every_payload
@pytest.mark.parametrize("key", [None, "k"])
def test_an_order_and_its_job_are_stored(shop: Shop, payload: str, key: str | None) -> None:
    prepared = shop.job(payload=payload, unique_key=key, max_attempts=3, priority=7)
    shop.order("1", prepared)
    assert shop.ordered("1") == prepared.job.id
    assert shop.engine.get(prepared.job.id) == (prepared.job, [])
    assert shop.listed() == [prepared.job.id]
    claimed = shop.run()
    assert (claimed.id, claimed.payload.text) == (prepared.job.id, payload)
    done, _ = shop.engine.get(prepared.job.id)
    assert done.status is Status.COMPLETED
    assert done.payload.text == payload


@every_payload
def test_an_order_that_is_refused_makes_no_job(shop: Shop, payload: str) -> None:
    shop.order("1", shop.job())
    shop.run()
    prepared = shop.job(payload=payload, unique_key="k")
    assert failed(shop.refused("1", prepared)) == [0]
    assert shop.parts(prepared.job) == []
    assert prepared.job.id not in shop.listed()
    shop.order("2", shop.job(unique_key="k"))  # the key was not taken either


@every_payload
def test_a_key_that_is_taken_keeps_the_order_out(shop: Shop, payload: str) -> None:
    holder = shop.engine.enqueue(NewJob(job_type="ship", queue=shop.queue, unique_key="k"))
    prepared = shop.job(payload=payload, unique_key="k")
    reasons = shop.refused("1", prepared)
    assert failed(reasons) == [len(prepared.entries)]  # the last one
    assert reasons[-1]["Item"]["job_id"]["N"] == str(holder.id)
    assert shop.ordered("1") is None
    assert shop.parts(prepared.job) == []
    assert shop.listed() == [holder.id]


@every_payload
def test_what_is_never_sent_leaves_nothing(shop: Shop, payload: str) -> None:
    prepared = shop.job(payload=payload, unique_key="k")
    assert shop.parts(prepared.job) == []
    assert shop.listed() == []
    assert shop.store.read_key(f"unique#{shop.queue}#k") is None


# -- keys ------------------------------------------------------------------------------


def test_an_enqueue_finds_the_job_of_a_transaction(shop: Shop) -> None:
    prepared = shop.job(unique_key="k", payload="[1]")
    shop.order("1", prepared)
    new = NewJob(job_type="ship", queue=shop.queue, unique_key="k", payload="[1]")
    found = shop.engine.enqueue_once(new)
    assert (found.is_duplicate, found.job) == (True, prepared.job)
    shop.run()
    shop.order("2", shop.job(unique_key="k"))  # freed at its end, as every key


def test_a_key_that_nobody_cleared_away_blocks_nobody(shop: Shop) -> None:
    shop.left_over_key()
    prepared = shop.job(unique_key="k")
    shop.order("1", prepared)
    assert failed(shop.refused("2", shop.job(unique_key="k"))) == [2]
    assert shop.run().id == prepared.job.id


def test_a_key_is_kept_for_its_time(shop: Shop) -> None:
    shop.order("1", shop.job(unique_key="k", unique_for_seconds=3600))
    shop.run()
    shop.later_ms = HOUR_MS - SECOND_MS
    assert failed(shop.refused("2", shop.job(unique_key="k"))) == [2]
    shop.later_ms = HOUR_MS
    shop.order("2", shop.job(unique_key="k"))


def test_a_left_over_key_that_another_takes_first(shop: Shop) -> None:
    shop.left_over_key()
    prepared = shop.job(unique_key="k")
    other = shop.engine.enqueue(NewJob(job_type="ship", queue=shop.queue, unique_key="k"))
    reasons = shop.refused("1", prepared)
    assert failed(reasons) == [2]
    assert reasons[2]["Item"]["job_id"]["N"] == str(other.id)
    assert shop.parts(prepared.job) == []


# -- ids and repeats -------------------------------------------------------------------


@pytest.mark.parametrize("payload", ["1", LARGE], ids=["small", "large"])
def test_the_same_entries_in_another_transaction_are_refused(shop: Shop, payload: str) -> None:
    prepared = shop.job(payload=payload)
    shop.order("1", prepared)
    job = shop.run()
    reasons = shop.refused("2", prepared)
    assert failed(reasons) == list(range(1, 1 + len(prepared.entries)))
    assert shop.engine.get(job.id)[0].status is Status.COMPLETED
    assert shop.ordered("2") is None


@pytest.mark.parametrize("ours", ["1", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("theirs", ["1", LARGE], ids=["small", "large"])
def test_an_id_that_is_taken_harms_no_other_job(shop: Shop, ours: str, theirs: str) -> None:
    prepared = shop.job(payload=ours)
    other = replace(queued_job(queue=shop.queue, payload=theirs), id=prepared.job.id)
    shop.store.add(other)
    assert 1 in failed(shop.refused("1", prepared))
    assert shop.store.read_whole(other.id) == (other, [])


def test_a_payload_that_is_about_to_get_its_record_is_not_written_over(shop: Shop) -> None:
    prepared = shop.job(payload=LARGE.replace("x", "y"))
    other = replace(queued_job(queue=shop.queue, payload=LARGE), id=prepared.job.id)
    part = items.part_to_item(other.id, other.payload, other.enqueue_token)
    shop.client.put_item(TableName=shop.tables.jobs, Item=part)
    assert failed(shop.refused("1", prepared)) == [2]
    shop.store.add(other)
    assert shop.store.read_whole(other.id) == (other, [])


@pytest.mark.parametrize("payload", ["1", LARGE], ids=["small", "large"])
def test_an_answer_that_is_lost_stores_both_once(
    shop: Shop, payload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _seconds: None)
    prepared = shop.job(payload=payload, unique_key="k")
    with LostAnswer(shop.client, "TransactWriteItems"):
        shop.order("1", prepared)
    assert shop.ordered("1") == prepared.job.id
    assert shop.engine.get(prepared.job.id) == (prepared.job, [])


# -- races -----------------------------------------------------------------------------


def _outcome(shop: Shop, number: int, payload: str) -> str:
    prepared = shop.job(engine=shop.new_engine(f"{number}"), unique_key="k", payload=payload)
    try:
        shop.order(f"{number}", prepared)
    except shop.client.exceptions.TransactionCanceledException:
        assert shop.parts(prepared.job) == []
        return "neither"
    return "both"


@pytest.mark.parametrize("payload", ["1", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("left_over", [False, True])
def test_twenty_transactions_with_one_key_make_one_job(
    shop: Shop, payload: str, *, left_over: bool
) -> None:
    if left_over:
        shop.left_over_key()
    calls = [partial(_outcome, shop, number, payload) for number in range(SIDES)]
    assert Counter(at_once(calls)) == {"both": 1, "neither": SIDES - 1}
    [job_id] = [each for each in map(shop.ordered, map(str, range(SIDES))) if each is not None]
    job = shop.run()
    assert (job.id, job.payload.text) == (job_id, payload)


def test_a_transaction_and_enqueues_of_one_key_make_one_job(shop: Shop) -> None:
    new = NewJob(job_type="ship", queue=shop.queue, unique_key="k", payload="1")
    calls: list[Callable[[], object]] = []
    for number in range(SIDES // 2):
        calls.append(partial(_outcome, shop, number, "1"))
        calls.append(partial(shop.new_engine(f"e{number}").enqueue, new))
    outcomes = at_once(calls)
    made = [each for each in map(shop.ordered, map(str, range(SIDES))) if each is not None]
    found = {each.id for each in outcomes if not isinstance(each, str)}
    assert len(found | set(made)) == 1
    assert outcomes.count("both") == len(made) <= 1
    assert {shop.run().id} == found


# -- what is returned ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({}, ["job"]),
        ({"payload": LARGE}, ["job", "payload"]),
        ({"unique_key": "k"}, ["job", "key"]),
        ({"payload": LARGE, "unique_key": "k"}, ["job", "payload", "key"]),
    ],
    ids=["small", "large", "unique", "both"],
)
def test_there_are_at_most_three_entries(
    shop: Shop, fields: dict[str, Any], parts: list[str]
) -> None:
    puts = [entry["Put"] for entry in shop.job(**fields).entries]
    assert [(put["Item"].get("part") or put["Item"]["sk"])["S"] for put in puts] == parts
    for put, part in zip(puts, parts, strict=True):
        assert put["TableName"] == (shop.tables.control if part == "key" else shop.tables.jobs)
        assert put["ConditionExpression"].startswith("attribute_not_exists(")
        assert put["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


def test_a_job_is_as_its_queue_has_it(shop: Shop) -> None:
    settings = QueueBody(lanes=4, lease_seconds=60, max_attempts=9, backoff_seconds=1)
    shop.engine.set_queue(shop.queue, settings.changed)
    shop.later_ms = HOUR_MS  # they are in force
    jobs = [shop.job().job for _ in range(30)]
    assert {job.lane for job in jobs} == set(range(4))
    assert {(job.lease_seconds, job.max_attempts, job.backoff_seconds) for job in jobs} == {
        (60, 9, 1)
    }
    assert len({job.id for job in jobs}) == len({job.enqueue_token for job in jobs}) == 30


def test_a_job_for_later_is_marked(shop: Shop) -> None:
    soon, late = shop.job(run_after=NOW), shop.job(run_after=NOW + HOUR_MS)
    assert "later" not in soon.entries[0]["Put"]["Item"]
    assert late.entries[0]["Put"]["Item"]["later"] == {"BOOL": True}


def test_nobody_is_told_of_what_may_not_happen(shop: Shop) -> None:
    shop.job(unique_key="k")
    assert shop.told == []


BAD: dict[str, tuple[str, type[Exception], str]] = {
    "nothing": ("", InvalidFieldError, "job_type"),
    "no JSON": ("{", InvalidJsonError, "Expecting"),
    "no object": ("[]", InvalidFieldError, "body"),
    "a field": ('{"job_type": "t", "priority": 10}', InvalidFieldError, "priority"),
    "an unknown one": ('{"job_type": "t", "x": 1}', InvalidFieldError, "x"),
    "another key": ('{"job_type": "t", "idempotency_key": "r"}', InvalidFieldError, "idem"),
    "payload": (f'{{"job_type":"t","payload":"{"x" * MAX_BYTES}"}}', TooLargeError, "payload"),
    "body": (f'{{"job_type":"t"{" " * 7 * MAX_BYTES}}}', TooLargeError, "body"),
}


@pytest.mark.parametrize(("body", "error", "field"), BAD.values(), ids=BAD)
def test_what_is_not_acceptable_is_not_prepared(
    body: str, error: type[Exception], field: str
) -> None:
    engine = Engine(MemoryStore(), clock=lambda: NOW, random=Random(1))
    with pytest.raises(error, match=field):
        transact_job(body, engine=engine, jobs_table="j", control_table="c")


def test_the_largest_payload_may_be_any(shop: Shop) -> None:
    prepared = shop.job(payload='"' + "é" * (MAX_BYTES // 2 - 1) + '"')
    assert prepared.job.payload.size == MAX_BYTES
    shop.order("1", prepared)
    assert shop.run().payload == prepared.job.payload
