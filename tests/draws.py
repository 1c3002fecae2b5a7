"""How many examples a test draws: all of them, or the share that ``EDGEOPT_DRAWS`` says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterable

SHARE = float(os.environ.get("EDGEOPT_DRAWS", "1"))
FEWEST = 8
"""Fewer show nothing."""

LEAN = SHARE < 1
"""Whether long tests are left out, and others are smaller."""


def draws(most: int, lean: int | None = None) -> int:
    """Return how many examples to draw, and `lean` of those that take long in a lean run."""
    usual = min(most, max(FEWEST, round(SHARE * most)))
    return lean if LEAN and lean is not None else usual


def fewer(lean: int) -> settings:
    """Let a lean run draw so many examples, each of which takes long, and a full one the usual."""
    return settings(max_examples=lean) if LEAN else settings()


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
