"""`make bench-cost`: what a job costs, by real lives of jobs on a real engine.

Each life runs through the engine's own verbs on dynoxide, which reports the units that
DynamoDB would bill. Beside them: the floor of three writes, a naive design run the same
way, and two other services, computed. Exits 1 where a bound does not hold.
"""

from __future__ import annotations

import math
import sys
from base64 import b64encode
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import TYPE_CHECKING

from bench import prices
from bench.naive import NaiveQueue
from bench.report import Bound, show, table
from bench.units import Meter, Units
from job_retry.claiming import ClaimRequest
from job_retry.dynamo import DynamoStore
from job_retry.engine import Engine
from job_retry.job import NewJob
from local.engine import Engine as LocalEngine
from local.tables import create_missing_tables, local_client
from local.template import load_template, table_definitions

if TYPE_CHECKING:
    from collections.abc import Callable

    from job_retry.job import Job

START_MS = 1_893_456_000_000
PAYLOAD = '{"user_id":42,"template":"welcome","locale":"en"}'
RESULT = '{"ok":true}'
TEN_KB = 10 * 1024
MILLION = 1_000_000


@dataclass(frozen=True)
class Life:
    """A way for a job to live, and what it was billed.

    Attributes:
        name: for the table.
        units: of one job.
        calls: API calls for one job.
    """

    name: str
    units: Units
    calls: float

    @property
    def dollars(self) -> float:
        """Price of a million such jobs, through the API."""
        return self.dollars_by(prices.call())

    def dollars_by(self, call: float) -> float:
        """Return the price of a million such jobs.

        Args:
            call: price of a call by the way that the queue is reached, in dollars.
        """
        return MILLION * (
            self.units["write"] * prices.WRITE_UNIT
            + self.units["read"] * prices.READ_UNIT
            + self.calls * call
        )


class Bench:
    """A queue that has worked before, and a meter on it."""

    def __init__(self, url: str) -> None:
        self.client = local_client(url)
        create_missing_tables(self.client, table_definitions(load_template()).values())
        store = DynamoStore(self.client, jobs_table="JobsTable", control_table="ControlTable")
        ticks = count(START_MS)
        self._skipped = 0
        self.engine = Engine(store, clock=lambda: next(ticks) + self._skipped, random=Random(1))
        self._meter = Meter(self.client)
        self.plain(1)  # a warm function knows the queue

    def measure(self, name: str, life: Callable[[int], int], jobs: int = 1) -> Life:
        """Let jobs live, and return what each was billed."""
        with self._meter.reading() as units:
            calls = life(jobs)
        return Life(name, Units({kind: n / jobs for kind, n in units.items()}), calls / jobs)

    def plain(self, jobs: int, **more: object) -> int:
        """Enqueue, claim, complete, in batches as large as there are jobs."""
        for _ in range(jobs):
            self._enqueue(**more)
        for job in self._claim(jobs):
            self.engine.complete(job.id, lease_token=job.lease_token, result=RESULT)
        return 3

    def retry(self, _: int) -> int:
        """Fail once, then complete."""
        self._enqueue()
        self._fail()
        (job,) = self._claim(1)
        self.engine.complete(job.id, lease_token=job.lease_token, result=RESULT)
        return 5

    def death(self, _: int) -> int:
        """Fail twice, for good."""
        self._enqueue(max_attempts=2)
        self._fail()
        self._fail()
        return 5

    def heartbeat(self, _: int) -> int:
        """Complete after one heartbeat."""
        self._enqueue()
        (job,) = self._claim(1)
        self.engine.heartbeat(job.id, lease_token=job.lease_token)
        self.engine.complete(job.id, lease_token=job.lease_token, result=RESULT)
        return 4

    def _enqueue(self, **more: object) -> None:
        given = {"job_type": "send_welcome_email", "payload": PAYLOAD, "backoff_seconds": 0}
        self.engine.enqueue(NewJob(**(given | more)))  # type: ignore[arg-type]

    def _claim(self, jobs: int) -> list[Job]:
        return self.engine.claim(ClaimRequest(worker_id="worker-1", max_jobs=jobs)).jobs

    def _fail(self) -> None:
        (job,) = self._claim(1)
        self.engine.fail(job.id, lease_token=job.lease_token, error="provider 5xx")


def _documents() -> tuple[str, str]:
    """Return two JSON texts of 10 KB: one that hardly compresses, and one that does."""
    noise = b64encode(Random(5).randbytes(TEN_KB)).decode()[: TEN_KB - 2]
    rows = ",".join(f'{{"id":{n},"state":"open","owner":null}}' for n in range(1000))
    return f'"{noise}"', f"[{rows[: rows.rindex(',', 0, TEN_KB - 2)]}]"


def measured(url: str) -> list[Life]:
    """Return the lives of jobs, measured."""
    bench = Bench(url)
    noise, rows = _documents()
    return [
        bench.measure("plain", bench.plain),
        bench.measure("retried once", bench.retry),
        bench.measure("dead after two runs", bench.death),
        bench.measure("with a heartbeat", bench.heartbeat),
        bench.measure("batch of 10", bench.plain, 10),
        bench.measure("10 KB payload, random base64", lambda n: bench.plain(n, payload=noise)),
        bench.measure("10 KB payload, JSON rows", lambda n: bench.plain(n, payload=rows)),
        bench.measure("unique key", lambda n: bench.plain(n, unique_key="user-42")),
    ]


def beside(url: str) -> list[Life]:
    """Return other ways to have a queue."""
    client = local_client(url)
    naive = NaiveQueue(client)
    with Meter(client).reading() as units:
        naive.live(PAYLOAD)
    return [
        Life("floor: three writes", Units(write=3), 3),
        Life("naive: four indexes, ALL", units, 3),
    ]


def by_transport(lives: list[Life]) -> list[list[str]]:
    """Return what the ways to reach the queue make of two lives, in dollars per million jobs."""
    rows = []
    for name in ("plain", "batch of 10"):
        (life,) = (each for each in lives if each.name == name)
        ways = (prices.call(), prices.invocation(), 0.0)
        rows.append([name, *(f"{life.dollars_by(each):.2f}" for each in ways)])
    return rows


def computed() -> list[tuple[str, float]]:
    """Return what other services cost for a million jobs, by their prices alone."""
    status_table = 3 * prices.WRITE_UNIT + prices.READ_UNIT / 2
    return [
        ("SQS: send, receive, delete", MILLION * 3 * prices.SQS_REQUEST),
        ("SQS with a status table", MILLION * (3 * prices.SQS_REQUEST + status_table)),
        ("Step Functions: 4 transitions", MILLION * 4 * prices.STEP_FUNCTIONS_TRANSITION),
    ]


def bounds(lives: list[Life]) -> list[Bound]:
    """Return what must hold."""
    by_name = {life.name: life for life in lives}
    noise = by_name["10 KB payload, random base64"].units["write"]
    most = 9 + math.ceil(TEN_KB / 1024)
    rows = by_name["10 KB payload, JSON rows"].units["write"]
    return [
        Bound("plain job: write units", by_name["plain"].units["write"], 8.0),
        Bound("10 KB of random base64: write units", noise, most),
        Bound("10 KB of JSON rows: write units, fewer than that", rows, noise - 1),
        Bound("batch of 10: $ per million jobs, all in", by_name["batch of 10"].dollars, 6.0),
    ]


def main() -> int:
    """Print the table; return 1 if a bound does not hold."""
    with LocalEngine() as engine:
        lives = measured(engine.url)
        others = beside(engine.url)
    print(f"A call is taken as {prices.CALL_SECONDS * 1000:.0f} ms of {prices.CALL_GB} GB.\n")
    print(
        table(
            ["a job's life", "write units", "read units", "calls", "$ per million jobs"],
            [
                [
                    life.name,
                    f"{life.units['write']:.1f}",
                    f"{life.units['read']:.2f}",
                    f"{life.calls:.1f}",
                    f"{life.dollars:.2f}",
                ]
                for life in lives + others
            ]
            + [[name, "", "", "", f"{dollars:.2f}"] for name, dollars in computed()],
        )
    )
    print()
    print(
        table(["$ per million jobs", "`https:`", "`lambda:`", "`in-process:`"], by_transport(lives))
    )
    return show(bounds(lives))


if __name__ == "__main__":
    sys.exit(main())
