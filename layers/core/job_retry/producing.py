"""What a producer asks of the engine: to store a new job."""

from typing import NamedTuple

from job_retry import decisions, ids
from job_retry.deciding import ROUNDS, TOO_BUSY, Deciding
from job_retry.errors import KeyReusedError, StoreBusyError
from job_retry.job import Job, KeyRecord, NewJob
from job_retry.store import IdTakenError, KeyTakenError
from job_retry.transitions import Action
from job_retry.unique import content_of, is_held, new_keys


class Enqueued(NamedTuple):
    """What became of an enqueue.

    Attributes:
        job: the new one, or the one that the key stands for.
        is_duplicate: whether it was there already.
    """

    job: Job
    is_duplicate: bool = False


class Producing(Deciding):
    """The verbs of producers."""

    def enqueue(self, new: NewJob) -> Job:
        """Store a new job and return it, or the one that its key stands for."""
        return self.enqueue_once(new).job

    def enqueue_once(self, new: NewJob) -> Enqueued:
        """Store a new job, unless a key that it comes with stands for another.

        Raises:
            KeyReusedError: the key stands for a job that was asked to do something else.
        """
        record = self._queues.ensure(new.queue, new.priority)
        seen: dict[str, KeyRecord] = {}
        for _ in range(ROUNDS):
            now = self._clock()
            job = decisions.enqueue(
                new,
                record,
                job_id=ids.new_id(now, self._random),
                lane=self._random.randrange(record.lanes_write(now)),
                enqueue_token=f"{self._random.getrandbits(64):016x}",
                now=now,
            )
            try:
                self._store.add(job, new_keys(new, job.id, now, seen))
            except IdTakenError:
                continue
            except KeyTakenError as taken:
                for key in taken.records:
                    holder = self._store.read(key.job_id, consistent=True)
                    if is_held(key, holder, now):
                        return Enqueued(_same_request(new, key, holder), is_duplicate=True)
                    seen[key.key] = key
                continue
            self._observe(Action.ENQUEUE, job)
            self._queues.count(record)
            return Enqueued(job)
        raise StoreBusyError(TOO_BUSY)


def _same_request(new: NewJob, key: KeyRecord, holder: Job | None) -> Job:
    """Return the job that a key stands for, if it is what is asked for again."""
    if key.content != content_of(new):
        raise KeyReusedError(key.job_id, "which has another job_type or payload")
    if holder is None:
        raise KeyReusedError(key.job_id, "which was deleted")
    return holder
