"""`python -m bench.worker`: what a worker takes beside the same HTTP calls made by hand.

Both work off queues of empty jobs, ten at a time, in turn, against one local server.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import urllib3

from bench.report import Bound, show, table
from job_retry_client import JobQueue, NewJob, Worker
from job_retry_client.transports.http import HttpTransport
from local.ports import free_port
from local.template import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from job_retry_client.transports.base import Answer, Request

BATCH = 10
JOBS = 300
BY_HAND, WORKER = "by hand", "`Worker`"


@dataclass(frozen=True)
class Run:
    """What working off a queue took.

    Attributes:
        seconds: by the clock.
        cpu: seconds of this process.
        calls: how often each route was called.
    """

    seconds: float
    cpu: float
    calls: Counter[str]


class CountingTransport(HttpTransport):
    """The usual way to the queue, which counts the calls."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.calls: Counter[str] = Counter()

    def send(self, request: Request) -> Answer:
        """Ask, once."""
        self.calls[request.operation.route] += 1
        return super().send(request)


@contextlib.contextmanager
def local_server() -> Iterator[str]:
    """Run the local server for a while; yield its address."""
    port = free_port()
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "local", "--port", str(port), "--data", data]
        with subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
        ) as server:
            for line in server.stdout or ():
                if "Enqueue a job" in line:
                    break
            yield f"http://127.0.0.1:{port}"
            server.terminate()


def by_hand(url: str, queue: str) -> Run:
    """Work off a queue with a loop around two calls."""
    http, calls = urllib3.PoolManager(), Counter[str]()

    def post(route: str, body: object) -> dict[str, list[dict[str, object]]]:
        calls[route] += 1
        answer: dict[str, list[dict[str, object]]]
        answer = json.loads(http.request("POST", url + route, json=body).data)
        return answer

    began, cpu = time.perf_counter(), time.process_time()
    while jobs := post("/jobs/claim", {"queue": queue, "max_jobs": BATCH})["jobs"]:
        done = [{"id": job["id"], "lease_token": job["lease_token"]} for job in jobs]
        post("/jobs/complete", {"jobs": done})
    return Run(time.perf_counter() - began, time.process_time() - cpu, calls)


def by_worker(url: str, queue: str) -> Run:
    """Work off a queue with a worker whose handler does nothing.

    Raises:
        RuntimeError: it did not complete all jobs.
    """
    transport = CountingTransport(url)
    worker = Worker(JobQueue(transport), queue, concurrency=BATCH)
    worker.handler("empty")(lambda _context: None)
    began, cpu = time.perf_counter(), time.process_time()
    counts = worker.run(until_idle=True)
    run = Run(time.perf_counter() - began, time.process_time() - cpu, transport.calls)
    if counts != {"completed": JOBS}:
        raise RuntimeError(counts)
    return run


def measure(url: str, rounds: int) -> dict[str, list[Run]]:
    """Let each have its turn in each round; the first is not counted."""
    producer = JobQueue.connect(url, repeat_enqueues=False)
    runs: dict[str, list[Run]] = {BY_HAND: [], WORKER: []}
    for number in range(rounds + 1):
        print(f"round {number} of {rounds}", file=sys.stderr)
        ways = [(BY_HAND, by_hand), (WORKER, by_worker)]
        for name, work in ways if number % 2 else reversed(ways):
            queue = f"{work.__name__}-{number}"
            producer.enqueue_many(NewJob("empty", queue=queue) for _ in range(JOBS))
            run = work(url, queue)
            if number:
                runs[name].append(run)
    return runs


def render(runs: dict[str, list[Run]]) -> str:
    """Return the table as Markdown."""
    rows = [
        [
            name,
            f"{median(run.seconds for run in of_name) / JOBS * 1000:.2f}",
            f"{median(run.cpu for run in of_name) / JOBS * 1000:.2f}",
            f"{median(run.calls['/jobs/claim'] for run in of_name):.0f}",
            f"{median(run.calls['/jobs/complete'] for run in of_name):.0f}",
        ]
        for name, of_name in runs.items()
    ]
    head = ["claim to complete", "ms a job", "own CPU ms a job", "claims", "completes"]
    return table(head, rows)


def main() -> int:
    """Measure, print the table, and return 1 if the bound does not hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.worker", description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    with local_server() as url:
        runs = measure(url, options.rounds)
    print(f"{JOBS} empty jobs, {BATCH} at a time; medians of {options.rounds} rounds\n")
    print(render(runs))
    pairs = zip(runs[WORKER], runs[BY_HAND], strict=True)
    ratio = median(worker.seconds / hand.seconds for worker, hand in pairs)
    return show([Bound("a worker's time beside the same calls by hand", ratio, 1.3)])


if __name__ == "__main__":
    sys.exit(main())
