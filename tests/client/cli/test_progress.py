"""Colours, bars and spinners: for whom they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.client.cli.fakes import FakeQueue, answered, job, page
from tests.client.cli.terminal import on_terminal
from tests.client.server import Reply, ReplyingServer

if TYPE_CHECKING:
    from collections.abc import Iterator

DEAD = job(status="dead")
HIDDEN_CURSOR = b"\x1b[?25l"  # the sign of something that moves


@pytest.fixture
def server() -> Iterator[ReplyingServer]:
    """A server with one dead letter, which is both a job and a page of them."""
    content = {**DEAD, "items": [DEAD], "next_cursor": None}
    with ReplyingServer(Reply(200, json.dumps(content).encode())) as running:
        yield running


@pytest.mark.parametrize("command", [["list", "--all"], ["dlq", "requeue", "--all", "--yes"]])
def test_no_color_takes_the_colours_and_leaves_the_bar(
    server: ReplyingServer, command: list[str]
) -> None:
    code, _, plain = on_terminal(*command, "--url", server.url, NO_COLOR="1")
    assert (code, HIDDEN_CURSOR in plain) == (0, True)
    assert b"\x1b[3" not in plain
    _, _, coloured = on_terminal(*command, "--url", server.url)
    assert b"\x1b[3" in coloured or b"\x1b[1;3" in coloured


@pytest.mark.parametrize("command", [["list", "--all"], ["dlq", "requeue", "--all", "--yes"]])
def test_what_is_no_terminal_gets_no_bar(command: list[str]) -> None:
    queue = FakeQueue().on("GET /jobs", page(DEAD))
    queue.on("POST /dlq/{job_id}/requeue", answered(200, job()))
    # Rich would take it for a terminal
    done = queue.run(*command, FORCE_COLOR="1")
    assert done.exit_code == 0
    assert "\x1b[?25l" not in done.stderr
