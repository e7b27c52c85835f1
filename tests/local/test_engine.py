"""The engine's life: started, found, killed, replaced by moto."""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

from local import engine as engine_module
from local.engine import Engine, EngineError, why_no_dynoxide
from local.ports import free_port
from local.tables import create_missing_tables, local_client
from local.template import load_template, table_definitions
from tests.conftest import skip_unless_ci
from tests.local.processes import Program

if TYPE_CHECKING:
    from pathlib import Path

    from mypy_boto3_dynamodb import DynamoDBClient

DEFINITIONS = list(table_definitions(load_template()).values())
ITEM: dict[str, Any] = {"pk": {"S": "a"}, "sk": {"S": "b"}}


def put_new(client: DynamoDBClient) -> None:
    client.put_item(
        TableName="ControlTable", Item=ITEM, ConditionExpression="attribute_not_exists(pk)"
    )


@pytest.fixture
def dynoxide() -> None:
    """Skip where dynoxide cannot run."""
    if reason := why_no_dynoxide():
        skip_unless_ci(reason)


@pytest.mark.usefixtures("dynoxide")
def test_tables_are_made_once() -> None:
    with Engine() as engine:
        client = local_client(engine.url)
        assert create_missing_tables(client, DEFINITIONS) == ["JobsTable", "ControlTable"]
        assert create_missing_tables(client, DEFINITIONS) == []


@pytest.mark.usefixtures("dynoxide")
def test_what_was_written_survives_kill_9(tmp_path: Path) -> None:
    with Engine(data=tmp_path) as engine:
        client = local_client(engine.url)
        create_missing_tables(client, DEFINITIONS)
        put_new(client)
        killed = engine.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
        engine.start()
        assert engine.pid != killed
        key = {"pk": {"S": "a"}, "sk": {"S": "b"}}
        assert client.get_item(TableName="ControlTable", Key=key)["Item"] == ITEM


@pytest.mark.usefixtures("dynoxide")
def test_memory_is_forgotten() -> None:
    with Engine() as engine:
        create_missing_tables(local_client(engine.url), DEFINITIONS)
    with Engine() as engine:
        assert local_client(engine.url).list_tables()["TableNames"] == []


def test_a_port_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EngineError, match=f"port {port} is in use"):
            Engine(port=port).start()


@pytest.mark.usefixtures("dynoxide")
def test_its_own_last_words_are_told(tmp_path: Path) -> None:
    (tmp_path / "dynamodb.sqlite").mkdir()
    with pytest.raises(EngineError, match=r"did not start: .*unable to open database"):
        Engine(data=tmp_path).start()


def test_where_dynoxide_is_missing_moto_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engine_module, "DYNOXIDE", tmp_path / "missing")
    monkeypatch.setattr("shutil.which", lambda _name: None)
    assert why_no_dynoxide() is not None
    with Engine(data=tmp_path) as engine:
        assert not engine.lasting
        client = local_client(engine.url)
        create_missing_tables(client, DEFINITIONS)
        put_new(client)
        with pytest.raises(client.exceptions.ConditionalCheckFailedException):
            put_new(client)


@pytest.mark.usefixtures("dynoxide")
def test_on_its_own_it_has_the_tables_and_stops_cleanly(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "local.engine", "--port", str(port), "--data", str(tmp_path)]
    with Program(command) as program:
        assert f"http://127.0.0.1:{port}" in program.wait_for("DynamoDB engine on")
        names = local_client(f"http://127.0.0.1:{port}").list_tables()["TableNames"]
        assert names == ["ControlTable", "JobsTable"]
        program.interrupt()
        assert program.end() == (0, "", "")
        assert program.children() == []


def test_on_its_own_it_fails_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Program([sys.executable, "-m", "local.engine", "--port", str(port)]) as program:
            code, output, errors = program.end()
    assert (code, output) == (1, "")
    assert errors == f"the engine did not start: port {port} is in use\n"
