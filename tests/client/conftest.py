"""The ways to one queue: over HTTP, by invoking its functions, and without a network."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from boto3.session import Session

from job_retry_client import JobQueue
from job_retry_client.transports.http import HttpTransport
from job_retry_client.transports.invoke import InvokeTransport
from tests.client.endpoint import STACK, deployed, lambda_endpoint
from tests.client.ways import Way
from tests.http.api import LiveServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MakeTables


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


@pytest.fixture(params=["http", "http-prefixed", "lambda"])
def way(request: pytest.FixtureRequest) -> Way:
    """One way after the other, to one queue, with a clock that a test moves."""
    server: LiveServer = request.getfixturevalue("server")
    match request.param:
        case "http":
            return Way(JobQueue(HttpTransport(server.url)), server.advance)
        case "http-prefixed":
            return Way(JobQueue(HttpTransport(f"{server.url}/api:job-retry/")), server.advance)
        case _:
            url = request.getfixturevalue("functions_url")
            session = Session(region_name="eu-north-1")
            transport = InvokeTransport(STACK, session=session, endpoint_url=url)
            return Way(JobQueue(transport), server.advance)


@pytest.fixture
def name() -> str:
    """The name of a queue that no other test uses."""
    return f"q-{uuid.uuid4().hex[:12]}"
