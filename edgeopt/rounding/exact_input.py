"""Input of the exact laws: any real numbers, taken for what they are exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import TypeAlias

import numpy as np

from edgeopt.errors import InputError

__all__ = ["Numbers", "exact_fractions", "exact_number", "exact_numbers", "exact_weights"]

Numbers: TypeAlias = Iterable[Fraction] | Iterable[float]

_SLACK = Fraction(1, 10**9)


def exact_number(field: str, value: object, index: tuple[int, ...] | None = None) -> Fraction:
    """Return the number as a fraction; a float becomes the binary fraction that it is."""
    if isinstance(value, Rational):
        return Fraction(value)
    if isinstance(value, (float, np.floating, Decimal)):
        if math.isfinite(value):
            return Fraction(value if isinstance(value, Decimal) else float(value))
        raise InputError(field, "must be finite", index=index, value=value)
    raise InputError(field, "must be a real number", index=index, value=repr(value))


def exact_numbers(field: str, values: object, count: int | None = None) -> tuple[Fraction, ...]:
    """Return a row of numbers as fractions."""
    if not isinstance(values, Iterable):
        raise InputError(field, "must be a row of numbers", value=repr(values))
    row = tuple(exact_number(field, value, (i,)) for i, value in enumerate(values))
    if not row:
        raise InputError(field, "needs at least one entry")
    if count is not None and len(row) != count:
        raise InputError(field, f"must have {count} entries, has {len(row)}")
    return row


def exact_fractions(field: str, values: object) -> tuple[Fraction, ...]:
    """Return a row of numbers in [0, 1]; what exceeds them by less than 1e-9 is cut off."""
    row = exact_numbers(field, values)
    for i, value in enumerate(row):
        if not -_SLACK <= value <= 1 + _SLACK:
            raise InputError(field, "must lie in [0, 1]", index=(i,), value=value)
    return tuple(min(max(value, Fraction(0)), Fraction(1)) for value in row)


def exact_weights(
    values: object, count: int, *, zero: bool = False, field: str = "weights"
) -> tuple[Fraction, ...]:
    """Return `count` positive weights, or ones for None; `zero` allows zeros as well."""
    if values is None:
        return (Fraction(1),) * count
    row = exact_numbers(field, values, count)
    for i, value in enumerate(row):
        if value < 0 or (value == 0 and not zero):
            rule = "must be at least 0" if zero else "must be positive"
            raise InputError(field, rule, index=(i,), value=value)
    return row
