"""Integers of very many digits, from text and back.

Python's own conversions take time that grows with the square of the digits, hold the
interpreter's lock all the while, and by default refuse over 4,300 digits. A queue takes payloads
of 256 KB, which may be one integer: 5 seconds in which no other thread of a worker renews a lease.
These take a tenth of one, in many small steps, and ask nothing of the limit, which is the
process's own (`sys.set_int_max_str_digits`).
"""

from __future__ import annotations

import sys
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, localcontext
from functools import lru_cache

USUAL_LIMIT = 4_300
"""Digits that Python converts unless it is told otherwise."""

_FEW_DIGITS = 600  # fewer than any limit that a process may set
_FEW_BITS = 2_000  # no more digits than that
_MOST_BITS = 1_000_000  # about 300,000 digits; the queue takes 262,144

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])


def is_limited() -> bool:
    """Tell whether Python itself refuses the integers that it would take long for."""
    limit = getattr(sys, "get_int_max_str_digits", None)  # not in the first releases of 3.10
    return limit is not None and 0 < limit() <= USUAL_LIMIT


def integer_of(digits: str) -> int:
    """Read an integer as JSON writes it."""
    if len(digits) <= _FEW_DIGITS:
        return int(digits)
    return _read(digits)


def digits_of(integer: int) -> str:
    """Write an integer as JSON does.

    Raises:
        ValueError: it is larger than the queue takes.
    """
    bits = integer.bit_length()
    if bits <= _FEW_BITS:
        return int.__repr__(integer)  # not that of an enumeration, say
    if bits > _MOST_BITS:
        raise ValueError(f"an integer of {bits:,} bits is too large")
    return _written(int(integer))


# The last one is remembered: a claim's answer has its first job twice, and a result is written
# once to see whether it can be, and once more to be sent.


@lru_cache(maxsize=1)
def _read(digits: str) -> int:
    if digits.startswith("-"):
        return -_read_positive(digits[1:])
    return _read_positive(digits)


def _read_positive(digits: str) -> int:
    """Put parts together in pairs, then these, and so on: few and fast multiplications."""
    ends = range(len(digits), 0, -_FEW_DIGITS)
    parts = [int(digits[max(0, end - _FEW_DIGITS) : end]) for end in ends]  # the lowest first
    width = _FEW_DIGITS
    power = 5**width
    while len(parts) > 1:
        if len(parts) % 2:
            parts.append(0)
        lows_and_highs = zip(parts[::2], parts[1::2], strict=True)
        # times 10 to the width; the twos of it are a shift
        parts = [low + ((high * power) << width) for low, high in lows_and_highs]
        width *= 2
        if len(parts) > 1:
            power *= power
    return parts[0]


@lru_cache(maxsize=1)
def _written(integer: int) -> str:
    """Put parts together as decimals, whose text is at hand at once."""
    powers: dict[int, Decimal] = {}

    def power(bits: int) -> Decimal:
        if bits not in powers:
            half = bits // 2
            is_small = bits <= _FEW_BITS
            powers[bits] = Decimal(1 << bits) if is_small else power(half) * power(bits - half)
        return powers[bits]

    def decimal(part: int, bits: int) -> Decimal:
        if bits <= _FEW_BITS:
            return Decimal(part)
        half = bits // 2
        high = part >> half
        low = part - (high << half)
        return decimal(high, bits - half) * power(half) + decimal(low, half)

    with localcontext(_EXACT):
        found = decimal(abs(integer), integer.bit_length())
        return str(-found if integer < 0 else found)
