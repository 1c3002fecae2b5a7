"""Lists within lists, down to as many levels as an array can have axes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from edgeopt.errors import InstanceError

_DEEPEST: Final = 64
"""Most axes of an array of NumPy."""


def require_shallow(field: str, value: Any) -> None:
    """Refuse lists that are nested deeper than an array can be, or that hold themselves."""
    level = [value] if isinstance(value, list | tuple) else []
    for _ in range(_DEEPEST):
        inner = (entry for one in level for entry in one if isinstance(entry, list | tuple))
        level = list({id(entry): entry for entry in inner}.values())
        if not level:
            return
    raise InstanceError(field, f"must have at most {_DEEPEST} axes: its lists are nested deeper")


def lengths_of(value: Any) -> tuple[int, ...]:
    """Return the lengths of the axes of something array-like, of the first one if it is ragged."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return shape
    try:
        return np.shape(value)
    except (ValueError, TypeError):
        return (len(value),) if hasattr(value, "__len__") else ()
