"""Numbers as tables write them, and the entries that are none."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import numpy as np

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf")
_REAL: Final = (int, float, np.integer, np.floating, np.bool_)
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")


def number_of(text: str) -> float | None:
    """Return the number that a text is, without blanks or marks of thousands, or None.

    Digits that no number of this machine can hold, such as 1e400, are a misprint.
    """
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    lost = number == 0 and any(digit in "123456789" for digit in text.lower().partition("e")[0])
    return None if lost or (math.isinf(number) and not text.endswith("inf")) else number


def real_of(value: Any) -> float | None:
    """Return the number that an entry is or writes, or None."""
    if isinstance(value, str):
        return number_of(value.strip())
    if not is_real(value):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if math.isinf(number) and not np.isinf(value) else number


def whole_of(label: Any) -> int | None:
    """Return the whole number that a label is or writes, or None."""
    if isinstance(label, str):
        text = label.strip()
        return int(text) if _WHOLE.fullmatch(text) else None
    if isinstance(label, bool | np.bool_) or not is_real(label):
        return None
    return int(label) if label % 1 == 0 else None


def is_real(value: Any) -> bool:
    """Return whether an entry is a real number of Python or NumPy."""
    # NumPy takes a span of time for an integer.
    return isinstance(value, _REAL) and not isinstance(value, np.timedelta64)


def is_hole(value: Any) -> bool:
    """Return whether an entry of a table is none: None, NaN, NaT or NA."""
    if value is None or hasattr(value, "__len__"):
        return value is None
    try:
        return bool(value != value)
    except TypeError:  # NA of pandas is neither true nor false
        return type(value).__name__ == "NAType"
