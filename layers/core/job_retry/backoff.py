"""How long a failed job waits: pure arithmetic."""

from random import Random

MAX_DELAY_SECONDS = 365 * 24 * 3600
"""No delay is longer: 2^999 seconds would not fit any clock."""


def backoff_ms(
    attempts: int,
    backoff_seconds: int,
    *,
    max_backoff_seconds: int | None = None,
    jitter: float | None = None,
    random: Random | None = None,
) -> int:
    """Return the wait before the next attempt: ``backoff_seconds * 2**(attempts - 1)``.

    Args:
        attempts: runs so far, from 1.
        backoff_seconds: the wait after the first failure, in seconds.
        max_backoff_seconds: no wait is longer than this, in seconds.
        jitter: share of the delay, 0 to 1, that is left to chance. It only ever shortens
            the delay, so that a cap stays a cap; 1 is AWS's "full jitter".
        random: where the chance comes from; without it there is no jitter.

    Returns:
        Milliseconds, never negative, at most 365 days.
    """
    ceiling = MAX_DELAY_SECONDS
    if max_backoff_seconds is not None:
        ceiling = min(ceiling, max_backoff_seconds)
    delay = min(backoff_seconds << (attempts - 1), ceiling) * 1000
    if jitter and random is not None:
        delay -= int(delay * jitter * random.random())
    return delay
