"""The local server, over HTTP: real handlers, a real engine, a clock that tests move."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.http.api import Api, LiveServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MakeTables


class MakeServer(Protocol):
    """Starts a server on tables of its own."""

    def __call__(self, **variables: str) -> LiveServer:
        """Return the server; the variables change its functions' environment."""


@pytest.fixture(scope="session")
def make_server(dynoxide_url: str, make_tables: MakeTables) -> Iterator[MakeServer]:
    """A factory of servers with settings of their own, e.g. `REQUIRE_LEASE_TOKEN="true"`."""
    servers = []

    def make(**variables: str) -> LiveServer:
        tables = make_tables(dynoxide_url)
        server = LiveServer(
            {
                "DYNAMODB_ENDPOINT_URL": dynoxide_url,
                "JOBS_TABLE": tables.jobs,
                "CONTROL_TABLE": tables.control,
                "POWERTOOLS_LOG_LEVEL": "WARNING",
                **variables,
            }
        )
        servers.append(server)
        return server

    yield make
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def server(make_server: MakeServer) -> LiveServer:
    """The server that most tests share."""
    return make_server()


@pytest.fixture
def api(server: LiveServer) -> Api:
    """A client of the shared server."""
    return Api(server.url)


@pytest.fixture
def queue() -> str:
    """A queue that no other test uses."""
    return f"q-{uuid.uuid4().hex[:12]}"
