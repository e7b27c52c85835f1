"""The stores that must all behave alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3
import pytest
from moto import mock_aws

from job_retry.dynamo import DynamoStore
from job_retry.memory import MemoryStore
from tests.store.builders import dynamo_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from job_retry.store import JobStore
    from tests.conftest import MakeTables, Tables


@pytest.fixture(scope="module")
def tables(dynoxide_url: str, make_tables: MakeTables) -> Tables:
    """Tables on dynoxide, one pair for all tests of a module: each has jobs of its own."""
    return make_tables(dynoxide_url)


@pytest.fixture(scope="module")
def moto_store(make_tables: MakeTables) -> Iterator[DynamoStore]:
    """A store on moto. It is never raced: moto lets two conditional writes win."""
    with mock_aws():
        names = make_tables()
        yield DynamoStore(
            boto3.client("dynamodb"), jobs_table=names.jobs, control_table=names.control
        )


@pytest.fixture(params=["memory", "moto", "dynoxide"])
def store(request: pytest.FixtureRequest) -> JobStore:
    """One store after the other."""
    match request.param:
        case "memory":
            return MemoryStore()
        case "moto":
            moto: DynamoStore = request.getfixturevalue("moto_store")
            return moto
        case _:
            url = request.getfixturevalue("dynoxide_url")
            return dynamo_store(url, request.getfixturevalue("tables"))
