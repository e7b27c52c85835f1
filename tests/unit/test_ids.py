"""Job ids."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from job_retry.ids import EPOCH_MS, MAX_ID, created_at, new_id
from tests.unit.builders import T0

LAST_MS = EPOCH_MS + 2**41 - 1  # in the year 2094

moments = st.integers(EPOCH_MS + 1, LAST_MS)
seeds = st.integers()


@given(moments, seeds)
def test_an_id_fits_every_json_client(now: int, seed: int) -> None:
    job_id = new_id(now, Random(seed))
    assert 0 < job_id <= MAX_ID == 2**53 - 1
    assert int(float(job_id)) == job_id


@given(moments, seeds)
def test_an_id_tells_when_it_was_made(now: int, seed: int) -> None:
    assert created_at(new_id(now, Random(seed))) == now


@given(moments, moments, seeds)
def test_ids_sort_by_creation(one: int, other: int, seed: int) -> None:
    random = Random(seed)
    if one != other:
        assert (new_id(one, random) < new_id(other, random)) == (one < other)


def test_ids_of_one_millisecond_differ() -> None:
    random = Random(1)
    drawn = [new_id(T0, random) for _ in range(100)]
    assert len(set(drawn)) > 90
    assert len({job_id >> 12 for job_id in drawn}) == 1


def test_all_random_bits_are_used() -> None:
    random = Random(1)
    drawn = [new_id(T0, random) for _ in range(200)]
    used = 0
    unused = -1
    for job_id in drawn:
        used |= job_id
        unused &= job_id
    assert used & 0xFFF == 0xFFF
    assert unused & 0xFFF == 0


def test_a_clock_that_stands_before_2025_still_gives_a_positive_id() -> None:
    assert new_id(0, Random(1)) > 0
