"""Families of the few numbers that single formulas of OINC speak about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.bounds.oinc.counterexamples import Moment
from edgeopt.bounds.oinc.modelling import Served
from edgeopt.bounds.oinc.periods import Periods
from edgeopt.bounds.oinc.radio import Link
from edgeopt.bounds.oinc.reservation import Split
from edgeopt.bounds.oinc.reward import TwoPlans
from edgeopt.bounds.oinc.theorem3 import Counts
from edgeopt.bounds.search.family import Family, Parameter
from edgeopt.bounds.search.rows import row, values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.oinc.channel import Channel

__all__ = ["FORMULAS"]

_CHANNELS: Final[tuple[Channel, ...]] = ("physical", "literal", "printed")


def _periods(point: Mapping[str, Any]) -> Periods:
    return Periods(tuple(values(point, "work")), tuple(values(point, "share")))


def _split(point: Mapping[str, Any]) -> Split:
    speed = tuple(values(point, "speed"))
    return Split(speed, (point["kept"], 0.0), point["needed"], point["part"])


def _plans(point: Mapping[str, Any]) -> TwoPlans:
    (a, *more), (b, *others) = (values(point, name) for name in ("first", "second"))
    return TwoPlans(((a,), tuple(more)), ((b,), tuple(others)))


def _link(point: Mapping[str, Any]) -> Link:
    numbers = {name: value for name, value in point.items() if name != "channel"}
    return Link(_CHANNELS[point["channel"]], **numbers)


def _counts(point: Mapping[str, Any]) -> Counts:
    return Counts(tuple(point["least"] * point["factor"] ** power for power in range(3)))


FORMULAS = (
    Family(
        "moments",
        (Parameter("arrival", 0.0, 3.0), Parameter("duration", 0.01, 3.0, simple=1.0)),
        lambda point: Moment(**point),
        Moment,
    ),
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
        "two_plans",
        (*row("first", 4, 0.1, 1.0), *row("second", 4, 0.1, 1.0)),
        _plans,
        TwoPlans,
    ),
    Family(
        "served",
        (
            Parameter("work", 1.0, 20.0, simple=10.0),
            Parameter("speed", 1.0, 10.0, simple=5.0),
            Parameter("share", 0.1, 1.0, simple=1.0),
            Parameter("slots", 1, 5, whole=True),
        ),
        lambda point: Served(**point),
        Served,
    ),
    Family(
        "links",
        (
            Parameter("channel", 0, len(_CHANNELS) - 1, whole=True),
            Parameter("kilometres", 0.05, 0.5, simple=0.15),
            Parameter("milliwatt", 10.0, 100.0, simple=100.0),
            Parameter("megahertz", 1.0, 5.0, simple=3.0),
            Parameter("megabit", 1.0, 15.0, simple=6.4),
        ),
        _link,
        Link,
    ),
    Family(
        "counts",
        (Parameter("least", 2, 8, whole=True), Parameter("factor", 2, 3, whole=True)),
        _counts,
        Counts,
    ),
)
"""Each of a type of its own."""
