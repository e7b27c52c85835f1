"""Python values as JSON text and back, as the queue wants them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def dump(value: Any) -> str:
    """Return a value as compact JSON.

    Raises:
        TypeError, ValueError: it is no JSON value; NaN and infinity are none.
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


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
        value = json.loads(text)
    except json.JSONDecodeError:
        return None
    except ValueError:  # an integer of over 4,300 digits, which Python takes by this way only
        value = json.loads(text, parse_int=lambda digits: int(Decimal(digits)))
    return value if isinstance(value, dict) else None


def _moment_text(moment: datetime) -> str:
    if moment.utcoffset() is None:
        raise ValueError(f"{moment} has no time zone")
    # in UTC, since RFC 3339 knows no offsets with seconds, and Python's old time zones have some
    return moment.astimezone(timezone.utc).isoformat()
