"""Job ids: integers that sort by creation, made without a counter.

41 bits of milliseconds since 2025-01-01 and 12 random bits: below 2^53, so that no JSON
client rounds them, until the year 2094. Two jobs of one millisecond may draw the same
id; the put is conditional, and the loser draws again.
"""

from random import Random

EPOCH_MS = 1_735_689_600_000  # 2025-01-01T00:00:00Z
MAX_ID = 2**53 - 1
_RANDOM_BITS = 12


def new_id(now: int, random: Random) -> int:
    """Draw an id.

    Args:
        now: milliseconds since the Unix epoch.
        random: where the random bits come from.
    """
    return (max(now - EPOCH_MS, 1) << _RANDOM_BITS) | random.getrandbits(_RANDOM_BITS)


def created_at(job_id: int) -> int:
    """Return the moment that an id was drawn, in milliseconds since the Unix epoch."""
    return (job_id >> _RANDOM_BITS) + EPOCH_MS
