"""Python values as JSON text and back, as the queue wants them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from job_retry_client.big_integers import digits_of, integer_of, is_limited

if TYPE_CHECKING:
    from collections.abc import Mapping

_BY_DIGITS = json.JSONDecoder(parse_int=integer_of)


def dump(value: Any) -> str:
    """Return a value as compact JSON.

    Raises:
        TypeError, ValueError: it is no JSON value; NaN and infinity are none.
    """
    if is_limited():
        try:
            return _dump(value)
        except ValueError:  # perhaps only an integer that Python does not write itself
            pass
    try:
        return _dump_by_digits(value)
    except RecursionError:  # a ring, say; Python has a word for it
        return _dump(value)


def dump_given(members: Mapping[str, Any]) -> str:
    """Return an object as JSON, without the members that are None.

    ``run_after`` may be a `datetime`; other members, the payload too, are JSON values.

    Raises:
        TypeError, ValueError: a member is no JSON value, or a time without a time zone.
    """
    given = {name: value for name, value in members.items() if value is not None}
    run_after = given.get("run_after")
    if isinstance(run_after, datetime):
        given["run_after"] = _moment_text(run_after)
    return dump(given)


def load_object(text: str) -> dict[str, Any] | None:
    """Read an answer; None if it is no JSON object, as a proxy's may be."""
    try:
        value = load(text)
    except json.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def load(text: str) -> Any:
    """Read a JSON value; integers of any number of digits come exactly, and soon.

    Raises:
        JSONDecodeError: it is none.
    """
    if not is_limited():
        return _BY_DIGITS.decode(text)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer that Python does not read itself
        return _BY_DIGITS.decode(text)


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _dump_by_digits(value: Any) -> str:
    """Do as `_dump`, with any integers; some twenty times as slow on small members."""
    match value:
        case bool():
            return _dump(value)
        case int():
            return digits_of(value)
        case dict():
            return "{" + ",".join(_key(k) + _dump_by_digits(v) for k, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(_dump_by_digits, value)) + "]"
        case _:
            return _dump(value)


def _key(name: Any) -> str:
    """Return a member's name and the colon; also of a name that is a number."""
    return _dump({name: 0})[1:-2]


def _moment_text(moment: datetime) -> str:
    if moment.utcoffset() is None:
        raise ValueError(f"{moment} has no time zone")
    # in UTC, since RFC 3339 knows no offsets with seconds, and Python's old time zones have some
    return moment.astimezone(timezone.utc).isoformat()
