"""Handing over what was claimed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from job_retry.claiming import ClaimRequest
from job_retry.delivery import MAX_ANSWER_BYTES
from job_retry.errors import StoreBusyError, StoreUnavailableError
from job_retry.job import Status
from job_retry.json_text import encoded_size
from job_retry.memory import MemoryStore
from job_retry.transitions import Action
from job_retry.views import claim_view
from tests.unit.builders import T0, Queue

if TYPE_CHECKING:
    from job_retry.decisions import Change
    from job_retry.job import Document, Job

LAMBDA_ANSWER = 6 * 1024 * 1024
LARGEST = 256 * 1024
WIDE = f'"{"é" * (LARGEST // 2 - 1)}"'  # thrice as long inside Lambda's answer


def enqueue_large(queue: Queue, count: int, payload: str = WIDE) -> list[int]:
    return [queue.enqueue(payload=payload, run_after=T0 - count + n).id for n in range(count)]


def test_payloads_are_handed_over_whole(queue: Queue) -> None:
    jobs = [*enqueue_large(queue, 3), queue.enqueue(payload='"small"').id]
    got = queue.claim(max_jobs=10)
    assert [job.id for job in got] == jobs
    assert [job.payload.text for job in got] == [WIDE] * 3 + ['"small"']


def test_what_is_over_the_limit_is_given_back_at_no_cost(queue: Queue) -> None:
    jobs = enqueue_large(queue, 10)
    fitting = MAX_ANSWER_BYTES // encoded_size(WIDE) - 1  # the answer shows the first one twice
    got = queue.claim(max_jobs=10)
    assert 0 < fitting < 10
    assert [job.id for job in got] == jobs[:fitting]
    for each in jobs[fitting:]:
        record = queue.record(each)
        assert (record.status, record.attempts, record.run_after) == (Status.QUEUED, 0, T0)
        assert queue.history(each) == []
    again = queue.claim(max_jobs=10)
    assert sorted(job.id for job in again) == sorted(jobs[fitting:])
    assert {job.attempts for job in again} == {1}


@pytest.mark.parametrize(
    "payload", [WIDE, '"' + r"\\" * (LARGEST // 2 - 1) + '"', '"' + "😀" * (LARGEST // 4 - 1) + '"']
)
def test_no_claim_is_longer_than_lambda_s_answer_may_be(queue: Queue, payload: str) -> None:
    # the last one just fills what room is left
    for run_after, text in enumerate([payload] * 9 + ['"' + "x" * 700 + '"']):
        job = queue.enqueue(payload=text, run_after=run_after, backoff_seconds=0)
        queue.claim_one(worker_id="é" * 128)
        queue.engine.heartbeat(job.id, progress='"' + "é" * 511 + '"')
        queue.engine.fail(job.id, error="\x01" * 5000)
    taken = queue.engine.claim(ClaimRequest(max_jobs=10, worker_id="é" * 128))
    assert len(taken.jobs) > 1
    assert len(json.dumps({"body": claim_view(taken)})) < LAMBDA_ANSWER


def test_one_job_always_fits(queue: Queue) -> None:
    worst = '"' + r"\\" * (LARGEST // 2 - 1) + '"'
    enqueue_large(queue, 1, worst)
    assert queue.claim_one().payload.text == worst
    assert max(encoded_size(worst), encoded_size(WIDE)) < MAX_ANSWER_BYTES


class UnreadableStore(MemoryStore):
    """A store that does not hand out chosen payloads, and perhaps takes nothing back."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: set[int] = set()
        self.takes_back = True

    def read_document(self, job_id: int, document: Document) -> Document:
        """Fail, or read."""
        if job_id in self.unreadable:
            raise StoreUnavailableError("no answer")
        return super().read_document(job_id, document)

    def apply(self, change: Change) -> Job:
        """Fail to take a job back, or write."""
        if change.transition.action is Action.RELEASE and not self.takes_back:
            raise StoreBusyError("throttled")
        return super().apply(change)


@pytest.fixture
def unreadable() -> UnreadableStore:
    return UnreadableStore()


def test_a_job_whose_payload_cannot_be_read_is_given_back(unreadable: UnreadableStore) -> None:
    queue = Queue(store=unreadable)
    jobs = enqueue_large(queue, 3)
    unreadable.unreadable = {jobs[1]}
    assert [job.id for job in queue.claim(max_jobs=3)] == [jobs[0], jobs[2]]
    record = queue.record(jobs[1])
    assert (record.status, record.attempts) == (Status.QUEUED, 0)


def test_where_none_can_be_read_it_is_an_error_and_all_are_given_back(
    unreadable: UnreadableStore,
) -> None:
    queue = Queue(store=unreadable)
    jobs = enqueue_large(queue, 2)
    unreadable.unreadable = set(jobs)
    with pytest.raises(StoreUnavailableError):
        queue.claim(max_jobs=2)
    assert {(queue.record(each).status, queue.record(each).attempts) for each in jobs} == {
        (Status.QUEUED, 0)
    }


def test_what_cannot_be_given_back_does_not_spoil_the_rest(unreadable: UnreadableStore) -> None:
    queue = Queue(store=unreadable)
    jobs = enqueue_large(queue, 3)
    unreadable.unreadable = {jobs[0]}
    unreadable.takes_back = False
    assert [job.id for job in queue.claim(max_jobs=3)] == jobs[1:]
    assert queue.record(jobs[0]).status is Status.RUNNING


def test_giving_back_works_where_the_token_is_required(unreadable: UnreadableStore) -> None:
    queue = Queue(store=unreadable, require_lease_token=True)
    jobs = enqueue_large(queue, 2)
    unreadable.unreadable = {jobs[0]}
    assert [job.id for job in queue.claim(max_jobs=2)] == [jobs[1]]
    assert queue.record(jobs[0]).status is Status.QUEUED
