"""Integers of very many digits: exact both ways, and never Python's own slow conversion."""

from __future__ import annotations

import json
import math
import random
import sys
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import Job, json_text
from job_retry_client.big_integers import digits_of, integer_of, is_limited
from job_retry_client.worker.outcomes import Completed, outcome_of_result
from tests.client.fakes import job

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 262_144  # digits that fit in a payload


@pytest.fixture(params=[4300, 640, 0])
def limit(request: pytest.FixtureRequest) -> Iterator[int]:
    """What a process may have set: the usual, the least, and none; it stays as it is."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(request.param)
    yield request.param
    assert sys.get_int_max_str_digits() == request.param
    sys.set_int_max_str_digits(before)


@pytest.fixture
def least() -> Iterator[None]:
    """Let Python's own conversions be refused from 640 digits on."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize(
    "length", [1, 599, 600, 601, 640, 641, 1199, 1200, 1201, 4300, 4301, 10_000]
)
def test_digits_there_and_back(length: int) -> None:
    dice = random.Random(length)
    some = "1" + "".join(dice.choice("0123456789") for _ in range(length - 1))
    for digits in (some, f"-{some}", "9" * length, "1" + "0" * (length - 1)):
        found = integer_of(digits)
        assert (found % 97, found > 0) == (remainder(digits, 97), digits[0] != "-")
        assert digits_of(found) == digits
    assert integer_of("1" + "0" * length) == 10**length
    assert integer_of("-" + "9" * length) == 1 - 10**length


def remainder(digits: str, by: int) -> int:
    """Divide by hand."""
    found = 0
    for each in digits.removeprefix("-"):
        found = (found * 10 + int(each)) % by
    return -found % by if digits.startswith("-") else found


@pytest.mark.usefixtures("least")
def test_the_largest_that_fits_is_exact() -> None:
    """Where Python's own conversions would be quadratic they are refused here."""
    assert integer_of("9" * MOST) == 10**MOST - 1
    assert digits_of(10**MOST - 1) == "9" * MOST
    assert digits_of(-(10 ** (MOST - 1))) == "-1" + "0" * (MOST - 1)


def test_what_the_queue_never_takes_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="is too large"):
        digits_of(1 << 100_000_000)
    with pytest.raises(ValueError, match="is too large"):
        json_text.dump([1 << 100_000_000])


class Colour(IntEnum):
    """An integer with a name."""

    RED = 3


VALUES = [
    {"n": 10**5000, "m": [-(10**5000), 0, True, False, None, 1.5, 'ü\ud800"\\']},
    {2: 2, True: 3, None: 4, 1.5: 5, "a": {}, "b": []},
    ({"t": (1, 2)}, 10**700, Colour.RED),
    Colour.RED,
    10**4299,
    10**4300,
]


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_what_is_dumped_is_what_json_would(value: Any) -> None:
    text = json_text.dump(value)
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    assert text == json.dumps(value, separators=(",", ":"))
    assert json_text.load(text) == json.loads(text)
    sys.set_int_max_str_digits(before)
    assert json_text.load_object(f'{{"v":{text}}}') == {"v": json_text.load(text)}


@pytest.mark.usefixtures("limit")
def test_what_is_no_json_is_none_with_any_limit() -> None:
    ring: list[object] = [10**5000]
    ring.append(ring)
    for value in (ring, [10**5000, math.nan], [10**5000, {1, 2}], {(1,): 10**5000}):
        with pytest.raises((TypeError, ValueError)):
            json_text.dump(value)
    assert json_text.load_object("<html>") is None
    assert json_text.load_object("9" * 5000) is None


def test_the_process_is_taken_at_its_word() -> None:
    before = sys.get_int_max_str_digits()
    seen = []
    for limit in (640, 4300, 4301, 0):
        sys.set_int_max_str_digits(limit)
        seen.append(is_limited())
    sys.set_int_max_str_digits(before)
    assert seen == [True, True, False, False]


@pytest.mark.usefixtures("least")
def test_a_payload_that_is_one_integer_can_be_a_result() -> None:
    digits = "7" * 250_000
    shown = json.dumps(job(payload=0)).replace('"payload": 0', f'"payload": {digits}')
    answer = json_text.load_object(f'{{"job": {shown}, "jobs": [{shown}]}}')
    assert answer is not None
    (claimed,) = map(Job.from_answer, answer["jobs"])
    outcome = outcome_of_result({"twice": claimed.payload * 2})
    assert isinstance(outcome, Completed)
    assert json_text.dump(outcome.result) == f'{{"twice":1{"5" * 249_999}4}}'
