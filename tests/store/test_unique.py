"""Unique keys: taken with the job or not at all, freed by whoever still holds them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session

from bench.units import Meter
from job_retry import decisions
from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.errors import (
    KeyReusedError,
    KeyTakenByOtherError,
    StateError,
    StoreError,
    WrongStatusError,
)
from job_retry.job import Job, KeyRecord, NewJob, Status
from job_retry.listing import ListRequest
from job_retry.producing import Enqueued
from job_retry.store import ChangedError, IdTakenError, KeyTakenError, Row, partition_of
from job_retry.unique import KeyWrite
from tests.store.builders import (
    LARGE,
    NOW,
    dynamo_client,
    dynamo_store,
    failure,
    job_in,
    queued_job,
    unique_queue,
)
from tests.store.lost import LostAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from job_retry.decisions import Change
    from job_retry.store import JobStore
    from tests.conftest import MakeTables, Tables

HOUR_MS = 3_600_000
PAYLOAD = '{"user_id":42,"template":"welcome","locale":"en"}'


def record_of(key: str, job: Job, *, turn: int = 0, until: int = 0) -> KeyRecord:
    """Return a key's record, as the job that takes it has it."""
    return KeyRecord(key, job.id, turn, "content", until)


def fresh_key() -> str:
    """Return a key that no other test has."""
    return f"unique#{unique_queue()}#k"


def holding(store: JobStore, key: str, *, until: int = 0, **fields: Any) -> Job:
    """Store a job with its key, and return it."""
    job = queued_job(**fields)
    job = replace(job, unique=record_of(key, job, until=until))
    assert job.unique is not None
    store.add(job, [KeyWrite(job.unique)])
    return job


def requeue(job: Job, *, key_seen: KeyRecord | None = None) -> Change:
    """Return the change that a requeue makes."""
    return decisions.requeue(
        job, run_after=None, fingerprint="r" * 24, now=NOW + 1, key_seen=key_seen
    )


def dead_holder(store: JobStore, key: str, *, until: int = 0) -> Job:
    """Return a stored dead job that had a key and has not freed it."""
    job = job_in(Status.DEAD)
    job = replace(job, unique=record_of(key, job, until=until))
    assert job.unique is not None
    store.add(job, [KeyWrite(job.unique)])
    return job


# -- taken with the job ----------------------------------------------------------------


@pytest.mark.parametrize("payload", ["1", LARGE], ids=["small", "large"])
def test_a_job_comes_with_its_keys(store: JobStore, payload: str) -> None:
    job = queued_job(payload=payload)
    unique = record_of(fresh_key(), job, until=NOW + 5)
    other = record_of(fresh_key(), job, until=NOW + HOUR_MS)
    job = replace(job, unique=unique)
    store.add(job, [KeyWrite(other, goes_by_itself=True), KeyWrite(unique)])
    assert store.read_whole(job.id) == (job, [])
    assert store.read_key(unique.key) == unique
    assert store.read_key(other.key) == other


@pytest.mark.parametrize("payload", ["1", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("at", [0, 1])
def test_a_key_that_is_taken_keeps_the_job_out(store: JobStore, payload: str, at: int) -> None:
    taken = fresh_key()
    first = holding(store, taken)
    job = queued_job(payload=payload)
    free = record_of(fresh_key(), job)
    keys = [KeyWrite(free)]
    keys.insert(at, KeyWrite(record_of(taken, job)))
    with pytest.raises(KeyTakenError) as refused:
        store.add(job, keys)
    assert refused.value.records == [first.unique]
    assert store.read_whole(job.id) is None
    assert not store.sweep(job.id)
    assert store.read_key(taken) == first.unique
    assert store.read_key(free.key) is None


def test_both_keys_that_are_taken_are_told(store: JobStore) -> None:
    first, second = (holding(store, fresh_key()) for _ in range(2))
    assert first.unique is not None
    assert second.unique is not None
    job = queued_job()
    keys = [KeyWrite(each._replace(job_id=job.id)) for each in (first.unique, second.unique)]
    with pytest.raises(KeyTakenError) as refused:
        store.add(job, keys)
    assert refused.value.records == [first.unique, second.unique]


def test_the_same_job_and_keys_again_are_no_collision(store: JobStore) -> None:
    job = holding(store, fresh_key(), payload=LARGE)
    assert job.unique is not None
    store.add(job, [KeyWrite(job.unique)])
    assert store.read_whole(job.id) == (job, [])


def test_an_id_is_given_once_with_keys_too(store: JobStore) -> None:
    first = holding(store, fresh_key(), payload=LARGE)
    second = replace(queued_job(payload="2"), id=first.id)
    free = record_of(fresh_key(), second)
    with pytest.raises(IdTakenError):
        store.add(second, [KeyWrite(free)])
    assert store.read_whole(first.id) == (first, [])
    assert store.read_key(free.key) is None


# -- written over ----------------------------------------------------------------------


def test_a_record_is_written_over_by_who_has_seen_it(store: JobStore) -> None:
    key = fresh_key()
    first = holding(store, key)
    second = queued_job()
    record = record_of(key, second)
    store.add(second, [KeyWrite(record, first.unique)])
    assert store.read_key(key) == record


def test_a_record_that_is_gone_is_as_good(store: JobStore) -> None:
    key = fresh_key()
    first = holding(store, key)
    assert first.unique is not None
    store.free_key(first.unique, NOW)
    second = queued_job()
    store.add(second, [KeyWrite(record_of(key, second), first.unique)])
    assert store.read_key(key) == record_of(key, second)


@pytest.mark.parametrize("turn", [0, 1])
def test_a_record_is_not_written_over_by_who_saw_another(store: JobStore, turn: int) -> None:
    key = fresh_key()
    first = holding(store, key)
    second = queued_job()
    seen = record_of(key, first if turn else queued_job(), turn=turn)
    with pytest.raises(KeyTakenError) as refused:
        store.add(second, [KeyWrite(record_of(key, second), seen)])
    assert refused.value.records == [first.unique]
    assert store.read(second.id, consistent=True) is None


def test_a_key_is_taken_without_a_job(store: JobStore) -> None:
    key = fresh_key()
    first, second = (record_of(key, queued_job()) for _ in range(2))
    store.take_key(KeyWrite(first))
    with pytest.raises(KeyTakenError) as refused:
        store.take_key(KeyWrite(second))
    assert refused.value.records == [first]
    assert store.read_key(key) == first
    store.take_key(KeyWrite(second, first))
    assert store.read_key(key) == second


# -- freed -----------------------------------------------------------------------------


@pytest.mark.parametrize("until", [0, NOW - 1, NOW])
def test_a_key_is_freed_when_its_time_is_over(store: JobStore, until: int) -> None:
    key = fresh_key()
    job = holding(store, key, until=until)
    assert job.unique is not None
    store.free_key(job.unique, NOW)
    assert store.read_key(key) is None
    store.free_key(job.unique, NOW)  # again, as after a lost answer


def test_a_key_is_kept_for_its_time(store: JobStore) -> None:
    key = fresh_key()
    job = holding(store, key, until=NOW + 1)
    assert job.unique is not None
    store.free_key(job.unique, NOW)
    assert store.read_key(key) == job.unique


@pytest.mark.parametrize("until", [0, NOW + HOUR_MS])
def test_another_job_or_turn_does_not_free_it(store: JobStore, until: int) -> None:
    key = fresh_key()
    job = holding(store, key, until=until)
    store.free_key(record_of(key, queued_job(), until=until), NOW)
    store.free_key(record_of(key, job, turn=1, until=until), NOW)
    assert store.read_key(key) == job.unique


def test_freeing_what_is_not_there_makes_nothing(store: JobStore) -> None:
    key = fresh_key()
    for until in (0, NOW + HOUR_MS):
        store.free_key(record_of(key, queued_job(), until=until), NOW)
        assert store.read_key(key) is None


def test_what_goes_by_itself_has_a_time_and_nothing_else(dynoxide_url: str, tables: Tables) -> None:
    """DynamoDB drops what it finds past its time: a live job's record must name none."""
    store, client = dynamo_store(dynoxide_url, tables), dynamo_client(dynoxide_url)

    def expires_at(key: str) -> int | None:
        item = client.get_item(
            TableName=tables.control, Key={"pk": {"S": key}, "sk": {"S": "key"}}
        )["Item"]
        return int(item["expires_at"]["N"]) if "expires_at" in item else None

    until = NOW + HOUR_MS
    job = queued_job()
    passing = record_of(fresh_key(), job, until=until)
    store.add(job, [KeyWrite(passing, goes_by_itself=True)])
    assert expires_at(passing.key) == until // 1000 + 1
    key = fresh_key()
    dead = dead_holder(store, key, until=until)
    assert dead.unique is not None
    assert expires_at(key) is None
    store.free_key(dead.unique, NOW)
    assert expires_at(key) == until // 1000 + 1
    store.apply(requeue(dead, key_seen=dead.unique))
    assert expires_at(key) is None


# -- requeue ---------------------------------------------------------------------------


def test_a_requeue_takes_its_key(store: JobStore) -> None:
    key = fresh_key()
    dead = dead_holder(store, key)
    assert dead.unique is not None
    store.free_key(dead.unique, NOW)
    queued = store.apply(requeue(dead))
    turned = dead.unique._replace(turn=dead.failures)
    assert queued.unique == turned != dead.unique
    assert queued.status is Status.QUEUED
    assert store.read_whole(dead.id) == (queued, [])
    assert store.read_key(key) == turned


def test_a_requeue_takes_over_its_own_key(store: JobStore) -> None:
    key = fresh_key()
    dead = dead_holder(store, key)
    with pytest.raises(KeyTakenError) as refused:
        store.apply(requeue(dead))
    assert refused.value.records == [dead.unique]
    assert store.read(dead.id, consistent=True) == dead
    queued = store.apply(requeue(dead, key_seen=dead.unique))
    assert store.read_key(key) == queued.unique


def test_a_requeue_whose_key_is_anothers_changes_nothing(store: JobStore) -> None:
    key = fresh_key()
    dead = dead_holder(store, key)
    other = queued_job()
    store.add(other, [KeyWrite(record_of(key, other), dead.unique)])
    for seen in (None, dead.unique):
        with pytest.raises(KeyTakenError) as refused:
            store.apply(requeue(dead, key_seen=seen))
        assert refused.value.records == [record_of(key, other)]
    assert store.read_whole(dead.id) == (dead, [])
    queued = store.apply(requeue(dead, key_seen=record_of(key, other)))
    assert store.read_key(key) == queued.unique


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.DEAD])
def test_a_job_that_is_not_dead_takes_no_key(store: JobStore, status: Status) -> None:
    key = fresh_key()
    read = job_in(Status.DEAD)
    read = replace(read, unique=record_of(key, read))
    job = replace(job_in(status), id=read.id, unique=read.unique, fingerprint="another's")
    store.add(job)
    with pytest.raises(ChangedError) as changed:
        store.apply(requeue(read))
    assert changed.value.job is not None
    assert changed.value.job.status is status
    assert store.read_key(key) is None


def test_a_late_free_does_not_free_what_a_requeue_took(store: JobStore) -> None:
    key = fresh_key()
    dead = dead_holder(store, key)
    assert dead.unique is not None
    queued = store.apply(requeue(dead, key_seen=dead.unique))
    store.free_key(dead.unique, NOW)
    assert store.read_key(key) == queued.unique


def test_turns_never_come_again(store: JobStore) -> None:
    key = fresh_key()
    job = dead_holder(store, key)
    turns = []
    for number in range(3):
        assert job.unique is not None
        turns.append(job.unique.turn)
        queued = store.apply(requeue(job, key_seen=job.unique))
        row = Row(queued.id, queued.job_type, queued.run_after, partition_of(queued))
        claimed = store.claim(
            row, lease_token=f"{number}", worker_id=None, lease_seconds=None, now=NOW + 1
        )
        job = store.apply(failure(claimed, retry=False))
    assert turns == sorted(set(turns))


# -- between two steps of the engine ---------------------------------------------------


class Interrupted:
    """A store in which something else happens just before chosen writes, once each."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._before: dict[str, Callable[[], object]] = {}

    def before(self, verb: str, intruder: Callable[[], object]) -> None:
        """Let this happen before the next call of a verb."""
        self._before[verb] = intruder

    def all_happened(self) -> bool:
        """Say whether every intruder had its turn."""
        return not self._before

    def __getattr__(self, name: str) -> Any:
        """Do as the store does."""
        verb = getattr(self._store, name)

        def call(*arguments: Any, **more: Any) -> Any:
            if name in self._before:
                self._before.pop(name)()
            return verb(*arguments, **more)

        return call


class Scene:
    """A queue, a key, and two callers: we, who are interrupted, and the others."""

    def __init__(self, store: JobStore) -> None:
        self.store = Interrupted(store)
        self.now = NOW
        self.queue = unique_queue()
        ours: Any = self.store
        self.engine = Engine(ours, clock=lambda: self.now, random=Random(self.queue))
        self.others = Engine(store, clock=lambda: self.now, random=Random(f"{self.queue} too"))

    def new(self, **fields: Any) -> NewJob:
        """Return the job that is asked for."""
        given: dict[str, Any] = {"job_type": "mail", "queue": self.queue, "unique_key": "k"}
        return NewJob(**{**given, "backoff_seconds": 0, **fields})

    def live(self) -> list[int]:
        """Return the jobs that are queued or running."""
        listed = self.others.list_jobs(ListRequest(queue=self.queue)).jobs
        return [job.id for job in listed if job.status in (Status.QUEUED, Status.RUNNING)]

    def ended(self, status: Status, **fields: Any) -> Job:
        """Return a job of the key that has ended."""
        job = self.others.enqueue(self.new(**fields))
        if status is Status.CANCELLED:
            return self.others.cancel(job.id)
        [running] = self.others.claim(ClaimRequest(queues=[self.queue])).jobs
        if status is Status.DEAD:
            return self.others.fail(running.id, error="e", retry=False)
        return self.others.complete(running.id)

    def unfreed(self, status: Status) -> Job:
        """Return the same, of a caller that broke off before it freed the key."""
        job = self.ended(status)
        assert job.unique is not None
        # a key's record comes with a job only
        filler = replace(queued_job(queue=self.queue), status=Status.CANCELLED)
        self.store.add(filler, [KeyWrite(job.unique)])
        return job


@pytest.fixture
def scene(store: JobStore) -> Scene:
    """A queue of its own on each store."""
    return Scene(store)


ENDED = [Status.COMPLETED, Status.DEAD, Status.CANCELLED]


@pytest.mark.parametrize("status", ENDED)
def test_what_was_not_freed_blocks_nobody(scene: Scene, status: Status) -> None:
    first = scene.unfreed(status)
    second = scene.engine.enqueue_once(scene.new())
    assert not second.is_duplicate
    assert second.job.id != first.id
    assert scene.engine.enqueue_once(scene.new()) == Enqueued(second.job, is_duplicate=True)
    assert scene.live() == [second.job.id]


def test_what_was_not_freed_of_a_deleted_job_blocks_nobody(scene: Scene) -> None:
    first = scene.unfreed(Status.COMPLETED)
    scene.others.delete(first.id)
    assert not scene.engine.enqueue_once(scene.new()).is_duplicate


def test_a_free_that_fails_does_not_fail_the_settlement(scene: Scene) -> None:
    def fail() -> None:
        raise StoreError

    scene.engine.enqueue(scene.new())
    [running] = scene.engine.claim(ClaimRequest(queues=[scene.queue])).jobs
    scene.store.before("free_key", fail)
    assert scene.engine.complete(running.id).status is Status.COMPLETED
    assert scene.store.all_happened()
    assert not scene.engine.enqueue_once(scene.new()).is_duplicate


def test_an_enqueue_amid_an_enqueue(scene: Scene) -> None:
    made: list[Enqueued] = []
    scene.store.before("add", lambda: made.append(scene.others.enqueue_once(scene.new())))
    ours = scene.engine.enqueue_once(scene.new())
    assert (ours.is_duplicate, made[0].is_duplicate) == (True, False)
    assert scene.live() == [ours.job.id] == [made[0].job.id]


def test_the_same_request_amid_a_request_that_found_a_job(scene: Scene) -> None:
    first = scene.others.enqueue(scene.new())

    def ask() -> None:
        scene.others.cancel(first.id)
        scene.others.enqueue(scene.new(idempotency_key="r1"))

    scene.store.before("take_key", ask)
    ours = scene.engine.enqueue_once(scene.new(idempotency_key="r1"))
    assert scene.store.all_happened()
    assert ours.is_duplicate
    assert scene.live() == [ours.job.id]


def test_another_enqueue_amid_an_enqueue(scene: Scene) -> None:
    scene.store.before("add", lambda: scene.others.enqueue(scene.new(payload="2")))
    with pytest.raises(KeyReusedError):
        scene.engine.enqueue_once(scene.new())
    assert len(scene.live()) == 1


def test_an_enqueue_writes_over_what_another_has_written_over(scene: Scene) -> None:
    scene.unfreed(Status.COMPLETED)
    # the key is seen as free; before the second try another takes it
    scene.store.before(
        "read",
        lambda: scene.store.before("add", lambda: scene.others.enqueue_once(scene.new())),
    )
    ours = scene.engine.enqueue_once(scene.new())
    assert scene.store.all_happened()
    assert ours.is_duplicate
    assert scene.live() == [ours.job.id]


def test_a_requeue_before_an_enqueue_writes_over_its_key(scene: Scene) -> None:
    dead = scene.unfreed(Status.DEAD)
    scene.store.before(
        "read", lambda: scene.store.before("add", lambda: scene.others.requeue(dead.id))
    )
    ours = scene.engine.enqueue_once(scene.new())
    assert scene.store.all_happened()
    assert (ours.job.id, ours.is_duplicate) == (dead.id, True)
    assert scene.live() == [dead.id]


@pytest.mark.parametrize("status", ENDED)
def test_a_holder_that_ends_before_it_is_looked_at(scene: Scene, status: Status) -> None:
    first = scene.others.enqueue(scene.new())

    def end() -> None:
        if status is Status.CANCELLED:
            scene.others.cancel(first.id)
            return
        scene.others.claim(ClaimRequest(queues=[scene.queue]))
        if status is Status.DEAD:
            scene.others.fail(first.id, error="e", retry=False)
        else:
            scene.others.complete(first.id)
            scene.others.delete(first.id)

    scene.store.before("read", end)
    ours = scene.engine.enqueue_once(scene.new())
    assert scene.store.all_happened()
    assert not ours.is_duplicate
    assert scene.live() == [ours.job.id]
    assert scene.others.enqueue_once(scene.new()) == Enqueued(ours.job, is_duplicate=True)


@pytest.mark.parametrize("freed", [True, False])
def test_an_enqueue_amid_a_requeue(scene: Scene, *, freed: bool) -> None:
    dead = scene.ended(Status.DEAD) if freed else scene.unfreed(Status.DEAD)
    made: list[Job] = []
    scene.store.before("apply", lambda: made.append(scene.others.enqueue(scene.new())))
    with pytest.raises(KeyTakenByOtherError) as refused:
        scene.engine.requeue(dead.id)
    assert refused.value.job_id == made[0].id == scene.live()[0]
    assert len(scene.live()) == 1
    assert scene.others.get(dead.id)[0].status is Status.DEAD


def test_an_enqueue_between_the_two_tries_of_a_requeue(scene: Scene) -> None:
    dead = scene.unfreed(Status.DEAD)
    made: list[Job] = []

    def second_try() -> None:
        scene.store.before("apply", lambda: made.append(scene.others.enqueue(scene.new())))

    scene.store.before("apply", lambda: scene.store.before("read", second_try))
    with pytest.raises(KeyTakenByOtherError) as refused:
        scene.engine.requeue(dead.id)
    assert scene.store.all_happened()
    assert refused.value.job_id == made[0].id
    assert scene.live() == [made[0].id]


def test_a_requeue_amid_a_requeue(scene: Scene) -> None:
    dead = scene.ended(Status.DEAD)
    scene.store.before("apply", lambda: scene.others.requeue(dead.id))
    with pytest.raises(WrongStatusError):
        scene.engine.requeue(dead.id)
    found = scene.others.enqueue_once(scene.new())
    assert (found.job.id, found.is_duplicate) == (dead.id, True)


def test_a_holder_that_ends_amid_a_requeue_of_another(scene: Scene) -> None:
    dead = scene.ended(Status.DEAD)
    other = scene.others.enqueue(scene.new())
    scene.store.before("apply", lambda: scene.others.cancel(other.id))
    assert scene.engine.requeue(dead.id).status is Status.QUEUED
    assert scene.live() == [dead.id]


@pytest.mark.parametrize("verb", ["complete", "fail", "cancel", "expire"])
@pytest.mark.parametrize("seconds", [0, 3600])
def test_a_late_free_frees_nothing_of_the_next_holder(
    scene: Scene, verb: str, seconds: int
) -> None:
    if seconds and verb != "fail":
        return  # the key is not free yet
    job = scene.engine.enqueue(
        scene.new(max_attempts=1, lease_seconds=1, unique_for_seconds=seconds)
    )
    next_holder: list[Job] = []

    def take() -> None:
        if verb in ("fail", "expire"):
            next_holder.append(scene.others.requeue(job.id))
        else:
            next_holder.append(scene.others.enqueue(scene.new()))

    if verb == "cancel":
        scene.store.before("free_key", take)
        scene.engine.cancel(job.id)
    else:
        scene.engine.claim(ClaimRequest(queues=[scene.queue]))
        scene.store.before("free_key", take)
        match verb:
            case "complete":
                scene.engine.complete(job.id)
            case "fail":
                scene.engine.fail(job.id, error="e")
            case _:
                scene.now += 1001
                scene.engine.claim(ClaimRequest(queues=[scene.queue]))
    assert scene.store.all_happened()
    found = scene.others.enqueue_once(scene.new())
    assert (found.job.id, found.is_duplicate) == (next_holder[0].id, True)
    assert scene.live() == [next_holder[0].id]


# -- lost answers ----------------------------------------------------------------------


@pytest.fixture
def _no_pause_between_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _seconds: None)


no_pause = pytest.mark.usefixtures("_no_pause_between_retries")


@pytest.fixture
def dynamo_scene(dynoxide_url: str, tables: Tables) -> Scene:
    """A queue on dynoxide."""
    return Scene(dynamo_store(dynoxide_url, tables))


@no_pause
@pytest.mark.parametrize("payload", ["1", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("idempotency_key", [None, "r1"])
def test_an_enqueue_whose_answer_is_lost_makes_one_job(
    dynoxide_url: str, dynamo_scene: Scene, payload: str, idempotency_key: str | None
) -> None:
    new = dynamo_scene.new(payload=payload, idempotency_key=idempotency_key)
    with LostAnswer(dynamo_client(dynoxide_url), "TransactWriteItems"):
        made = dynamo_scene.engine.enqueue_once(new)
    assert not made.is_duplicate
    assert dynamo_scene.live() == [made.job.id]
    assert dynamo_scene.engine.get(made.job.id) == (made.job, [])
    assert dynamo_scene.engine.enqueue_once(new).job.id == made.job.id


@no_pause
@pytest.mark.parametrize("taken_again", [False, True])
def test_an_enqueue_knows_its_job_even_when_others_have_finished_it(
    dynoxide_url: str, dynamo_scene: Scene, *, taken_again: bool
) -> None:
    def finish() -> None:
        [job] = dynamo_scene.others.claim(ClaimRequest(queues=[dynamo_scene.queue])).jobs
        dynamo_scene.others.complete(job.id)
        if taken_again:
            dynamo_scene.others.enqueue(dynamo_scene.new())

    with LostAnswer(dynamo_client(dynoxide_url), "TransactWriteItems", meanwhile=finish):
        made = dynamo_scene.engine.enqueue_once(dynamo_scene.new())
    assert not made.is_duplicate
    assert dynamo_scene.engine.get(made.job.id)[0].status is Status.COMPLETED
    assert len(dynamo_scene.live()) == int(taken_again)


@no_pause
@pytest.mark.parametrize("claimed_meanwhile", [False, True])
def test_a_requeue_whose_answer_is_lost_takes_its_key_once(
    dynoxide_url: str, dynamo_scene: Scene, *, claimed_meanwhile: bool
) -> None:
    dead = dynamo_scene.ended(Status.DEAD)

    def claim() -> None:
        if claimed_meanwhile:
            dynamo_scene.others.claim(ClaimRequest(queues=[dynamo_scene.queue]))

    with LostAnswer(dynamo_client(dynoxide_url), "TransactWriteItems", meanwhile=claim):
        dynamo_scene.engine.requeue(dead.id)
    assert dynamo_scene.engine.get(dead.id)[0].attempts == int(claimed_meanwhile)
    found = dynamo_scene.engine.enqueue_once(dynamo_scene.new())
    assert (found.job.id, found.is_duplicate) == (dead.id, True)


@no_pause
@pytest.mark.parametrize("taken_again", [False, True])
def test_a_free_whose_answer_is_lost_frees_once(
    dynoxide_url: str, dynamo_scene: Scene, *, taken_again: bool
) -> None:
    job = dynamo_scene.engine.enqueue(dynamo_scene.new())

    def take() -> None:
        if taken_again:
            dynamo_scene.others.enqueue(dynamo_scene.new())

    with LostAnswer(dynamo_client(dynoxide_url), "DeleteItem", meanwhile=take):
        dynamo_scene.engine.cancel(job.id)
    assert dynamo_scene.engine.enqueue_once(dynamo_scene.new()).is_duplicate is taken_again
    assert len(dynamo_scene.live()) == 1


@no_pause
@pytest.mark.parametrize("freed_meanwhile", [False, True])
def test_a_request_is_remembered_though_the_answer_is_lost(
    dynoxide_url: str, dynamo_scene: Scene, *, freed_meanwhile: bool
) -> None:
    first = dynamo_scene.others.enqueue(dynamo_scene.new())

    def end() -> None:
        if freed_meanwhile:
            dynamo_scene.others.cancel(first.id)

    request = dynamo_scene.new(idempotency_key="r1")
    with LostAnswer(dynamo_client(dynoxide_url), "PutItem", meanwhile=end):
        assert dynamo_scene.engine.enqueue_once(request).job.id == first.id
    again = dynamo_scene.engine.enqueue_once(request)
    assert (again.job.id, again.is_duplicate) == (first.id, True)


class InProgress:
    """Loses a transaction's answer, and lets its repetitions hear that it is still at work."""

    def __init__(self, url: str) -> None:
        self._events: Any = dynamo_client(url).meta.events
        self._token = ""

    def __enter__(self) -> None:
        self._events.register("before-send.dynamodb.TransactWriteItems", self._on_send)

    def __exit__(self, *_: object) -> None:
        self._events.unregister("before-send.dynamodb.TransactWriteItems", self._on_send)

    def _on_send(self, request: Any, **_: Any) -> AWSResponse | None:
        token = json.loads(request.body)["ClientRequestToken"]
        if not self._token:
            self._token = token
            assert URLLib3Session().send(request).status_code == 200
        return _still_at_work(request.url) if token == self._token else None


def _still_at_work(url: str) -> AWSResponse:
    kind = "com.amazonaws.dynamodb.v20120810#TransactionInProgressException"
    headers: Any = {"content-type": "application/x-amz-json-1.0"}
    answer: Any = AWSResponse(url, 400, headers, raw=None)
    answer._content = json.dumps({"__type": kind, "Message": "in progress"}).encode()
    return answer  # type: ignore[no-any-return]


@no_pause
@pytest.mark.parametrize("payload", ["1", LARGE], ids=["small", "large"])
def test_a_transaction_that_goes_on_by_itself_makes_one_whole_job(
    dynoxide_url: str, dynamo_scene: Scene, payload: str
) -> None:
    """Refused or answered with that job: but what the transaction wrote must be whole."""
    with InProgress(dynoxide_url), suppress(StoreError):
        dynamo_scene.engine.enqueue_once(dynamo_scene.new(payload=payload))
    [job_id] = dynamo_scene.live()
    assert dynamo_scene.engine.get(job_id)[0].payload.text == payload


# -- races -----------------------------------------------------------------------------

SIDES = 20


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make calls at the same moment, each in a thread of its own."""
    barrier = Barrier(len(calls))

    def make(call: Callable[[], Any]) -> Any:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(make, calls))


@pytest.mark.parametrize("payload", ["1", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("unfreed", [False, True])
def test_twenty_threads_with_one_key_make_one_job(
    dynoxide_url: str, tables: Tables, dynamo_scene: Scene, payload: str, *, unfreed: bool
) -> None:
    if unfreed:
        dynamo_scene.unfreed(Status.COMPLETED)
    store = dynamo_store(dynoxide_url, tables)
    engines = [
        Engine(store, clock=lambda: NOW, random=Random(f"{dynamo_scene.queue} {number}"))
        for number in range(SIDES)
    ]
    new = dynamo_scene.new(payload=payload, idempotency_key="r1")
    outcomes = at_once([partial(engine.enqueue_once, new) for engine in engines])
    assert Counter(each.is_duplicate for each in outcomes) == {False: 1, True: SIDES - 1}
    assert len({each.job.id for each in outcomes}) == 1
    assert dynamo_scene.live() == [outcomes[0].job.id]
    assert dynamo_scene.engine.get(outcomes[0].job.id)[0].payload.text == payload


class Racer:
    """One of those who enqueue, settle, requeue and cancel the jobs of one key."""

    def __init__(self, scene: Scene, store: JobStore, number: int) -> None:
        self._new = scene.new()
        self._queue = scene.queue
        self._engine = Engine(store, clock=lambda: NOW, random=Random(number))

    def move(self, random: Random, ids: list[int]) -> Callable[[], object]:
        """Choose what to do next; it returns what came of it, or why it was refused."""
        moves: list[Callable[[], object]] = [self.enqueue, self.enqueue, self.complete, self.kill]
        if ids:
            job_id = random.choice(ids[-5:])
            moves += [
                partial(self._engine.requeue, job_id),
                partial(self._engine.cancel, job_id),
            ]
        return partial(self._try, random.choice(moves))

    def enqueue(self) -> Enqueued:
        """Ask for the job of the key."""
        return self._engine.enqueue_once(self._new)

    def complete(self) -> None:
        """Complete the job, if it can be claimed."""
        for job in self._claim():
            self._engine.complete(job.id, lease_token=job.lease_token)

    def kill(self) -> None:
        """Let it die."""
        for job in self._claim():
            self._engine.fail(job.id, lease_token=job.lease_token, error="e", retry=False)

    def _claim(self) -> list[Job]:
        return self._engine.claim(ClaimRequest(queues=[self._queue])).jobs

    @staticmethod
    def _try(move: Callable[[], object]) -> object:
        try:
            return move()
        except (StateError, KeyTakenByOtherError) as error:
            return type(error).__name__


def told_of(outcome: object) -> str:
    """Return what came of a move, in a word."""
    if isinstance(outcome, Enqueued):
        return "found" if outcome.is_duplicate else "made"
    return outcome if isinstance(outcome, str) else ""


def test_whoever_races_there_is_one_job_at_most(dynoxide_url: str, make_tables: MakeTables) -> None:
    store = dynamo_store(dynoxide_url, make_tables(dynoxide_url))
    scene, random = Scene(store), Random(5)
    racers = [Racer(scene, store, number) for number in range(8)]
    ids: list[int] = []
    told: Counter[str] = Counter()
    for _ in range(40):
        outcomes = at_once([racer.move(random, ids) for racer in racers])
        told.update(map(told_of, outcomes))
        ids += [each.job.id for each in outcomes if told_of(each) == "made"]
        live = scene.live()
        found = scene.others.enqueue_once(scene.new())
        assert len(live) <= 1
        assert found.is_duplicate is bool(live)
        assert not live or found.job.id == live[0]
        ids += [] if live else [found.job.id]
    assert {"found", "made", "KeyTakenByOtherError"} <= told.keys(), told


# -- what it costs ---------------------------------------------------------------------


@pytest.fixture
def engine(dynoxide_url: str, make_tables: MakeTables, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine that knows its queue, and counts no enqueue."""
    monkeypatch.setattr("job_retry.queues.SAMPLE_SHARE", 0)
    ticks = count(NOW)
    engine = Engine(
        dynamo_store(dynoxide_url, make_tables(dynoxide_url)),
        clock=lambda: next(ticks),
        random=Random(1),
    )
    engine.enqueue(NewJob(job_type="warm-up", run_after=NOW + 10**9))
    engine.claim(ClaimRequest())
    return engine


@pytest.fixture
def meter(dynoxide_url: str) -> Meter:
    """A meter on the engine's client."""
    return Meter(dynamo_client(dynoxide_url))


KEYS: dict[str, dict[str, Any]] = {
    "none": {},
    "unique_key": {"unique_key": "welcome-42"},
    "for a time": {"unique_key": "welcome-42", "unique_for_seconds": 3600},
    "idempotency_key": {"idempotency_key": "5f0c0f0e-1d5b-4c36-9c0e-0d4f0f6c9a11"},
    "both": {"unique_key": "welcome-42", "idempotency_key": "r1"},
}
# Write units of enqueue, claim and complete. The transaction doubles what enqueue writes to the
# table, though not to the index, and adds two for each key; freeing a unique key costs one.
COSTS = {
    "none": (2, 3, 3),
    "unique_key": (5, 3, 4),
    "for a time": (5, 3, 4),
    "idempotency_key": (5, 3, 3),
    "both": (7, 3, 4),
}


def new_job(**fields: Any) -> NewJob:
    """Return a job as most are."""
    return NewJob(**{"job_type": "send_welcome_email", "payload": PAYLOAD, **fields})


@pytest.mark.parametrize("keys", KEYS)
def test_only_a_job_with_a_key_pays_for_it(engine: Engine, meter: Meter, keys: str) -> None:
    with meter.reading() as enqueue:
        engine.enqueue(new_job(**KEYS[keys]))
    with meter.reading() as claim:
        [job] = engine.claim(ClaimRequest(worker_id="worker-1")).jobs
    with meter.reading() as complete:
        engine.complete(job.id, lease_token=job.lease_token, result='{"ok":true}')
    assert (enqueue["write"], claim["write"], complete["write"]) == COSTS[keys]
    assert (enqueue["read"], claim["read"], complete["read"]) == (0, 0.5, 0.5)


def test_a_duplicate_reads_the_job_it_finds(engine: Engine, meter: Meter) -> None:
    engine.enqueue(new_job(unique_key="k"))
    with meter.reading() as duplicate:
        assert engine.enqueue_once(new_job(unique_key="k")).is_duplicate
    # no engine here tells what DynamoDB bills for a transaction that it cancels
    assert duplicate == {"read": 1}


def test_a_request_that_finds_a_job_by_another_key_pays_for_its_own(
    engine: Engine, meter: Meter
) -> None:
    engine.enqueue(new_job(unique_key="k"))
    with meter.reading() as duplicate:
        engine.enqueue_once(new_job(unique_key="k", idempotency_key="r"))
    assert duplicate == {"read": 1, "write": 1}


def test_a_duplicate_writes_no_large_payload(engine: Engine, meter: Meter) -> None:
    large = b64encode(Random(1).randbytes(75_000)).decode()
    with meter.reading() as first:
        engine.enqueue(new_job(unique_key="k", payload=large))
    with meter.reading() as duplicate:
        assert engine.enqueue_once(new_job(unique_key="k", payload=large)).is_duplicate
    assert first == {"read": 1, "write": 5 + 75}
    assert duplicate == {"read": 2}


def test_a_death_and_a_requeue_of_a_unique_job(engine: Engine, meter: Meter) -> None:
    engine.enqueue(new_job(unique_key="k"))
    [job] = engine.claim(ClaimRequest()).jobs
    with meter.reading() as retry:
        engine.fail(job.id, error="provider 5xx", retry_in_seconds=0)
    [job] = engine.claim(ClaimRequest()).jobs
    with meter.reading() as death:
        engine.fail(job.id, error="provider 5xx", retry=False)
    with meter.reading() as again:
        engine.requeue(job.id)
    assert retry == {"read": 0.5, "write": 6}
    assert death == {"read": 0.5, "write": 6 + 1}
    assert again == {"read": 0.5, "write": 6}
