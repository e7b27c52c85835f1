"""Without a network in between: what can stand in the way all the same."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from job_retry import runtime
from job_retry.errors import StoreBusyError, StoreUnavailableError
from job_retry.memory import MemoryStore
from job_retry_client import JobQueue, JobQueueError, NoAnswerError, QueueBusyError, Retries
from job_retry_client.transports.in_process import InProcessTransport
from tests.unit.builders import Queue

if TYPE_CHECKING:
    from job_retry.job import Job


class BrokenStore(MemoryStore):
    """A store whose reads fail so many times."""

    def __init__(self, error: Exception, times: int) -> None:
        super().__init__()
        self.error = error
        self.times = times

    def read(self, job_id: int, *, consistent: bool = False) -> Job | None:
        """Fail, or read."""
        if self.times:
            self.times -= 1
            raise self.error
        return super().read(job_id, consistent=consistent)


def client(store: MemoryStore, pauses: list[float]) -> JobQueue:
    """Return a client of a store."""
    retries = Retries(attempts=3, sleep=pauses.append, draw=lambda: 0.0)
    return JobQueue(InProcessTransport(Queue(store).engine), retries=retries)


@pytest.mark.parametrize("error", [StoreBusyError("busy"), StoreUnavailableError("down")])
def test_a_store_that_is_busy_is_asked_again(error: Exception) -> None:
    pauses: list[float] = []
    queue = client(BrokenStore(error, 2), pauses)
    stored = queue.enqueue("mail")
    assert queue.cancel(stored).status == "cancelled"
    assert pauses == [1, 1]
    queue = client(BrokenStore(error, 3), pauses)
    stored = queue.enqueue("mail")
    with pytest.raises(QueueBusyError):
        queue.cancel(stored)


def test_what_the_queue_has_no_words_for_is_no_answer() -> None:
    error: Any = RuntimeError("AccessDenied")
    queue = client(BrokenStore(error, 99), [])
    stored = queue.enqueue("mail")
    with pytest.raises(NoAnswerError, match="RuntimeError: AccessDenied") as caught:
        queue.cancel(stored)
    assert caught.value.was_sent
    assert caught.value.__cause__ is error


def test_it_needs_the_core_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "job_retry", None)
    with pytest.raises(JobQueueError, match="core layer"):
        JobQueue.connect("in-process:")


def test_it_needs_the_names_of_the_tables() -> None:
    runtime.engine.cache_clear()
    with pytest.raises(JobQueueError, match="JOBS_TABLE"):
        JobQueue.connect("in-process:")
