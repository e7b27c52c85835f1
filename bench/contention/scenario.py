"""One run: so many workers, so many lanes, a full backlog or a steady stream."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

from bench.contention.measures import Result, Samples, percentile
from bench.model.backlog import QUEUE, Backlog
from bench.model.client import ModelledDynamoDB
from bench.model.processes import Processes, world_for_threads
from bench.model.world import World
from job_retry.claiming import ClaimRequest
from job_retry.errors import StoreBusyError
from job_retry.job import NewJob

WORK_SECONDS = 0.05
"""The mean of a job's work, drawn evenly from none to twice as much. So short, a thousand
workers ask for more than ten thousand jobs a second: contention at its hardest."""

CYCLE_SECONDS = 0.07
"""Of a worker: a job's work, and the four calls about it."""

_BUSY_SECONDS = 1.0  # a worker's pause after a 503, as the answer's Retry-After says
_WAITING = 500  # jobs in each lane of a full backlog, more than any claim looks at
_LANE_JOBS = 500  # a second: what a lane's partition carries, two units a job


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is run.

    Attributes:
        workers: each claims, works and completes, over and over.
        lanes: of the queue.
        arrivals: jobs a second that come in; None for a backlog that never ends.
        warm_seconds: before the measuring.
        seconds: of the measuring.
        seed: of all chance.
    """

    workers: int
    lanes: int
    arrivals: float | None = None
    warm_seconds: float = 1.0
    seconds: float = 3.0
    seed: int = 1


class Run:
    """A scenario while it is played."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._random = Random(scenario.seed)
        self._world = World()
        self._client = ModelledDynamoDB(self._world, self._child())
        self._claims = Processes(self._world, self._client, self._child())
        self._others = Processes(self._world, self._client, self._child())
        self._backlog = Backlog(self._world, self._client, self._child(), scenario.lanes)
        self._samples = Samples()

    def play(self) -> Result:
        """Run it and return what was measured."""
        with world_for_threads(self._world):
            return self._play()

    def _play(self) -> Result:
        scenario = self._scenario
        if scenario.arrivals is None:
            rate = min(scenario.workers / CYCLE_SECONDS, _LANE_JOBS * scenario.lanes)
            self._backlog.fill(_WAITING * scenario.lanes, per_second=rate)
        else:
            self._world.spawn(self._stream, scenario.arrivals)
        for _ in range(scenario.workers):
            self._world.spawn(self._work, self._random.uniform(0, CYCLE_SECONDS))
        self._world.run(scenario.warm_seconds)
        self._samples = Samples()
        before = Counter(self._client.counts)
        self._world.run(scenario.warm_seconds + scenario.seconds)
        return self._result(self._client.counts - before)

    def _work(self, start: float) -> None:
        """Be a worker."""
        world, random = self._world, self._child()
        request = ClaimRequest(queues=(QUEUE,), worker_id="worker")
        world.sleep(start)
        while True:
            pause = self._work_once(request, random)
            if pause:
                world.sleep(pause)

    def _work_once(self, request: ClaimRequest, random: Random) -> float:
        """Claim, work, complete; return how long to wait before the next claim."""
        world = self._world
        task = world.current()
        process = self._claims.take()
        calls = task.calls
        try:
            taken = process.claim(request)
        except StoreBusyError:
            self._samples.refused += 1
            return _BUSY_SECONDS * random.uniform(0.5, 1.5)
        finally:
            self._claims.give_back(process)
        if not taken.jobs:
            self._samples.empty += 1
            return taken.retry_after_seconds
        (job,) = taken.jobs
        self._samples.round_trips.append(task.calls - calls)
        self._samples.waited_ms.append(world.clock() - job.created_at)
        if self._scenario.arrivals is None:
            older, by_ms = self._backlog.taken(job)
            self._samples.older.append(older)
            self._samples.order_ms.append(by_ms)
            self._backlog.add()
        world.sleep(random.uniform(0, 2 * WORK_SECONDS))
        while True:
            process = self._others.take()
            try:
                process.complete(job.id, lease_token=job.lease_token, result="1")
            except StoreBusyError:
                world.sleep(_BUSY_SECONDS * random.uniform(0.5, 1.5))
            else:
                self._samples.completed += 1
                return 0.0
            finally:
                self._others.give_back(process)

    def _stream(self, per_second: float) -> None:
        """Let jobs come in, as many producers send them: independently of each other."""
        while True:
            self._world.sleep(self._random.expovariate(per_second))
            self._world.spawn(self._enqueue)

    def _enqueue(self) -> None:
        process = self._others.take()
        try:
            process.enqueue(NewJob(job_type="bench.job", queue=QUEUE, payload='{"n":1}'))
        except StoreBusyError:
            self._samples.refused += 1
        finally:
            self._others.give_back(process)

    def _child(self) -> Random:
        """Return a source of chance of its own, so that one's draws do not shift another's."""
        return Random(self._random.getrandbits(64))

    def _result(self, counts: Counter[str]) -> Result:
        scenario, samples = self._scenario, self._samples
        claimed = max(len(samples.round_trips), 1)
        streams = scenario.arrivals is not None
        return Result(
            load="70 %" if streams else "full",
            workers=scenario.workers,
            lanes=scenario.lanes,
            jobs_per_second=samples.completed / scenario.seconds,
            lost_per_claim=counts["lost"] / claimed,
            round_trips=sum(samples.round_trips) / claimed,
            queries_per_claim=counts["queries"] / claimed,
            write_units_per_job=counts["write_units"] / claimed,
            read_units_per_job=counts["read_units"] / claimed,
            older_p50=percentile(samples.older, 0.5),
            order_ms_p50=percentile(samples.order_ms, 0.5),
            order_ms_p99=percentile(samples.order_ms, 0.99),
            waited_ms_p50=percentile(samples.waited_ms, 0.5) if streams else None,
            waited_ms_p99=percentile(samples.waited_ms, 0.99) if streams else None,
            throttled=counts["throttles"] / max(samples.completed, 1),
            empty=samples.empty / claimed,
            processes=self._claims.started,
        )
