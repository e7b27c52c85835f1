"""A handler is measured in a process of its own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from bench.cold_process import Handler, HandlerError, Probe, is_success

if TYPE_CHECKING:
    from pathlib import Path

HANDLER = """
import os

calls = 0

def lambda_handler(event, context):
    global calls
    calls += 1
    print("a log line")
    return {"statusCode": event["status"], "body": f"{calls} {os.environ['JOBS_TABLE']}"}
"""


@pytest.fixture
def handler(tmp_path: Path) -> Handler:
    (tmp_path / "toy.py").write_text(HANDLER, encoding="utf-8")
    return Handler("toy", (tmp_path,))


def test_one_process_serves_event_after_event(handler: Handler) -> None:
    with Probe(sys.executable, handler, {"JOBS_TABLE": "Jobs"}) as probe:
        first = probe.call([{"status": 200}])
        second = probe.call([{"status": 200}, {"status": 201}])

    assert [answer["body"] for answer in first.answers] == ["1 Jobs"]
    assert [answer["body"] for answer in second.answers] == ["2 Jobs", "3 Jobs"]
    assert second.life_ms >= first.life_ms >= first.events_ms >= 0


def test_an_answer_that_is_no_success_is_no_measurement(handler: Handler) -> None:
    with (
        Probe(sys.executable, handler, {"JOBS_TABLE": "Jobs"}) as probe,
        pytest.raises(HandlerError, match="409"),
    ):
        probe.call([{"status": 409}])


def test_a_handler_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    with (
        Probe(sys.executable, Handler("nowhere", (tmp_path,)), {}) as probe,
        pytest.raises(HandlerError, match="nowhere ended"),
    ):
        probe.call([{}])


@pytest.mark.parametrize(
    ("answer", "success"),
    [
        ({"statusCode": 204, "body": None}, True),
        ({"expired": 0}, True),
        ({"statusCode": 200, "body": '{"claimed":false}'}, False),
        ({"statusCode": 404, "body": "{}"}, False),
    ],
)
def test_a_claim_that_finds_nothing_has_not_done_its_work(
    answer: dict[str, object], *, success: bool
) -> None:
    assert is_success(answer) is success
