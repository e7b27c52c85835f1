"""What time it is: always passed in, so that tests can move it."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]
"""Returns the present moment in milliseconds since 1970-01-01 UTC."""

MAX_SECONDS = 100_000_000_000  # a number below is a moment of today in seconds, or of 1973
MAX_MOMENT = 253_402_300_799_999  # the last millisecond of the year 9999

_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def system_clock() -> int:
    """Return the machine's time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def to_rfc3339(moment: int) -> str:
    """Write a moment as RFC 3339 in UTC with milliseconds, e.g. ``2030-01-01T00:00:00.450Z``.

    Args:
        moment: milliseconds since the epoch.
    """
    when = _EPOCH + timedelta(milliseconds=moment)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{moment % 1000:03d}Z"


def from_rfc3339(text: str) -> int:
    """Read a moment as RFC 3339 has it, with an offset; what is finer than 1 ms is dropped.

    Returns:
        Milliseconds since the epoch.

    Raises:
        ValueError: another notation, no offset, or a moment that no calendar has.
    """
    if not _RFC3339.fullmatch(text):
        message = "must be RFC 3339 with an offset, like 2030-01-01T00:00:00Z"
        raise ValueError(message)
    moment = datetime.fromisoformat(text.upper())
    return (moment - _EPOCH) // timedelta(milliseconds=1)
