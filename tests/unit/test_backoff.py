"""The wait of a failed job."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_retry.backoff import MAX_DELAY_SECONDS, backoff_ms

ATTEMPTS = range(1, 1001)
YEAR_MS = 365 * 24 * 3600 * 1000

attempts = st.integers(1, 1000)
backoffs = st.integers(0, 604_800)
caps = st.integers(0, MAX_DELAY_SECONDS)


class Highest(Random):
    """Chance at its largest."""

    def random(self) -> float:
        """Return the largest number below 1."""
        return 1 - 2**-53


@pytest.mark.parametrize(
    ("number", "seconds"), [(1, 30), (2, 60), (3, 120), (4, 240), (5, 480), (10, 15_360)]
)
def test_the_seed_s_table(number: int, seconds: int) -> None:
    assert backoff_ms(number, 30) == seconds * 1000


@given(st.integers(1, 20), st.integers(0, 60))
def test_the_formula(number: int, backoff: int) -> None:
    assert backoff_ms(number, backoff) == min(backoff * 2 ** (number - 1) * 1000, YEAR_MS)


@pytest.mark.parametrize("backoff", [1, 2, 30, 604_800])
@pytest.mark.parametrize("cap", [None, 0, 1, 3600, MAX_DELAY_SECONDS])
def test_no_number_of_attempts_overflows(backoff: int, cap: int | None) -> None:
    delays = [backoff_ms(number, backoff, max_backoff_seconds=cap) for number in ATTEMPTS]
    assert all(0 <= earlier <= later for earlier, later in pairwise(delays))
    assert delays[-1] == (YEAR_MS if cap is None else cap * 1000)
    assert max(delays) == delays[-1]


def test_no_backoff_is_no_wait() -> None:
    assert {backoff_ms(number, 0) for number in ATTEMPTS} == {0}


@given(attempts, backoffs, caps)
def test_a_cap_is_a_cap_and_nothing_else(number: int, backoff: int, cap: int) -> None:
    capped = backoff_ms(number, backoff, max_backoff_seconds=cap)
    assert capped == min(backoff_ms(number, backoff), cap * 1000)


@given(attempts, backoffs, st.none() | caps, st.floats(0, 1), st.integers())
def test_jitter_takes_at_most_its_share(
    number: int, backoff: int, cap: int | None, jitter: float, seed: int
) -> None:
    full = backoff_ms(number, backoff, max_backoff_seconds=cap)
    delay = backoff_ms(number, backoff, max_backoff_seconds=cap, jitter=jitter, random=Random(seed))
    assert isinstance(delay, int)
    assert 0 <= full - delay <= full * jitter


def test_full_jitter_reaches_from_nothing_to_the_whole_wait() -> None:
    assert backoff_ms(1, 30, jitter=1, random=Highest()) <= 1
    delays = [backoff_ms(1, 30, jitter=1, random=Random(seed)) for seed in range(200)]
    assert min(delays) < 1_000
    assert max(delays) > 29_000
    assert len(set(delays)) > 150


def test_jitter_takes_its_whole_share() -> None:
    assert backoff_ms(1, 100, jitter=0.2, random=Highest()) in (80_000, 80_001)


@pytest.mark.parametrize("jitter", [None, 0, 0.0])
def test_without_jitter_nothing_is_left_to_chance(jitter: float | None) -> None:
    assert backoff_ms(3, 30, jitter=jitter, random=Random(1)) == 120_000
