"""What a producer asks of the engine: to store a new job."""

from collections.abc import Sequence
from typing import NamedTuple

from job_retry import decisions, ids
from job_retry.deciding import ROUNDS, TOO_BUSY, Deciding
from job_retry.errors import KeyReusedError, StoreBusyError
from job_retry.job import Job, KeyRecord, NewJob
from job_retry.lanes import QueueRecord
from job_retry.store import IdTakenError, KeyTakenError
from job_retry.transitions import Action
from job_retry.unique import KeyWrite, content_of, is_held, new_keys, request_key


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
            job = self._draw(new, record, now)
            keys = new_keys(new, job.id, now, seen)
            try:
                if job.payload.part is not None:
                    self._look_at(keys)
                self._store.add(job, keys)
            except IdTakenError:
                continue
            except KeyTakenError as taken:
                first = self._first_of(new, taken.records, now, seen)
                if first is not None:
                    return Enqueued(first, is_duplicate=True)
                continue
            self._observe(Action.ENQUEUE, job)
            self._queues.count(record)
            return Enqueued(job)
        raise StoreBusyError(TOO_BUSY)

    def prepare(self, new: NewJob) -> tuple[Job, list[KeyWrite]]:
        """Return a new job and the keys that it takes, for who stores them by other means.

        Nothing of the job is stored, and the observer is not told. That a key is held shows
        when it is written, not here.
        """
        record = self._queues.ensure(new.queue, new.priority)
        now = self._clock()
        job = self._draw(new, record, now)
        keys = [
            write._replace(instead_of=self._left_over(write.record.key, now))
            for write in new_keys(new, job.id, now, {})
        ]
        self._queues.count(record)
        return job, keys

    def _look_at(self, keys: Sequence[KeyWrite]) -> None:
        """See whether keys are taken before a large payload is written in vain.

        Raises:
            KeyTakenError: as the write would.
        """
        known = [(write, self._store.read_key(write.record.key)) for write in keys]
        taken = [record for write, record in known if record and record != write.instead_of]
        if taken:
            raise KeyTakenError(taken)

    def _first_of(
        self, new: NewJob, records: Sequence[KeyRecord], now: int, seen: dict[str, KeyRecord]
    ) -> Job | None:
        """Return the job that a key stands for; None where the keys are to be tried again.

        An idempotency key stands from then on for the job that is the answer, also where it
        was another key that led there.

        Raises:
            KeyReusedError: it was asked to do something else.
        """
        for key in records:
            holder = self._store.read(key.job_id, consistent=True)
            if not is_held(key, holder, now):
                seen[key.key] = key
                continue
            first = _same_request(new, key, holder)
            request = request_key(new, first.id, now, seen)
            if request is not None and request.record.key != key.key:
                try:
                    self._store.take_key(request)
                except KeyTakenError as taken:
                    left = [each for each in taken.records if not is_held(each, None, now)]
                    seen.update((each.key, each) for each in left)
                    return None
            return first
        return None

    def _draw(self, new: NewJob, record: QueueRecord, now: int) -> Job:
        return decisions.enqueue(
            new,
            record,
            job_id=ids.new_id(now, self._random),
            lane=self._random.randrange(record.lanes_write(now)),
            enqueue_token=f"{self._random.getrandbits(64):016x}",
            now=now,
        )

    def _left_over(self, key: str, now: int) -> KeyRecord | None:
        """Return a key's record that nobody cleared away, although it holds no longer."""
        known = self._store.read_key(key)
        if known is None or is_held(known, self._store.read(known.job_id, consistent=True), now):
            return None
        return known


def _same_request(new: NewJob, key: KeyRecord, holder: Job | None) -> Job:
    """Return the job that a key stands for, if it is what is asked for again."""
    if key.content != content_of(new):
        raise KeyReusedError(key.job_id, "which has another job_type or payload")
    if holder is None:
        raise KeyReusedError(key.job_id, "which was deleted")
    return holder
