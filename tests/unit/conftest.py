"""What the unit tests share: a queue in memory whose clock stands still."""

import pytest

from tests.unit.builders import FakeClock, Queue


@pytest.fixture
def queue() -> Queue:
    """An empty queue."""
    return Queue()


@pytest.fixture
def clock(queue: Queue) -> FakeClock:
    """The clock of that queue."""
    return queue.clock
