"""How many examples a test draws: all of them, or the share that ``EDGEOPT_DRAWS`` says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

SHARE = float(os.environ.get("EDGEOPT_DRAWS", "1"))
FEWEST = 4
"""Fewer show nothing."""

LEAN = SHARE < 1
"""Whether long tests are left out, and others are smaller."""


def draws(most: int) -> int:
    """Return how many of so many examples to draw."""
    return min(most, max(FEWEST, round(SHARE * most)))


def every(step: int, values: Iterable[Any], *, rows: bool = False) -> list[Any]:
    """Return the parameters of a test: all values, of which a lean run takes every so-manieth.

    Each of `rows` is a tuple of several parameters.
    """
    many = enumerate(values)
    return [
        pytest.param(*(one if rows else (one,)), marks=pytest.mark.long if at % step else ())
        for at, one in many
    ]


def some(names: Iterable[Any], *lean: Any) -> list[Any]:
    """Return the parameters of a test: all names, of which a lean run takes those of `lean`."""
    marks = {name: () if name in lean else pytest.mark.long for name in names}
    assert set(lean) <= set(marks)
    return [pytest.param(name, marks=mark, id=str(name)) for name, mark in marks.items()]
