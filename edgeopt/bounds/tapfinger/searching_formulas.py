"""Families of the few numbers that single formulas of TapFinger speak about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.search.family import Family
from edgeopt.bounds.search.rows import row, values
from edgeopt.bounds.tapfinger.conflicts import Rivals

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FORMULAS"]


def _rivals(point: Mapping[str, Any]) -> Rivals:
    gives = tuple(gives == 1 for gives in values(point, "gives"))
    return Rivals(tuple(values(point, "score")), tuple(values(point, "room")), gives)


FORMULAS = (
    Family(
        "rivals",
        (
            *row("score", 2, 0.0, 1.0),
            *row("room", 2, 1, 8, whole=True),
            *row("gives", 2, 0, 1, whole=True, simple=1),
        ),
        _rivals,
        Rivals,
    ),
)
"""Each of a type of its own."""
