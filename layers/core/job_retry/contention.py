"""How hard others press for the same jobs, as this warm process has felt it."""

from random import Random

from job_retry.store import Row

CALM_ROWS = 25
"""Rows to look at while alone; about forty cost half a read unit."""

MAX_ROWS = 200
"""Rows to look at under the hardest press: 2.5 read units, a twentieth of a job's price."""

_WIDER = 2.0  # times, for each write that was lost
_NARROWER = 0.985  # times, for each that was not: two lost in a hundred hold the width
_WEIGHT = 0.1  # of the latest write in the share of lost ones
_DOUBTFUL = 0.2  # of writes lost: five records to look at cost no more than half a lost write
_GONE_MS = 1000  # an index shows a job that was taken for milliseconds more, rarely for longer


class Contention:
    """Adapts the choice: oldest first while alone, at random among more rows under press.

    The index shows a job for a moment after it was taken, and to write for it then is a
    write lost. Of n rows that all choose from at random, the share of such rows is the
    smaller, the larger n is. Where no more rows are due, only the record itself tells.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._rows = float(CALM_ROWS)
        self._lost = 0.0
        self._gone: dict[tuple[int, int], int] = {}

    @property
    def rows(self) -> int:
        """How many rows to look at."""
        return int(self._rows)

    @property
    def alone(self) -> bool:
        """Whether no write was lost for a while: the oldest job is then the one to take."""
        return self.rows == CALM_ROWS

    @property
    def doubtful(self) -> bool:
        """Whether so many writes are lost that a look at the record first is cheaper."""
        return self._lost > _DOUBTFUL

    def order(self, rows: list[Row], at_most: int) -> list[Row]:
        """Return candidates in the order to try them."""
        if self.alone:
            return sorted(rows, key=lambda row: row.run_after)[:at_most]
        return self._random.sample(rows, min(len(rows), at_most))

    def won(self, row: Row, now: int) -> None:
        """Note a job that we took."""
        self._rows = max(self._rows * _NARROWER, CALM_ROWS)
        self._lost -= self._lost * _WEIGHT
        self.gone(row, now)

    def lost(self, row: Row, now: int) -> None:
        """Note a job that another took from under us."""
        self._rows = min(self._rows * _WIDER, MAX_ROWS)
        self._lost += (1 - self._lost) * _WEIGHT
        self.gone(row, now)

    def gone(self, row: Row, now: int) -> None:
        """Note that a row is out of date; the index will show it for a moment yet."""
        while self._gone:  # the earliest stand first
            first = next(iter(self._gone))
            if self._gone[first] > now - _GONE_MS:
                break
            del self._gone[first]
        self._gone[row.id, row.run_after] = now

    def is_gone(self, row: Row, now: int) -> bool:
        """Say whether this very row was taken a moment ago.

        The same job queued again has another run_after, and so is another row; but for one
        whose lease ended, which stands where it stood. That is mostly later than it is doubted.
        """
        noted_at = self._gone.get((row.id, row.run_after))
        return noted_at is not None and now - _GONE_MS < noted_at < now
