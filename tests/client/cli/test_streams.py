"""Standard input and output that are closed, full, or no file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local.template import REPOSITORY
from tests.client.cli.fakes import job
from tests.client.cli.shell import in_shell
from tests.client.server import Reply, ReplyingServer

if TYPE_CHECKING:
    from collections.abc import Iterator

FULL = Path("/dev/full")


@pytest.fixture
def server() -> Iterator[ReplyingServer]:
    """A server with two jobs, one of which is long."""
    jobs = [job(), job(8, last_error="e" * 20_000)]
    content = {**jobs[0], "items": jobs, "next_cursor": None}
    with ReplyingServer(Reply(200, json.dumps(content).encode())) as running:
        yield running


def shell(command: str, server: ReplyingServer) -> tuple[int, str]:
    """Run a command of the shell's, and return its exit code and standard error."""
    done = in_shell(command, server.url)
    return done.returncode, done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
@pytest.mark.parametrize("command", ["list", "list --json", "watch", "get 7", "--help"])
def test_a_full_disk_is_one_line(server: ReplyingServer, command: str) -> None:
    code, told = shell(f"job-retry {command} >/dev/full", server)
    assert code == 1
    (line,) = told.splitlines()
    assert "cannot write to standard output: No space left on device" in line
    if "--json" in command:
        assert json.loads(line)["code"] == "output"


def test_a_closed_output_is_told_before_anything_is_done(server: ReplyingServer) -> None:
    code, told = shell("job-retry claim >&-", server)
    assert (code, told) == (1, "job-retry: standard output is closed\n")
    assert server.received == []


@pytest.mark.parametrize("arguments", ["enqueue mail -", "enqueue --many -"])
@pytest.mark.parametrize(
    ("source", "reason"), [("<&-", "it is closed"), ("0>/dev/null", "Bad file descriptor")]
)
def test_an_input_that_cannot_be_read_is_wrong_usage(
    server: ReplyingServer, arguments: str, source: str, reason: str
) -> None:
    code, told = shell(f"job-retry {arguments} {source}", server)
    assert code == 2
    assert f"standard input: {reason}" in told
    assert "PAYLOAD" in told or "--many" in told
    assert "Traceback" not in told
    assert server.received == []


def test_a_reader_that_is_gone_is_no_error_to_tell(server: ReplyingServer) -> None:
    command = "set -o pipefail; job-retry list --json | true"
    code, told = shell(f"for n in 1 2 3; do {command}; done", server)
    assert code in (0, 1)
    assert told == ""


def test_what_a_handler_prints_is_out_before_a_kill() -> None:
    program = (
        "import os, signal; from job_retry_client.cli.streams import prepare; prepare(); "
        "print('done'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "PYTHONPATH": str(REPOSITORY / "layers/client"),
            "PYTHONUNBUFFERED": "1",
        },
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "done\n"
