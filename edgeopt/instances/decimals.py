"""Instances in short decimals, so that equal settings give equal data on every processor.

Vector code of log, exp and matrix products differs between processors in the last bits, and so does
what is drawn with it. In decimals of a few digits the data are the same again, but for a number
that lies within that difference of a boundary between two decimals. Each field says in which
direction it is rounded, such that no rule breaks: what must fit is rounded down, what it must fit
into up, so that a sum or a quotient never moves to the wrong side, whatever the order of its terms.
"""

from __future__ import annotations

import dataclasses
import decimal
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.records import Record
from edgeopt.options import check_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from edgeopt.arrays import Floats
    from edgeopt.instances.fields import Field
    from edgeopt.instances.instance import Instance

    _Instance = TypeVar("_Instance", bound=Instance)

_MOST_DIGITS: Final = 15  # a float64 holds so many decimals
_ROUNDINGS: Final = {
    "nearest": decimal.ROUND_HALF_EVEN,
    "down": decimal.ROUND_FLOOR,
    "up": decimal.ROUND_CEILING,
}


def rounded(instance: _Instance, digits: int) -> _Instance:
    """Return an instance in decimals of so many digits; itself if it already is."""
    check_whole("digits", digits, 1, _MOST_DIGITS)
    fields, same = _rounded_fields(instance, digits, spare=False)
    if same:
        return instance
    fields, _ = _rounded_fields(instance, digits, spare=True)
    return instance._with(fields, instance._orders, instance._notes)


def _rounded_fields(record: Record, digits: int, *, spare: bool) -> tuple[dict[str, Any], bool]:
    """Return the rounded fields of a record, and whether all are as they were.

    With `spare`, fields that must fit into something rounded to nearest shrink beforehand by more
    than that can lose. An instance in decimals needs none, and stays as it is.
    """
    fields: dict[str, Any] = {}
    same = True
    for one in record._fields:
        value = getattr(record, one.name)
        if isinstance(value, Record):
            inner, equal = _rounded_fields(value, digits, spare=spare)
            fields[one.name] = value if equal else value._with(inner, value._orders, value._notes)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields[one.name], equal = _rounded_parameters(value, digits)
        elif _real(value):
            fields[one.name] = _rounded_value(one, np.asarray(value), digits, spare)
            equal = np.array_equal(fields[one.name], value)
        else:
            fields[one.name], equal = value, True
        same &= equal
    return fields, same


def _rounded_parameters(model: Any, digits: int) -> tuple[Any, bool]:
    """Round the numbers of a dataclass that declares no directions, such as a model of a user."""
    changes = {
        one.name: to_digits(np.asarray(value), digits)
        for one in dataclasses.fields(model)
        if one.init and _real(value := getattr(model, one.name))
    }
    others: dict[str, Any] = {
        name: array if array.ndim else float(array)
        for name, array in changes.items()
        if not np.array_equal(array, getattr(model, name))
    }
    return (dataclasses.replace(model, **others), False) if others else (model, True)


def _real(value: Any) -> bool:
    array = isinstance(value, np.ndarray) and value.dtype == np.float64
    return array or isinstance(value, float)


def _rounded_value(one: Field, array: Floats, digits: int, spare: bool) -> Floats | float:
    if one.rounds == "distribution":
        return to_fractions(array, digits)
    if one.rounds == "less":
        loss = 10.0 ** (1 - digits)  # rounding to nearest takes half of this at most
        return to_digits(array * (1.0 - loss) if spare else array, digits, "down")
    made = to_digits(array, digits, one.rounds)
    return made if made.ndim else float(made)


def to_digits(array: Floats, digits: int, direction: str = "nearest") -> Floats:
    """Round numbers to so many significant decimals; infinity stays.

    The shortest decimal that is read as a number stands for it, so that one of few digits is left
    alone by all directions.
    """
    context = decimal.Context(prec=digits, rounding=_ROUNDINGS[direction])
    decimals: Callable[[str], decimal.Decimal] = context.create_decimal
    made = [float(decimals(repr(number))) for number in array.ravel().tolist()]
    return np.array(made, dtype=np.float64).reshape(array.shape)


def to_fractions(distribution: Floats, digits: int) -> Floats:
    """Round distributions, one per row, to multiples of a power of two; they then sum to 1 exactly.

    The largest entry of a row takes what is missing; of equal ones the first.
    """
    whole = 2.0 ** math.ceil(digits * math.log2(10))
    parts = np.rint(distribution * whole)
    rows = np.arange(len(distribution))
    largest = parts.argmax(axis=1)
    parts[rows, largest] += whole - parts.sum(axis=1)
    return np.asarray(parts / whole)
