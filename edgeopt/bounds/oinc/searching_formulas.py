"""Families of the few numbers that single formulas of OINC speak about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.oinc.periods import Periods
from edgeopt.bounds.oinc.reservation import Split
from edgeopt.bounds.oinc.theorem3 import Counts
from edgeopt.bounds.search.family import Family, Parameter
from edgeopt.bounds.search.rows import row, values

if TYPE_CHECKING:
    from collections.abc import Mapping


__all__ = ["FORMULAS"]


def _periods(point: Mapping[str, Any]) -> Periods:
    return Periods(tuple(values(point, "work")), tuple(values(point, "share")))


def _split(point: Mapping[str, Any]) -> Split:
    speed = tuple(values(point, "speed"))
    return Split(speed, (point["kept"], 0.0), point["needed"], point["part"])


def _counts(point: Mapping[str, Any]) -> Counts:
    return Counts(tuple(point["least"] * point["factor"] ** power for power in range(3)))


FORMULAS = (
    Family(
        "periods",
        (
            *row("work", 2, 0.1, 10.0, simple=1.0),
            *row("share", 2, 0.05, 0.95, simple=0.5),
        ),
        _periods,
        Periods,
    ),
    Family(
        "splits",
        (
            *row("speed", 2, 0.5, 10.0, simple=5.0),
            Parameter("kept", 0.0, 0.9),
            Parameter("needed", 0.0, 20.0),
            Parameter("part", 0.1, 0.9, simple=0.5),
        ),
        _split,
        Split,
    ),
    Family(
        "counts",
        (Parameter("least", 2, 8, whole=True), Parameter("factor", 2, 3, whole=True)),
        _counts,
        Counts,
    ),
)
"""Each of a type of its own."""
