"""Numbers as tables write them, and the entries that are none."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf")
_REAL: Final = (int, float, np.integer, np.floating, np.bool_)
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")


def number_of(text: str) -> float | None:
    """Return the number that a text is, without blanks or marks of thousands, or None."""
    return float(text) if _NUMBER.fullmatch(text) else None


def real_of(value: Any) -> float | None:
    """Return the number that an entry is or writes, or None."""
    if isinstance(value, str):
        return number_of(value.strip())
    if not _is_real(value):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else -float("inf")


def whole_of(label: Any) -> int | None:
    """Return the whole number that a label is or writes, or None."""
    if isinstance(label, str):
        text = label.strip()
        return int(text) if _WHOLE.fullmatch(text) else None
    if isinstance(label, bool | np.bool_) or not _is_real(label):
        return None
    return int(label) if label % 1 == 0 else None


def _is_real(value: Any) -> bool:
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


def number_in(value: Any) -> float | None:
    """Return a single number, of a table or plain; None if there is none."""
    try:
        return float(np.asarray(getattr(value, "values", value)))
    except (ValueError, TypeError):
        return None
