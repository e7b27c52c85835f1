"""What the queue can do, by who asks: producers, workers, people, and the clock.

An engine is given its store, its clock and its source of chance, and keeps nothing but a
short memory of what it saw.
"""

from collections.abc import Callable

from job_retry.operating import Operating
from job_retry.producing import Producing
from job_retry.working import Working


class Engine(Producing, Working, Operating):
    """The queue."""

    def expire_leases(self, *, may_go_on: Callable[[], bool] = lambda: True) -> int:
        """Take up every lease that has ended, and return how many; see `Expirer`.

        Then bring the lanes of queues that shrank in order.
        """
        records = self._queues.all()
        expired = self._expirer.expire_all(records, self._clock(), may_go_on)
        for record in records:
            if record.lanes_ever > record.lanes and may_go_on():
                self._queues.settle_lanes(record)
        return expired
