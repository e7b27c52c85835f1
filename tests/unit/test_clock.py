"""Moments as RFC 3339, out and in."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_retry.clock import MAX_MOMENT, MAX_SECONDS, from_rfc3339, to_rfc3339
from tests.unit.builders import T0

moments = st.integers(MAX_SECONDS, MAX_MOMENT)
like_moments = st.from_regex(
    r"[0-3][0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9](:[0-6][0-9]){2}(Z|[+-][0-9]{2}:[0-9]{2})",
    fullmatch=True,
)
offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (T0, "2030-01-01T00:00:00.000Z"),
        (T0 + 450, "2030-01-01T00:00:00.450Z"),
        (T0 + 7, "2030-01-01T00:00:00.007Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        (MAX_SECONDS, "1973-03-03T09:46:40.000Z"),
        (MAX_MOMENT, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_moment_is_written_in_utc_with_milliseconds(moment: int, text: str) -> None:
    assert to_rfc3339(moment) == text
    assert from_rfc3339(text) == moment


@given(moments)
def test_what_is_written_is_read_back(moment: int) -> None:
    text = to_rfc3339(moment)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    assert from_rfc3339(text) == moment


@given(st.lists(moments, min_size=2, max_size=5))
def test_texts_sort_as_moments_do(several: list[int]) -> None:
    assert sorted(map(to_rfc3339, several)) == [to_rfc3339(each) for each in sorted(several)]


@given(st.integers(MAX_SECONDS, MAX_MOMENT - 86_400_000), offsets)
def test_any_offset_is_the_same_moment(moment: int, minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment)
    assert from_rfc3339(when.astimezone(zone).isoformat()) == moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2030-01-01T00:00:00Z", T0),
        ("2030-01-01t00:00:00z", T0),
        ("2030-01-01 00:00:00Z", T0),
        ("2030-01-01T02:00:00+02:00", T0),
        ("2029-12-31T18:30:00-05:30", T0),
        ("2030-01-01T00:00:00-00:00", T0),
        ("2030-01-01T00:00:00.5Z", T0 + 500),
        ("2030-01-01T00:00:00.45Z", T0 + 450),
        ("2030-01-01T00:00:00.0009Z", T0),
        ("2030-01-01T00:00:00.4509999Z", T0 + 450),
        ("2030-01-01T00:00:00.123456789012345Z", T0 + 123),
        ("2028-02-29T00:00:00Z", 1_835_395_200_000),
    ],
)
def test_what_rfc_3339_allows_is_read(text: str, moment: int) -> None:
    assert from_rfc3339(text) == moment


def test_fractions_are_in_order() -> None:
    texts = ["2030-01-01T00:00:00Z", "2030-01-01T00:00:00.45Z", "2030-01-01T00:00:00.5Z"]
    read = [from_rfc3339(text) for text in texts]
    assert read == sorted(set(read))


@pytest.mark.parametrize(
    "text",
    [
        "2030-01-01T00:00:00",  # no offset
        "2030-01-01T00:00:00 Z",
        "2030-01-01T00:00:00+0200",
        "2030-01-01T00:00:00+02",
        "2030-01-01T00:00:00+24:00",
        "2030-01-01T00:00:00[UTC]",
        "2030-01-01T00:00:00Z\n",
        " 2030-01-01T00:00:00Z",
        "2030-01-01T00:00:00.Z",
        "2030-01-01T00:00:00,5Z",
        "2030-01-01T00:00Z",
        "2030-01-01",
        "2030-W01-2T00:00:00Z",
        "20300101T000000Z",
        "2030-1-1T00:00:00Z",
        "+02030-01-01T00:00:00Z",
        "٢٠٣٠-01-01T00:00:00Z",  # digits, but not these
        "1893456000000",
        "tomorrow",
        "",
        "2030-02-30T00:00:00Z",  # no calendar has it
        "2030-02-29T00:00:00Z",
        "2030-13-01T00:00:00Z",
        "2030-00-01T00:00:00Z",
        "2030-01-01T25:00:00Z",
        "2030-01-01T00:60:00Z",
        "2030-01-01T00:00:60Z",
        "0000-01-01T00:00:00Z",
        "2030-01-01T00:00:00+01:99",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_rfc3339(text)


@given(st.text(max_size=20) | like_moments)
def test_nothing_but_a_value_error_comes_of_junk(text: str) -> None:
    try:
        moment = from_rfc3339(text)
    except ValueError:
        return
    assert isinstance(moment, int)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999-23:59"])
def test_the_ends_of_the_calendar_do_not_overflow(text: str) -> None:
    assert not MAX_SECONDS <= from_rfc3339(text) <= MAX_MOMENT
