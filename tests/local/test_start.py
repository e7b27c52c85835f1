"""`make start` from the outside: what it prints, what it keeps, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from local.engine import Engine, why_no_dynoxide
from local.ports import free_port
from local.tables import local_client
from tests.conftest import skip_unless_ci
from tests.http.api import Api
from tests.local.processes import START, LocalRun, Program, wait_until_gone

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


@pytest.fixture(autouse=True)
def dynoxide() -> None:
    """These tests look at data that stays."""
    if reason := why_no_dynoxide():
        skip_unless_ci(reason)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder."""
    return tmp_path / "data"


def fails_in_one_line(*options: str, **environment: str) -> str:
    with Program([*START, *options], **environment) as program:
        code, output, errors = program.end()
    assert (code, output) == (1, "")
    assert errors.startswith("job-retry cannot start: ")
    assert errors.count("\n") == 1
    return errors


def enqueue(url: str) -> dict[str, Any]:
    answer = Api(url).post("/jobs", {"job_type": "kept"})
    assert answer.status == 201
    job: dict[str, Any] = answer.json
    return job


def stored(url: str, job: dict[str, Any]) -> bool:
    return Api(url).get(f"/jobs/{job['id']}").status == 200


def test_the_command_that_it_prints_works_when_pasted(data: Path) -> None:
    with LocalRun(data, free_port()) as run:
        done = subprocess.run(
            ["bash", "-c", run.first_command], check=True, capture_output=True, text=True
        )
        assert json.loads(done.stdout)["status"] == "queued"


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "both"])
def test_it_stops_cleanly(data: Path, how: str) -> None:
    with LocalRun(data, free_port()) as run:
        enqueue(run.url)
        children = run.children()
        assert len(children) >= 2  # the engine and a worker
        if how != "SIGTERM":
            run.interrupt()
        if how != "Ctrl-C":
            run.send(signal.SIGTERM)
        assert run.end() == (0, "", "")
        wait_until_gone(children)
        assert run.children() == []


def test_kill_9_leaves_no_process_and_loses_no_job(data: Path) -> None:
    port = free_port()
    with LocalRun(data, port) as run:
        job = enqueue(run.url)
        children = run.children()
        os.kill(run.pid, signal.SIGKILL)
        run.end()
        wait_until_gone(children)
    with LocalRun(data, port) as run:
        assert stored(run.url, job)


def test_an_engine_that_was_killed_comes_back_with_its_data(data: Path) -> None:
    with LocalRun(data, free_port()) as run:
        job = enqueue(run.url)
        (engine,) = run.children("dynoxide")
        os.kill(engine, signal.SIGKILL)
        run.wait_for_error("was started again")
        assert stored(run.url, job)


def test_a_port_in_use_is_one_line(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = fails_in_one_line("--port", str(port), "--data", str(data))
    assert f"port {port} is in use" in error


def test_a_second_start_on_the_same_data_is_one_line(data: Path) -> None:
    with LocalRun(data, free_port()) as run:
        error = fails_in_one_line("--port", str(free_port()), "--data", str(data))
        assert f"in use by process {run.pid}" in error


def test_an_engine_that_does_not_start_is_one_line(data: Path) -> None:
    (data / "dynamodb.sqlite").mkdir(parents=True)
    error = fails_in_one_line("--port", str(free_port()), "--data", str(data))
    assert "the engine did not start" in error


def test_another_engine_can_be_named(data: Path) -> None:
    with (
        Engine() as engine,
        LocalRun(data, free_port(), DYNAMODB_ENDPOINT_URL=engine.url, JOBS_TABLE="Mine") as run,
    ):
        enqueue(run.url)
        assert run.children("dynoxide") == []
        assert not data.exists()
        client = local_client(engine.url)
        assert client.list_tables()["TableNames"] == ["ControlTable", "Mine"]
        assert client.scan(TableName="Mine")["Count"] == 1


def test_another_engine_that_does_not_answer_is_one_line(data: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    options = ("--port", str(free_port()), "--data", str(data))
    assert url in fails_in_one_line(*options, DYNAMODB_ENDPOINT_URL=url)


def test_settings_come_from_the_environment_and_aws_does_not(data: Path) -> None:
    # A profile that does not exist breaks every SDK client that looks at it.
    with LocalRun(data, free_port(), REQUIRE_LEASE_TOKEN="true", AWS_PROFILE="missing") as run:
        job = enqueue(run.url)
        assert Api(run.url).post("/jobs/claim").json["claimed"]
        assert Api(run.url).post(f"/jobs/{job['id']}/complete", {}).status >= 400
