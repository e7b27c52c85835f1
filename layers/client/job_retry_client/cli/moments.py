"""Times as people write and read them: their own time zone, and how long from now."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_FROM_NOW = re.compile(r"\+(\d+)([smhd])")
_MILLISECONDS = re.compile(r"\d{5,}")  # fewer digits are a year
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_STEPS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_SHOWN_PARTS = 2


def parse(text: str, now: datetime) -> datetime | int:
    """Read a moment.

    Args:
        text: ``2026-12-01T14:00:00Z``, ``2026-12-01 14:00`` in the local time zone, ``+90s``,
            ``+10m``, ``+2h`` or ``+1d`` from now, or integer milliseconds since 1970.
        now: the time.

    Raises:
        ValueError: it is none of these.
    """
    if _MILLISECONDS.fullmatch(text):
        return int(text)
    try:
        if match := _FROM_NOW.fullmatch(text):
            return now + timedelta(**{_UNITS[match[2]]: int(match[1])})
        # Python 3.10 does not read the Z
        moment = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))
        return moment if moment.tzinfo else moment.astimezone()
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{text!r} is no moment such as 2026-12-01T14:00:00Z, '2026-12-01 14:00' or +10m"
        ) from error


def show(moment: datetime, now: datetime) -> str:
    """Return a moment as ``2026-12-01 14:00:00, in 5 min``, in the local time zone."""
    try:
        local = moment.astimezone()
    except OverflowError:  # at the end of the year 9999
        local = moment
    return f"{local:%Y-%m-%d %H:%M:%S}, {relative(moment, now)}"


def relative(moment: datetime, now: datetime) -> str:
    """Return how long it is to a moment, or since: ``in 1 h 59 min``, ``3 d ago``, ``now``."""
    seconds = round((moment - now).total_seconds())
    left = abs(seconds)
    parts: list[str] = []
    for unit, size in _STEPS:
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {unit}" if count else "")
        if len(parts) == _SHOWN_PARTS:
            break
    words = " ".join(filter(None, parts))
    if not words:
        return "now"
    return f"in {words}" if seconds > 0 else f"{words} ago"
