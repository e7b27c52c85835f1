"""Every verb with every other one between its read and its write.

What comes of it must be what would have come of the two one after the other, the intruder
first: then no write ever rests on what is no longer so.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.errors import JobRetryError
from job_retry.job import Job, NewJob
from job_retry.memory import MemoryStore
from tests.store.builders import LARGE, NOW, dynamo_store, unique_queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from job_retry.decisions import Change
    from job_retry.job import Attempt
    from job_retry.store import JobStore
    from tests.conftest import MakeTables

GONE = ("JobNotFoundError", "not_found")
LEASE_MS = 60_000


class Intruded:
    """A store in which something else happens just before the next guarded write."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self.intruder: Callable[[], object] | None = None

    def apply(self, change: Change) -> Job:
        """Let the intruder go first, once."""
        self._intrude()
        return self._store.apply(change)

    def delete(self, change: Change) -> None:
        """Let the intruder go first, once."""
        self._intrude()
        self._store.delete(change)

    def __getattr__(self, name: str) -> Any:
        """Do all else as the store does."""
        return getattr(self._store, name)

    def _intrude(self) -> None:
        intruder, self.intruder = self.intruder, None
        if intruder is not None:
            intruder()


class Scene:
    """A job, the lease on it, and all that can be done to it."""

    def __init__(self, store: JobStore) -> None:
        self.store = Intruded(store)
        self.now = NOW
        self.queue = unique_queue()
        self.engine = Engine(self.store, clock=lambda: self.now, random=Random(3))
        self.job = self.engine.enqueue(
            NewJob(
                job_type="mail",
                queue=self.queue,
                max_attempts=2,
                backoff_seconds=0,
                lease_seconds=LEASE_MS // 1000,
            )
        )
        self.token: str | None = None

    def claim(self) -> None:
        """Take the job, if it can be taken; the token of the first claim is kept."""
        jobs = self.engine.claim(ClaimRequest(queues=[self.queue])).jobs
        if jobs and self.token is None:
            self.token = jobs[0].lease_token

    def expire(self) -> None:
        """Let the lease end, and take it up."""
        self.now += LEASE_MS + 1
        self.engine.expire_leases()

    def do(self, verb: str) -> object:
        """Do something to the job; return what came of it."""
        job_id, engine, token = self.job.id, self.engine, self.token
        verbs: dict[str, Callable[[], object]] = {
            "complete": lambda: engine.complete(job_id, lease_token=token, result="1"),
            "complete large": lambda: engine.complete(job_id, lease_token=token, result=LARGE),
            "complete without token": lambda: engine.complete(job_id, result="2"),
            "fail": lambda: engine.fail(job_id, lease_token=token, error="boom"),
            "fail without token": lambda: engine.fail(job_id, error="other"),
            "kill": lambda: engine.fail(job_id, lease_token=token, error="no", retry=False),
            "heartbeat": lambda: engine.heartbeat(
                job_id, lease_token=token, lease_seconds=60, progress="1"
            ),
            "heartbeat without token": lambda: engine.heartbeat(job_id, lease_seconds=9),
            "release": lambda: engine.release(job_id, lease_token=token),
            "cancel": lambda: engine.cancel(job_id),
            "requeue": lambda: engine.requeue(job_id),
            "delete": lambda: engine.delete(job_id),
            "expire": self.expire,
            "claim": self.claim,
        }
        try:
            outcome = verbs[verb]()
        except JobRetryError as error:
            return type(error).__name__, error.code
        return outcome.status if isinstance(outcome, Job) else outcome

    def do_all(self, verbs: Iterable[str]) -> None:
        """Do several things."""
        for verb in verbs:
            self.do(verb)

    def refused_before_writing(self) -> bool:
        """Say whether the intruder never got its turn."""
        return self.store.intruder is not None

    def state(self) -> object:
        """Return all there is of the job, but for its id and what chance had a hand in."""
        found: tuple[Job, list[Attempt]] | None = self.store.read_whole(self.job.id)
        if found is None:
            return None
        job, history = found
        return (
            job.status,
            job.attempts,
            job.run_after,
            job.updated_at,
            job.last_error,
            job.progress,
            job.result and job.result.text,
            job.claimed_at,
            history,
        )


BEGINNINGS = [
    (),
    ("claim",),
    ("claim", "complete"),
    ("claim", "fail"),
    ("claim", "kill"),
    ("cancel",),
]
VERBS = [
    "complete",
    "complete large",
    "complete without token",
    "fail",
    "fail without token",
    "kill",
    "heartbeat",
    "heartbeat without token",
    "release",
    "cancel",
    "requeue",
    "delete",
]
INTRUDERS = [
    *((verb,) for verb in VERBS),
    ("claim",),
    ("expire",),
    ("expire", "claim"),
    ("expire", "claim", "complete without token"),
    ("expire", "claim", "fail without token"),
    ("fail", "claim"),
    ("release", "claim"),
    ("kill", "requeue"),
    ("kill", "requeue", "claim"),
    ("kill", "delete"),
    ("requeue", "claim"),
]


@pytest.mark.parametrize("beginning", BEGINNINGS, ids=" then ".join)
@pytest.mark.parametrize("verb", VERBS)
def test_whoever_writes_first_is_first(
    dynoxide_url: str, make_tables: MakeTables, beginning: tuple[str, ...], verb: str
) -> None:
    tables = make_tables(dynoxide_url)  # few queues: an expiry looks at all there are
    for intruders in INTRUDERS:
        one_by_one = Scene(MemoryStore())
        one_by_one.do_all((*beginning, *intruders))
        expected = one_by_one.do(verb)
        if verb == "delete" and expected == GONE:
            expected = None  # it saw the job, and has what it wanted
        for store in (MemoryStore(), dynamo_store(dynoxide_url, tables)):
            scene = Scene(store)
            scene.do_all(beginning)
            now = scene.now
            scene.store.intruder = partial(scene.do_all, intruders)
            outcome = scene.do(verb)
            if scene.refused_before_writing():
                continue
            told = f"{' then '.join(intruders)} amid {verb}"
            assert outcome == expected, told
            if scene.now == now:  # else the verb took the time before it had passed
                assert scene.state() == one_by_one.state(), told
