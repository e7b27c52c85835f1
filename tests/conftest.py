"""What every test may ask for: an engine, fresh tables, and an environment without AWS in it."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, NamedTuple, Protocol

import boto3
import pytest
from hypothesis import HealthCheck, settings

from local.engine import Engine, why_no_dynoxide
from local.tables import LOCAL_CREDENTIALS, create_missing_tables, local_client
from local.template import load_template, table_definitions

if TYPE_CHECKING:
    from collections.abc import Iterator

settings.register_profile(
    "default",
    deadline=None,  # a busy machine is not a fault
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_configure() -> None:
    """Keep the user's AWS account, and a real table they may have named, out of every test."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    for name in ("DYNAMODB_ENDPOINT_URL", "JOBS_TABLE", "CONTROL_TABLE", "REQUIRE_LEASE_TOKEN"):
        os.environ.pop(name, None)
    os.environ.update(LOCAL_CREDENTIALS)


def skip_unless_ci(reason: str) -> None:
    """Skip the test for this reason; in CI nothing may be missing, so fail there."""
    if os.environ.get("CI"):
        pytest.fail(f"in CI this must not be missing: {reason}")
    pytest.skip(reason)


class Tables(NamedTuple):
    """The names of one pair of tables."""

    jobs: str
    control: str


class MakeTables(Protocol):
    """Creates a fresh pair of tables on an endpoint."""

    def __call__(self, endpoint_url: str | None = None) -> Tables:
        """Return the new tables' names; without an endpoint, ask boto3 alone (moto in-process)."""


@pytest.fixture(scope="session")
def dynoxide_url() -> Iterator[str]:
    """The address of an in-memory dynoxide: the engine that may be raced."""
    if reason := why_no_dynoxide():
        skip_unless_ci(f"no engine for real races: {reason}")
    with Engine() as engine:
        yield engine.url


@pytest.fixture(scope="session")
def make_tables() -> MakeTables:
    """A factory of fresh, uniquely named tables as template.yaml defines them."""
    definitions = table_definitions(load_template())

    def make(endpoint_url: str | None = None) -> Tables:
        client = local_client(endpoint_url) if endpoint_url else boto3.client("dynamodb")
        suffix = uuid.uuid4().hex[:12]
        tables = Tables(jobs=f"Jobs-{suffix}", control=f"Control-{suffix}")
        create_missing_tables(
            client,
            [
                definitions["JobsTable"] | {"TableName": tables.jobs},
                definitions["ControlTable"] | {"TableName": tables.control},
            ],
        )
        return tables

    return make
