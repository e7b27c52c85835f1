"""The worker's bench counts what it says it does, and fails where its bound does not hold."""

from __future__ import annotations

import contextlib
import json
import logging
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from bench import worker
from bench.worker import BATCH, BY_HAND, JOBS, WORKER, Run, by_hand, by_worker, measure, render
from job_retry_client import operations
from job_retry_client.transports.base import Request
from tests.client.server import Received, Reply, ReplyingServer
from tests.client.worker.fakes import FakeQueue

if TYPE_CHECKING:
    from collections.abc import Iterator

CLAIM, COMPLETE, ENQUEUE = "/jobs/claim", "/jobs/complete", "/jobs/batch"


class Server(FakeQueue):
    """A queue behind HTTP."""

    def reply(self, received: Received) -> Reply:
        """Answer a request."""
        operation = {CLAIM: operations.CLAIM, COMPLETE: operations.COMPLETE_MANY}.get(
            received.target
        )
        if operation is None:
            return self._enqueue(received)
        answer = self.send(Request(operation, body=received.body.decode()))
        return Reply(answer.status, answer.body.encode())

    def _enqueue(self, received: Received) -> Reply:
        assert received.target == ENQUEUE
        added = [
            {"status": 201, "job": self.jobs[self.add(each["job_type"], queue=each["queue"])[0]]}
            for each in json.loads(received.body)["jobs"]
        ]
        return Reply(body=json.dumps({"results": added}).encode())


@pytest.fixture
def queue() -> Server:
    return Server()


@pytest.fixture
def url(queue: Server) -> Iterator[str]:
    with ReplyingServer(queue.reply) as server:
        yield server.url


def run(seconds: float, completes: int = 30) -> Run:
    return Run(seconds, seconds / 2, Counter({CLAIM: completes + 1, COMPLETE: completes}))


def test_by_hand_takes_two_calls_a_batch(queue: Server, url: str) -> None:
    queue.add("empty", JOBS, queue="q")
    assert by_hand(url, "q").calls == {CLAIM: JOBS // BATCH + 1, COMPLETE: JOBS // BATCH}
    assert queue.statuses() == {"completed": JOBS}


def test_a_worker_works_off_the_same_in_batches(queue: Server, url: str) -> None:
    queue.add("empty", JOBS, queue="q")
    calls = by_worker(url, "q").calls
    assert queue.statuses() == {"completed": JOBS}
    assert calls == {CLAIM: queue.count("claim"), COMPLETE: queue.count("complete")}
    assert JOBS // BATCH <= calls[COMPLETE] < JOBS // 2
    assert {body["max_jobs"] for body in queue.bodies("claim")} <= set(range(1, BATCH + 1))


def test_a_worker_that_does_not_complete_all_is_no_measurement(queue: Server, url: str) -> None:
    queue.add("empty", JOBS - 1, queue="q")
    with pytest.raises(RuntimeError, match=str(JOBS - 1)):
        by_worker(url, "q")


def test_each_has_its_turn_and_the_first_round_is_not_counted(queue: Server, url: str) -> None:
    runs = measure(url, 2)
    assert {name: len(of_name) for name, of_name in runs.items()} == {BY_HAND: 2, WORKER: 2}
    assert queue.statuses() == {"completed": 6 * JOBS}


def test_the_table_has_medians_a_job() -> None:
    shown = render(
        {BY_HAND: [run(3.0), run(0.3), run(0.6)], WORKER: [run(0.9, 35), run(9, 36), run(0.6, 90)]}
    )
    assert "| by hand | 2.00 | 1.00 | 31 | 30 |" in shown
    assert "| `Worker` | 3.00 | 1.50 | 37 | 36 |" in shown


@pytest.mark.parametrize(("seconds", "code"), [(1.29, 0), (1.31, 1)])
def test_it_fails_where_the_bound_does_not_hold(
    seconds: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the median of the rounds, each compared within itself."""
    monkeypatch.setattr(worker, "local_server", lambda: contextlib.nullcontext(""))
    monkeypatch.setattr("sys.argv", ["bench.worker"])
    monkeypatch.setattr(logging, "disable", lambda _level: None)
    found = {
        BY_HAND: [run(1.0), run(10.0), run(1.0)],
        WORKER: [run(seconds), run(10 * seconds), run(500.0)],
    }
    monkeypatch.setattr(worker, "measure", lambda _url, _rounds: found)
    assert worker.main() == code
    assert ("holds" if code == 0 else "BROKEN") in capsys.readouterr().out
