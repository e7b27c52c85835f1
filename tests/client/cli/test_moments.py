"""Times as people write and read them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from job_retry_client.cli.moments import parse, relative, show
from tests.client.cli.fakes import NOW


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2030-01-02T03:04:05Z", NOW),
        ("2030-01-02T05:04:05+02:00", NOW),
        ("2030-01-02 03:04:05", NOW),
        ("+90s", NOW + timedelta(seconds=90)),
        ("+10m", NOW + timedelta(minutes=10)),
        ("+2h", NOW + timedelta(hours=2)),
        ("+1d", NOW + timedelta(days=1)),
        ("1893553445000", 1893553445000),
    ],
)
def test_moments(text: str, moment: datetime | int) -> None:
    assert parse(text, NOW) == moment


def test_a_moment_without_a_zone_is_in_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "EST5")
    time.tzset()
    assert parse("2030-01-01 22:04:05", NOW) == NOW
    assert show(NOW, NOW) == "2030-01-01 22:04:05, now"


@pytest.mark.parametrize("text", ["", "soon", "10m", "+10", "+10y", "+999999999999d", "-1"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match="is no moment"):
        parse(text, NOW)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "now"),
        (-0.4, "now"),
        (1, "in 1 s"),
        (-59.6, "1 min ago"),
        (90, "in 1 min 30 s"),
        (7199, "in 1 h 59 min"),
        (-86_400, "1 d ago"),
        (86_405, "in 1 d"),
    ],
)
def test_how_long_from_now(seconds: float, words: str) -> None:
    assert relative(NOW + timedelta(seconds=seconds), NOW) == words


def test_the_last_moment_of_all_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC-14")
    time.tzset()
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert show(last, NOW).startswith("9999-12-31 23:59:59, in ")
