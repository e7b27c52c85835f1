"""What each verb costs in DynamoDB's units, as the engine counts them: every one matters."""

from __future__ import annotations

from base64 import b64encode
from itertools import count
from random import Random
from typing import TYPE_CHECKING

import pytest

from bench.units import Meter
from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.job import NewJob
from tests.store.builders import NOW, dynamo_client, dynamo_store

if TYPE_CHECKING:
    from tests.conftest import MakeTables

PAYLOAD = '{"user_id":42,"template":"welcome","locale":"en"}'


@pytest.fixture
def engine(dynoxide_url: str, make_tables: MakeTables) -> Engine:
    """An engine that has worked before: its queue is known, its record remembered."""
    store = dynamo_store(dynoxide_url, make_tables(dynoxide_url))
    ticks = count(NOW)
    engine = Engine(store, clock=lambda: next(ticks), random=Random(1))
    engine.enqueue(NewJob(job_type="warm-up", run_after=NOW + 10**9))
    engine.claim(ClaimRequest())
    return engine


@pytest.fixture
def meter(dynoxide_url: str) -> Meter:
    """A meter on the engine's client."""
    return Meter(dynamo_client(dynoxide_url))


def test_a_plain_job_costs_eight_write_units(engine: Engine, meter: Meter) -> None:
    with meter.reading() as enqueue:
        engine.enqueue(NewJob(job_type="send_welcome_email", payload=PAYLOAD))
    with meter.reading() as claim:
        job = engine.claim(ClaimRequest(worker_id="worker-1")).jobs[0]
    with meter.reading() as complete:
        engine.complete(job.id, lease_token=job.lease_token, result='{"ok":true}')
    assert enqueue == {"write": 2}
    assert claim == {"read": 0.5, "write": 3}
    assert complete == {"read": 0.5, "write": 3}


def test_a_retry_pays_for_its_transaction_and_a_heartbeat_three(
    engine: Engine, meter: Meter
) -> None:
    engine.enqueue(NewJob(job_type="send_welcome_email", payload=PAYLOAD))
    job = engine.claim(ClaimRequest()).jobs[0]
    with meter.reading() as heartbeat:
        engine.heartbeat(job.id, lease_token=job.lease_token, lease_seconds=60)
    with meter.reading() as fail:
        engine.fail(job.id, lease_token=job.lease_token, error="provider 5xx")
    assert heartbeat == {"read": 0.5, "write": 3}
    assert fail == {"read": 0.5, "write": 6}


def test_an_idle_poll_costs_a_unit_and_a_half(engine: Engine, meter: Meter) -> None:
    with meter.reading() as poll:
        assert engine.claim(ClaimRequest()).jobs == []
    assert poll == {"read": 1.5}


@pytest.mark.parametrize(
    ("payload", "written", "read"),
    [
        ("x" * 10_000, 1, 0.5),  # ten KB that compress to one
        (b64encode(Random(1).randbytes(7500)).decode(), 8, 1.0),  # and that hardly do
    ],
    ids=["compressible", "random"],
)
def test_a_large_payload_is_paid_for_once(
    engine: Engine, meter: Meter, payload: str, written: int, read: float
) -> None:
    with meter.reading() as enqueue:
        engine.enqueue(NewJob(job_type="import", payload=f'"{payload}"'))
    with meter.reading() as claim:
        job = engine.claim(ClaimRequest()).jobs[0]
    with meter.reading() as complete:
        engine.complete(job.id, lease_token=job.lease_token)
    assert enqueue == {"write": 2 + written}
    assert claim == {"read": 0.5 + read, "write": 3}
    assert complete == {"read": 0.5, "write": 3}
