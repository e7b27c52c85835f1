"""The client is the one that botocore makes by itself, as far as DynamoDB is concerned."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.session import Session

from job_retry.dynamo_client import new_client, new_session

PHASES = [
    "provide-client-params",
    "before-parameter-build",
    "before-endpoint-resolution",
    "before-call",
    "request-created",
    "choose-signer",
    "before-sign",
    "before-send",
    "before-parse",
    "response-received",
    "needs-retry",
    "after-call",
    "after-call-error",
    "getattr",
]


REGION = "eu-central-1"


@pytest.fixture(scope="module")
def clients() -> tuple[Any, Any]:
    """A client of our session, and one of a session as botocore makes it."""
    sessions = new_session(), Session()
    ours, usual = (each.create_client("dynamodb", region_name=REGION) for each in sessions)
    return ours, usual


def handlers(client: Any, event: str) -> list[str]:
    """Return the names of what is called at an event; Powertools may have come in between."""
    found = client.meta.events._emitter._handlers.prefix_search(event)
    return sorted(getattr(each, "__qualname__", type(each).__qualname__) for each in found)


@pytest.mark.parametrize("phase", PHASES)
def test_the_same_is_done_at_each_event(clients: tuple[Any, Any], phase: str) -> None:
    ours, usual = clients
    for operation in ours.meta.service_model.operation_names:
        event = f"{phase}.dynamodb.{operation}"
        assert handlers(ours, event) == handlers(usual, event)


def test_its_address_is_the_regions_or_the_one_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    assert new_client(None).meta.endpoint_url == f"https://dynamodb.{REGION}.amazonaws.com"
    given = "http://127.0.0.1:8000"
    assert new_client(given).meta.endpoint_url == given


def test_a_call_is_repeated_three_times() -> None:
    config: Any = new_client("http://127.0.0.1:8000").meta.config
    assert config.retries == {"mode": "standard", "total_max_attempts": 4}
