"""How much a partition carries."""

from __future__ import annotations

WRITE_UNITS = 1000.0
"""Write units a second of one partition."""

READ_UNITS = 3000.0
"""Read units a second of one partition."""

_SAVED_SECONDS = 0.1  # of unused units that a partition keeps: DynamoDB's burst is left out


class Bucket:
    """Units that come in steadily and are spent by calls."""

    __slots__ = ("_at", "_rate", "_units")

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._units = rate * _SAVED_SECONDS
        self._at = 0.0

    def has(self, units: float, now: float) -> bool:
        """Say whether a call of so many units may go on."""
        gained = self._units + (now - self._at) * self._rate
        self._units = min(gained, self._rate * _SAVED_SECONDS)
        self._at = now
        return self._units >= units

    def spend(self, units: float) -> None:
        """Take units out, perhaps more than there are: later calls then wait longer."""
        self._units -= units
