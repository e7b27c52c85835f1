"""From an address to the way to reach the queue."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from job_retry_client import CredentialsError, JobQueue, JobQueueError, operations
from job_retry_client.connect import transport_of
from job_retry_client.transports.base import Request
from job_retry_client.transports.http import HttpTransport
from job_retry_client.transports.invoke import InvokeTransport
from local.template import REPOSITORY
from tests.client.fakes import job
from tests.client.server import Reply, ReplyingServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

API = "https://abc123.execute-api.eu-west-3.amazonaws.com"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment that says nothing, but for credentials that open nothing."""
    for name in ("JOB_RETRY_URL", "JOB_RETRY_TOKEN", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    (tmp_path / "config").write_text(
        "[profile there]\nregion = eu-north-1\n"
        "aws_access_key_id = of-the-profile\naws_secret_access_key = secret\n"
    )


@pytest.fixture
def server() -> Iterator[ReplyingServer]:
    """A server that answers all with an empty object."""
    with ReplyingServer(Reply()) as running:
        yield running


def signed(transport: object) -> str:
    """Return the authorization that a transport sends to an API."""
    assert isinstance(transport, HttpTransport)
    assert transport._sign is not None
    headers = transport._sign("GET", f"{transport.url}/jobs", None, {})
    return {name.lower(): value for name, value in headers.items()}["authorization"]


def region_of(transport: object) -> str:
    """Return the region that a transport's functions are in."""
    assert isinstance(transport, InvokeTransport)
    region: str = transport._client.meta.region_name
    return region


def test_http_is_as_it_is(server: ReplyingServer) -> None:
    transport_of(server.url).send(Request(operations.GET, {"job_id": "7"}))
    assert "authorization" not in server.received[0].headers


def test_https_is_signed_for_the_apis_region() -> None:
    assert "/eu-west-3/execute-api/" in signed(transport_of(API))
    assert "/eu-west-3/execute-api/" in signed(transport_of(f"{API}/api:job-retry/"))
    assert "/us-east-2/" in signed(transport_of(API, region="us-east-2"))
    profiled = signed(transport_of("https://jobs.example", profile="there"))
    assert "=of-the-profile/" in profiled
    assert "/eu-north-1/" in profiled


def test_https_with_a_token_is_not_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert signed(transport_of(API, token="abc")) == "Bearer abc"
    assert signed(transport_of(API, token=lambda: "made")) == "Bearer made"
    monkeypatch.setenv("JOB_RETRY_TOKEN", "of-the-environment")
    assert signed(transport_of(API)) == "Bearer of-the-environment"
    assert signed(transport_of(API, token="abc")) == "Bearer abc"


def test_a_variable_that_is_set_to_nothing_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_RETRY_TOKEN", "")
    assert signed(transport_of(API)).startswith("AWS4-HMAC-SHA256 ")


@pytest.mark.parametrize("address", [API, "http://127.0.0.1:1"])
def test_a_text_that_is_no_token_is_told_by_where_it_came_from(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    with pytest.raises(CredentialsError, match=r"^the token is no bearer token"):
        JobQueue.connect(address, token="abc\ndef")
    monkeypatch.setenv("JOB_RETRY_TOKEN", "abc\ndef")
    with pytest.raises(CredentialsError, match=r"^JOB_RETRY_TOKEN is no bearer token"):
        JobQueue.connect(address)


def test_a_token_stays_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("127.0.0.1:3000", "localhost", "[::1]:3000"):
        assert signed(transport_of(f"http://{host}", token="abc")) == "Bearer abc"
    monkeypatch.setenv("JOB_RETRY_TOKEN", "abc")
    for host in ("jobs.example", "10.0.0.1", "127.0.0.1.example", "localhost.example:80"):
        with pytest.raises(JobQueueError, match="another machine"):
            transport_of(f"http://{host}")


def test_functions_are_named_by_their_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    transport = transport_of("lambda:My-Stack?region=eu-west-3")
    assert isinstance(transport, InvokeTransport)
    assert transport._stack == "My-Stack"
    assert region_of(transport) == "eu-west-3"
    assert region_of(transport_of("lambda:s?region=eu-west-3", region="us-east-2")) == "us-east-2"
    assert region_of(transport_of("lambda:s", profile="there")) == "eu-north-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    assert region_of(transport_of("lambda:s")) == "eu-west-2"


def test_the_environment_names_the_queue(
    monkeypatch: pytest.MonkeyPatch, server: ReplyingServer
) -> None:
    monkeypatch.setenv("JOB_RETRY_URL", server.url)
    transport = transport_of()
    assert isinstance(transport, HttpTransport)
    assert transport.url == server.url
    assert transport_of("lambda:s", region="eu-west-3") is not None


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (None, "JOB_RETRY_URL"),
        ("", "JOB_RETRY_URL"),
        ("127.0.0.1:3000", "is none of"),
        ("ftp://host", "is none of"),
        ("http://", "no HTTP address"),
        ("https://[::1", "no address"),
        (f"{API}?stage=live", "a host and a path"),
        ("https://jobs.example", "region"),
        ("lambda:", "which stack"),
        ("lambda:s", "region"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused(address: str | None, reason: str) -> None:
    with pytest.raises(JobQueueError, match=reason):
        JobQueue.connect(address)


def test_a_profile_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in (API, "lambda:s"):
        with pytest.raises(JobQueueError, match="nobody"):
            JobQueue.connect(address, profile="nobody")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(JobQueueError, match="credentials"):
        JobQueue.connect(API)


def test_a_connection_takes_its_settings() -> None:
    with ReplyingServer(Reply(201, json.dumps(job()).encode())) as server:
        JobQueue.connect(server.url).enqueue("mail")
        JobQueue.connect(server.url, repeat_enqueues=False).enqueue("mail")
    first, second = server.received
    assert "idempotency-key" in first.headers
    assert "idempotency-key" not in second.headers


LOADED = """
import sys
import job_retry_client
{way}
print(*sorted({{"boto3", "botocore", "urllib3", "job_retry", "pydantic"}} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("way", "loaded"),
    [
        ("", ""),
        ("job_retry_client.JobQueue.connect('http://127.0.0.1:1')", "urllib3"),
        ("job_retry_client.JobQueue.connect('https://a.example', token='t')", "urllib3"),
        (
            "job_retry_client.JobQueue.connect('https://a.example', region='eu-west-3')",
            "boto3 botocore urllib3",
        ),
        (
            "job_retry_client.JobQueue.connect('lambda:s', region='eu-west-3')",
            "boto3 botocore urllib3",
        ),
    ],
)
def test_a_program_loads_what_its_way_needs(way: str, loaded: str) -> None:
    output = subprocess.run(
        [sys.executable, "-c", LOADED.format(way=way)],
        check=True,
        capture_output=True,
        text=True,
        cwd=REPOSITORY / "layers/client",
    ).stdout
    assert output.strip() == loaded
