"""The few expressions that the store sends, evaluated as DynamoDB does.

Whatever stands in an expression and is not understood here is an error, never passed over.
"""

from __future__ import annotations

import operator
import re
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Value: TypeAlias = dict[str, Any]
Item: TypeAlias = dict[str, Value]
Names: TypeAlias = "Mapping[str, str]"
Values: TypeAlias = "Mapping[str, Value]"
Operand: TypeAlias = "Callable[[Item, Names, Values], Value | None]"
Condition: TypeAlias = "Callable[[Item, Names, Values], bool]"
Change: TypeAlias = "Callable[[Item, Item, Names, Values], None]"

_TOKEN = re.compile(r"\s*(<=|>=|<>|[=<>(),+-]|[#:]?\w+)")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SECTIONS = frozenset({"SET", "REMOVE", "ADD", "DELETE"})


class UnknownExpressionError(Exception):
    """The model does not know this expression; teach it."""


class _Tokens:
    """An expression, read from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._at = 0
        if "".join(self._tokens) != re.sub(r"\s", "", text):
            raise self.unknown()

    def peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self._at += 1
        return token

    def skip(self, token: str) -> bool:
        """Read a token if it is the next one."""
        if self.peek() != token:
            return False
        self._at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.skip(token):
            raise self.unknown()

    def unknown(self) -> UnknownExpressionError:
        return UnknownExpressionError(self._text)


@cache
def condition(text: str) -> Condition:
    """Return what decides a condition expression, or a key condition."""
    tokens = _Tokens(text)
    decide = _any_of(tokens)
    if tokens.peek():
        raise tokens.unknown()
    return decide


@cache
def update(text: str) -> Change:
    """Return what carries out an update expression: (item before, item to change, …)."""
    tokens = _Tokens(text)
    changes: list[Change] = []
    while section := tokens.next():
        read = {"SET": _set, "REMOVE": _remove, "ADD": _add}.get(section)
        if read is None:
            raise tokens.unknown()
        changes.append(read(tokens))
        while tokens.skip(","):
            changes.append(read(tokens))
        if tokens.peek() and tokens.peek() not in _SECTIONS:
            raise tokens.unknown()

    def change(before: Item, after: Item, names: Names, values: Values) -> None:
        for each in changes:
            each(before, after, names, values)

    return change


def _any_of(tokens: _Tokens) -> Condition:
    choices = [_all_of(tokens)]
    while tokens.skip("OR"):
        choices.append(_all_of(tokens))
    if len(choices) == 1:
        return choices[0]
    return lambda item, names, values: any(each(item, names, values) for each in choices)


def _all_of(tokens: _Tokens) -> Condition:
    clauses = [_clause(tokens)]
    while tokens.skip("AND"):
        clauses.append(_clause(tokens))
    if len(clauses) == 1:
        return clauses[0]
    return lambda item, names, values: all(each(item, names, values) for each in clauses)


def _clause(tokens: _Tokens) -> Condition:
    if tokens.skip("("):
        inner = _any_of(tokens)
        tokens.expect(")")
        return inner
    word = tokens.next()
    if word in ("attribute_exists", "attribute_not_exists"):
        tokens.expect("(")
        path = tokens.next()
        tokens.expect(")")
        wanted = word == "attribute_exists"
        return lambda item, names, _values: (names.get(path, path) in item) is wanted
    left = _operand(tokens, word)
    compare = _COMPARISONS.get(tokens.next())
    if compare is None:
        raise tokens.unknown()
    right = _operand(tokens, tokens.next())
    return lambda item, names, values: _holds(
        compare, left(item, names, values), right(item, names, values)
    )


def _holds(compare: Callable[[Any, Any], bool], left: Value | None, right: Value | None) -> bool:
    """Compare as DynamoDB does: what is missing, or of another type, is only ever unequal."""
    if left is None or right is None or left.keys() != right.keys():
        return compare is operator.ne
    return compare(_plain(left), _plain(right))


def _plain(value: Value) -> Any:
    ((kind, content),) = value.items()
    return Decimal(content) if kind == "N" else content


def _operand(tokens: _Tokens, token: str) -> Operand:
    if token.startswith(":"):
        return lambda _item, _names, values: values[token]
    if not token or not (token[0] == "#" or token[0].isalpha()) or tokens.peek() == "(":
        raise tokens.unknown()
    return lambda item, names, _values: item.get(names.get(token, token))


def _set(tokens: _Tokens) -> Change:
    path = tokens.next()
    tokens.expect("=")
    left = _operand(tokens, tokens.next())
    sign = {"+": 1, "-": -1}.get(tokens.peek(), 0)
    if not sign:

        def assign(before: Item, after: Item, names: Names, values: Values) -> None:
            after[names.get(path, path)] = _present(left(before, names, values), path)

        return assign
    tokens.next()
    right = _operand(tokens, tokens.next())

    def calculate(before: Item, after: Item, names: Names, values: Values) -> None:
        one = _present(left(before, names, values), path)
        other = _present(right(before, names, values), path)
        after[names.get(path, path)] = {"N": str(_plain(one) + sign * _plain(other))}

    return calculate


def _present(value: Value | None, path: str) -> Value:
    if value is None:  # DynamoDB: ValidationException
        message = f"{path} is set from an attribute that is not there"
        raise UnknownExpressionError(message)
    return value


def _remove(tokens: _Tokens) -> Change:
    path = tokens.next()

    def remove(_before: Item, after: Item, names: Names, _values: Values) -> None:
        after.pop(names.get(path, path), None)

    return remove


def _add(tokens: _Tokens) -> Change:
    path = tokens.next()
    operand = _operand(tokens, tokens.next())

    def add(before: Item, after: Item, names: Names, values: Values) -> None:
        name = names.get(path, path)
        given = _present(operand(before, names, values), path)
        known = before.get(name)
        if "N" in given:
            total = Decimal(given["N"]) + (Decimal(known["N"]) if known else 0)
            after[name] = {"N": str(total)}
            return
        ((kind, members),) = given.items()
        if kind not in ("NS", "SS"):
            raise UnknownExpressionError(path)
        after[name] = {kind: sorted({*members, *(known[kind] if known else ())})}

    return add
