"""The numbers that a worker is given, looked at before it begins, and how long threads may wait."""

from __future__ import annotations

import math
from threading import TIMEOUT_MAX

_LONGEST_SECONDS = TIMEOUT_MAX / 2  # so that what a wait has left cannot come to more again


def count(name: str, given: int) -> int:
    """Return a number that is whole and 1 or more.

    Raises:
        TypeError, ValueError: it is not.
    """
    if not isinstance(given, int):
        raise TypeError(f"{name} must be an integer, not {given!r}")
    if given < 1:
        raise ValueError(f"{name} must be 1 or more, not {given}")
    return given


def seconds(name: str, given: float, least: float = 0.0) -> float:
    """Return a time that is at least so long; infinity is one, NaN is none.

    One that Python cannot wait for comes to infinity.

    Raises:
        TypeError, ValueError: it is not.
    """
    if not isinstance(given, (int, float)):
        raise TypeError(f"{name} must be a number, not {given!r}")
    if not given >= least:
        raise ValueError(f"{name} must be {least:g} or more, not {given}")
    return given if given <= _LONGEST_SECONDS else math.inf


def wait_of(given: float | None) -> float | None:
    """Return how long a thread is to wait: None for ever, as also where Python knows no such time.

    That begins at some 146 years, on Windows at 24 days.
    """
    return None if given is None or given > _LONGEST_SECONDS else given
