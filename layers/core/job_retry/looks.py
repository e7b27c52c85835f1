"""Which lanes to look at: a process remembers what it saw in each, and when."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from job_retry.lanes import Partition

_KNOWN_MS = 1000  # for how long a look tells something
_MAX_BREADTH = 4.0  # lanes of a priority that the first round looks at
_BROADER, _LESS_BROAD = 2.0, 0.9  # times, for a first round in vain and for another


class _Seen(NamedTuple):
    at: int
    head: int | None  # the moment of the first row that was left there; None if there was none


class Looks:
    """What was seen in each lane of each queue.

    A full queue's claim needs one look. In a queue that is nearly empty a look often finds
    nothing: then the next claims begin with a few at once.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._seen: dict[Partition, _Seen] = {}
        self._breadth = 1.0

    def saw(self, partition: Partition, head: int | None, now: int) -> None:
        """Note what a look showed: the moment of the first row left, None if there is none."""
        self._seen[partition] = _Seen(now, head)

    def found(self, *, something: bool) -> None:
        """Note whether the first round of a claim brought a job."""
        if something:
            self._breadth = max(self._breadth * _LESS_BROAD, 1.0)
        else:
            self._breadth = min(self._breadth * _BROADER, _MAX_BREADTH)

    def next_due(self, partitions: Iterable[Partition], now: int) -> int | None:
        """Return when the next job that was seen in these lanes will be due."""
        seen = (self._seen.get(each) for each in partitions)
        heads = [each.head for each in seen if each and each.head is not None and each.head > now]
        return min(heads, default=None)

    def likely(self, lanes: Sequence[Partition], now: int, *, alone: bool) -> list[Partition]:
        """Return the most promising lanes of a priority, to look at first.

        Alone, that is the one with the oldest job seen, and some not seen for a while, for
        there may be an older one. Among others it is the better of two that are drawn: if
        all went for the oldest job, they would be in each other's way.
        """
        if len(lanes) == 1:
            return list(lanes)
        if not alone:
            drawn = [self._better_of_two(lanes, now) for _ in range(int(self._breadth))]
            if chosen := dict.fromkeys(each for each in drawn if each is not None):
                return list(chosen)
        promising = [each for each in lanes if self._may_have_jobs(each, now)]
        if not promising:
            return self.stalest(lanes, int(self._breadth))
        if not alone:
            return promising[: int(self._breadth)]
        known = [each for each in promising if self._is_known(each, now)]
        unknown = [each for each in promising if not self._is_known(each, now)]
        oldest = [min(known, key=self._head)] if known else []
        return [*oldest, *self.stalest(unknown, int(self._breadth))]

    def stalest(
        self, lanes: Iterable[Partition], count: int, *, before: int | None = None
    ) -> list[Partition]:
        """Return the lanes that were not looked at for longest, at random among equals.

        Args:
            lanes: to choose from.
            count: how many at most.
            before: only those that were last looked at before this moment.
        """
        looked = [(self._looked_at(each), self._random.random(), each) for each in lanes]
        if before is not None:
            looked = [each for each in looked if each[0] < before]
        return [lane for _, _, lane in sorted(looked)[:count]]

    def _better_of_two(self, lanes: Sequence[Partition], now: int) -> Partition | None:
        pair = (self._random.choice(lanes), self._random.choice(lanes))
        promising = [each for each in pair if self._may_have_jobs(each, now)]
        return min(promising, key=self._head, default=None)

    def _is_known(self, lane: Partition, now: int) -> bool:
        return self._looked_at(lane) > now - _KNOWN_MS

    def _may_have_jobs(self, lane: Partition, now: int) -> bool:
        """Say whether due jobs were left in a lane, or nothing is known of it."""
        seen = self._seen.get(lane)
        if seen is None or seen.at <= now - _KNOWN_MS:
            return True
        return seen.head is not None and seen.head <= now

    def _head(self, lane: Partition) -> int:
        seen = self._seen.get(lane)
        return 0 if seen is None or seen.head is None else seen.head

    def _looked_at(self, lane: Partition) -> int:
        seen = self._seen.get(lane)
        return 0 if seen is None else seen.at
