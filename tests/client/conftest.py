"""The ways to one queue: over HTTP, by invoking its functions, and without a network."""

from __future__ import annotations

import uuid
from random import SystemRandom
from typing import TYPE_CHECKING

import pytest
from boto3.session import Session

from job_retry.memory import MemoryStore
from job_retry_client import JobQueue
from job_retry_client.transports.http import HttpTransport
from job_retry_client.transports.in_process import InProcessTransport
from job_retry_client.transports.invoke import InvokeTransport
from tests.client.endpoint import STACK, deployed, lambda_endpoint
from tests.client.ways import Way
from tests.http.api import LiveServer
from tests.store.builders import dynamo_store
from tests.unit.builders import Queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from job_retry.store import JobStore
    from tests.conftest import MakeTables, Tables

WAYS = ["http", "lambda", "in-process, memory", "in-process, dynoxide"]


@pytest.fixture(scope="session")
def server(dynoxide_url: str, make_tables: MakeTables) -> Iterator[LiveServer]:
    """The local server: the real functions behind the real routes."""
    tables = make_tables(dynoxide_url)
    running = LiveServer(
        {
            "DYNAMODB_ENDPOINT_URL": dynoxide_url,
            "JOBS_TABLE": tables.jobs,
            "CONTROL_TABLE": tables.control,
            "POWERTOOLS_LOG_LEVEL": "WARNING",
        }
    )
    yield running
    running.stop()


@pytest.fixture(scope="session")
def functions_url(server: LiveServer) -> Iterator[str]:
    """Where the same functions can be invoked."""
    with lambda_endpoint(deployed(server.lambdas)) as endpoint:
        yield endpoint.url


@pytest.fixture(scope="session")
def tables(dynoxide_url: str, make_tables: MakeTables) -> Tables:
    """Tables that no server has."""
    return make_tables(dynoxide_url)


def in_process(store: JobStore) -> Way:
    """Return the way without a network to a store."""
    core = Queue(store, random=SystemRandom())  # the tests of one table draw ids of their own
    transport = InProcessTransport(core.engine)
    return Way(JobQueue(transport), lambda seconds: core.clock.advance(seconds=seconds))


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    """One way after the other, to one queue, with a clock that a test moves."""
    server: LiveServer = request.getfixturevalue("server")
    match request.param:
        case "http":
            return Way(JobQueue(HttpTransport(server.url)), server.advance)
        case "in-process, memory":
            return in_process(MemoryStore())
        case "in-process, dynoxide":
            tables = request.getfixturevalue("tables")
            return in_process(dynamo_store(request.getfixturevalue("dynoxide_url"), tables))
        case _:
            url = request.getfixturevalue("functions_url")
            session = Session(region_name="eu-north-1")
            transport = InvokeTransport(STACK, session=session, endpoint_url=url)
            return Way(JobQueue(transport), server.advance)


@pytest.fixture
def name() -> str:
    """The name of a queue that no other test uses."""
    return f"q-{uuid.uuid4().hex[:12]}"
