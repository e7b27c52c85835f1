"""Jobs that wait, and who of them was the oldest."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from bench.model.world import EPOCH_MS
from job_retry import decisions, ids
from job_retry.items import job_to_item, number, queue_key, queue_settings, string
from job_retry.job import NewJob, Status
from job_retry.lanes import Partition, QueueRecord

if TYPE_CHECKING:
    from random import Random

    from bench.model.client import ModelledDynamoDB
    from bench.model.world import World
    from job_retry.job import Job

QUEUE = "bench"


class Backlog:
    """Puts jobs into the model and keeps the true order of those that wait."""

    def __init__(self, world: World, client: ModelledDynamoDB, random: Random, lanes: int) -> None:
        self.waiting: list[tuple[int, int]] = []
        self._world = world
        self._client = client
        self._random = random
        self._lanes = lanes
        self._serial = 0
        record = QueueRecord(
            name=QUEUE,
            priorities=frozenset({0}),
            lanes=lanes,
            lanes_before=lanes,
            lanes_read=lanes,
            lanes_ever=lanes,
        )
        template = decisions.enqueue(
            NewJob(job_type="bench.job", queue=QUEUE, payload='{"n":1}'),
            record,
            job_id=1,
            lane=0,
            enqueue_token="",
            now=EPOCH_MS,
        )
        self._item = job_to_item(template)
        client.control.put_at_once(
            {
                **queue_key(QUEUE),
                "priorities": {"NS": ["0"]},
                **{
                    name: number(value)
                    for name, value in queue_settings(record).items()
                    if value is not None
                },
            }
        )

    def fill(self, jobs: int, *, per_second: float) -> None:
        """Let jobs have come in before the run began, at a rate, all of them shown by now."""
        for place in range(jobs):
            age = (jobs - place) / per_second
            self._put(EPOCH_MS - int(age * 1000) - 1000)

    def add(self) -> None:
        """Let one more job come in, the put of which somebody else makes.

        It is shown at once, for the head of a full queue is far from it; but it costs its
        partition of the index the unit that it does.
        """
        lane = self._put(self._world.clock())
        self._client.index.partitions[Partition(Status.QUEUED, QUEUE, 0, lane).key].writes.spend(1)

    def taken(self, job: Job) -> tuple[int, int]:
        """Strike out a claimed job; return how many older ones wait, and by how much older."""
        due = job.created_at  # all of these were due when they came in
        place = bisect_left(self.waiting, (due, job.id))
        oldest = self.waiting[0][0]
        del self.waiting[place]
        return place, due - oldest

    def _put(self, run_after: int) -> int:
        self._serial += 1
        job_id = (run_after - ids.EPOCH_MS << 12) | self._serial % 2**12
        lane = self._random.randrange(self._lanes)
        self._client.jobs.put_at_once(
            {
                **self._item,
                "id": number(job_id),
                "lane": number(lane),
                "run_after": number(run_after),
                "status_lane": string(Partition(Status.QUEUED, QUEUE, 0, lane).key),
            }
        )
        insort(self.waiting, (run_after, job_id))
        return lane
