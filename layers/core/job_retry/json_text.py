"""JSON kept as text: what a caller sends comes back equal, whatever it is.

Payloads, results and progress are never turned into Python or DynamoDB numbers, which
would round a large integer, refuse a float or trip over a lone surrogate. A request's
body is taken apart into the text of its members, and an answer is put together from such
texts again.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from itertools import accumulate
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from job_retry.errors import InvalidFieldError, InvalidJsonError

MAX_DEPTH = 500
"""Arrays and objects inside each other; deeper, common JSON parsers give up in turn."""

MAX_DOCUMENT_BYTES = 256 * 1024
"""Of a payload or a result, in UTF-8."""

MAX_BODY = 7 * MAX_DOCUMENT_BYTES
"""Characters of a body that has one: the largest with all its characters escaped (six to one)
and a little more. What is larger would only keep the parser busy."""

# One for all: json.dumps would make one for each field of each job.
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode

_SPACE = re.compile(r"[ \t\n\r]*")
# Runs of plain characters are taken at once: one by one they cost 125 bytes each.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_STRING_OR_SPACE = re.compile(_STRING.pattern + r"|[ \t\n\r]+")
_NO_BRACKET = re.compile(r"[^\[\]{}]+")


class JsonText(str):
    """A JSON value as its compact text."""

    __slots__ = ()


def members(body: str, max_depth: float = MAX_DEPTH) -> dict[str, JsonText]:
    """Take a JSON object apart into the compact text of each member.

    Args:
        body: the JSON text.
        max_depth: how deep a member may be nested; infinity for as deep as the parser goes.

    Raises:
        InvalidJsonError: the body is not JSON.
        InvalidFieldError: it is no object, or one of its members is nested too deeply or
            given more than once.
    """
    at = _skip_space(body, 0)
    if body[at : at + 1] != "{":
        _parse(body, at, "body")
        raise InvalidFieldError("body", "must be a JSON object")
    found: list[tuple[str, JsonText]] = []
    at = _skip_space(body, at + 1)
    if body[at : at + 1] == "}":
        _expect_end(body, at + 1)
        return {}
    while True:
        if body[at : at + 1] != '"':
            _broken(body, at, "a member's name in quotes")
        name, at = _string(body, at)
        at = _skip_space(body, at)
        if body[at : at + 1] != ":":
            _broken(body, at, "':'")
        start = _skip_space(body, at + 1)
        end = _parse(body, start, name)
        text = compact(body[start:end])
        _check_depth(text, name, max_depth)
        found.append((name, text))
        at = _skip_space(body, end)
        separator = body[at : at + 1]
        if separator == "}":
            _expect_end(body, at + 1)
            return _each_once(found)
        if separator != ",":
            _broken(body, at, "',' or '}'")
        at = _skip_space(body, at + 1)


def expect_empty(body: str) -> None:
    """Make sure that a JSON object has no members.

    Raises:
        InvalidJsonError: the body is not JSON.
        InvalidFieldError: it is no object, or has members.
    """
    unknown = [(name, "Extra inputs are not permitted") for name in members(body)]
    if unknown:
        raise InvalidFieldError(*unknown[0], *unknown[1:])


def elements(text: JsonText, name: str) -> list[JsonText]:
    """Take a compact JSON array apart into the text of each element.

    Args:
        text: as `members` returned it.
        name: of the field it is the value of, for the error.

    Raises:
        InvalidFieldError: it is no array.
    """
    if text[0] != "[":
        raise InvalidFieldError(name, "must be an array")
    found: list[JsonText] = []
    at = 1
    while text[at] != "]":
        end = _parse(text, at, name)
        found.append(JsonText(text[at:end]))
        at = end + 1 if text[end] == "," else end
    return found


def value(text: JsonText) -> Any:
    """Return what a member's text means, as Python has it."""
    try:
        return json.loads(text)
    except ValueError:  # an integer of more digits than Python reads: too large for any field
        return math.inf


def compact(text: str) -> JsonText:
    """Write JSON without blanks between tokens and without needless escapes.

    So the same value has the same size, whoever's encoder wrote it. Numbers and lone
    surrogates stay as they were written.
    """
    return JsonText(_STRING_OR_SPACE.sub(_compact_token, text))


def render(fields: Mapping[str, object]) -> JsonText:
    """Write an object; members that are `JsonText` go in as they are."""
    return JsonText(
        "{" + ",".join(f"{json.dumps(name)}:{_render(each)}" for name, each in fields.items()) + "}"
    )


def render_all(texts: Iterable[JsonText]) -> JsonText:
    """Write an array of values that are texts already."""
    return JsonText("[" + ",".join(texts) + "]")


def encoded_size(text: str) -> int:
    """Return the bytes that a text takes as a string inside Lambda's own JSON answer."""
    return len(json.dumps(text))


def _render(item: object) -> str:
    if isinstance(item, JsonText):
        return item
    return _ENCODE(item)


def _compact_token(match: re.Match[str]) -> str:
    token = match.group()
    if token[0] != '"':
        return ""
    if "\\" not in token:
        return token
    plain = json.dumps(json.loads(token), ensure_ascii=False)
    try:
        plain.encode()
    except UnicodeEncodeError:
        return json.dumps(json.loads(token))
    return plain


def _each_once(found: list[tuple[str, JsonText]]) -> dict[str, JsonText]:
    """Refuse names given again: which value then counts, readers of JSON do not agree."""
    once = dict(found)
    if len(once) == len(found):
        return once
    seen: set[str] = set()
    again: dict[str, str] = {}
    for name, _ in found:
        if name in seen:
            again[name] = "is given more than once"
        seen.add(name)
    first, *more = again.items()
    raise InvalidFieldError(*first, *more)


def _check_depth(text: str, name: str, max_depth: float) -> None:
    if text.count("[") + text.count("{") <= max_depth:
        return
    brackets = _NO_BRACKET.sub("", _STRING.sub("", text))
    depths = accumulate(1 if each in "[{" else -1 for each in brackets)
    if max(depths, default=0) > max_depth:
        _too_deep(name)


def _too_deep(name: str) -> NoReturn:
    raise InvalidFieldError(name, f"is nested more than {MAX_DEPTH} deep")


def _refuse_constant(name: str) -> NoReturn:
    msg = f"{name} is not JSON"
    raise InvalidJsonError(msg)


# Only where a value ends is asked here, so its numbers are left as text.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_constant)


def _parse(body: str, at: int, name: str) -> int:
    """Return where the value that begins here ends."""
    try:
        _, end = _DECODER.raw_decode(body, at)
    except RecursionError:  # the parser's own limit is higher than ours
        _too_deep(name)
    except ValueError as error:
        raise InvalidJsonError(str(error)) from None
    return end


def _string(body: str, at: int) -> tuple[str, int]:
    try:
        text, end = scanstring(body, at + 1, True)  # noqa: FBT003 - the C function's own signature
    except ValueError as error:
        raise InvalidJsonError(str(error)) from None
    return text, end


def _skip_space(body: str, at: int) -> int:
    match = _SPACE.match(body, at)
    return match.end() if match else at


def _expect_end(body: str, at: int) -> None:
    if _skip_space(body, at) != len(body):
        _broken(body, at, "the end")


def _broken(body: str, at: int, expected: str) -> NoReturn:
    raise InvalidJsonError(str(json.JSONDecodeError(f"Expecting {expected}", body, at)))
