"""Python values as JSON text and back, as the queue wants them."""

from __future__ import annotations

import json
from datetime import datetime
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

    Raises:
        TypeError, ValueError: a member is no JSON value, or a time without a time zone.
    """
    given = {name: _plain(value) for name, value in members.items() if value is not None}
    return dump(given)


def load_object(text: str) -> dict[str, Any]:
    """Read an answer; what is no JSON object, as of a proxy, becomes the detail of one."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"detail": text[:500]}


def _plain(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError(f"{value} has no time zone")
    return value.isoformat()
