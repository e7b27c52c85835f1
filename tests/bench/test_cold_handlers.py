"""The handlers that the warm ones are compared with make the same calls to DynamoDB."""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING, Any

import pytest
from botocore.client import BaseClient
from moto import mock_aws

from bench.cold_process import HANDLERS, is_success
from bench.cold_requests import Api
from job_retry import runtime
from local.template import load_template, read_functions
from local.worker import Context

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import MakeTables

Call = tuple[str, str, frozenset[str]]
"""An operation, its table, and the parameters that it names."""


@pytest.fixture(autouse=True)
def tables(make_tables: MakeTables, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tables on moto, and an environment that names them, for handlers loaded afresh."""
    with mock_aws():
        names = make_tables()
        monkeypatch.setenv("JOBS_TABLE", names.jobs)
        monkeypatch.setenv("CONTROL_TABLE", names.control)
        monkeypatch.setenv("DYNAMODB_ENDPOINT_URL", "https://dynamodb.us-east-1.amazonaws.com")
        runtime.engine.cache_clear()
        yield
        runtime.engine.cache_clear()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    made: list[Call] = []
    original = BaseClient._make_api_call  # type: ignore[attr-defined]

    def record(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        made.append((operation, parameters["TableName"], frozenset(parameters)))
        return original(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", record)
    return made


def run(source: Path, event: dict[str, Any]) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("handler_of_the_bench", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    context = Context("bench", memory_limit_in_mb=512, aws_request_id="1", deadline=1e12)
    answer: dict[str, Any] = module.lambda_handler(event, context)
    assert is_success(answer)
    return answer


def function(name: str) -> Path:
    return read_functions(load_template())[name].source


def event_for(name: str) -> dict[str, Any]:
    api = Api(load_template(), lambda name, event: run(function(name), event))
    return api.event(name)


@pytest.mark.parametrize(
    ("name", "reference"),
    [("ClaimJobsFunction", "sdk_claim"), ("CompleteJobFunction", "sdk_complete")],
)
def test_the_reference_makes_the_calls_of_a_warm_function(
    name: str, reference: str, calls: list[Call]
) -> None:
    events = [event_for(name) for _ in range(3)]
    run(function(name), events[0])  # warm: it knows the queue now
    calls.clear()
    run(function(name), events[1])
    of_function = list(calls)
    calls.clear()
    run(HANDLERS / f"{reference}.py", events[2])

    assert calls == of_function


def test_the_bare_client_makes_one_call(calls: list[Call]) -> None:
    run(HANDLERS / "bare_client.py", {})

    assert [operation for operation, *_ in calls] == ["GetItem"]


def test_the_usual_handler_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "bench")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "bench")
    event = event_for("ClaimJobsFunction")

    answer = run(HANDLERS / "usual_claim.py", event)

    assert json.loads(answer["body"])["claimed"]
