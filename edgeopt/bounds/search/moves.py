"""Steps from a point to a nearby one that leaves less room."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from edgeopt.bounds.search.family import Family, Point
    from edgeopt.bounds.search.looker import Looker

__all__ = ["walk"]

_GOLDEN: Final = (1 + math.sqrt(5)) / 2

_SMALLEST: Final = 10
"""Steps go down to this power of the golden ratio, about a hundredth of the range."""

_ALONE: Final = 0.3
"""Share of the moves that change one number by a step."""

_TO_AN_END: Final = 0.1
"""Share of the moves that take one number to an end of its range."""

_DECADES: Final = math.log(10.0)
"""The largest step multiplies a pair of numbers by ten."""


def walk(looker: Looker, start: Point, looks: int, rng: np.random.Generator) -> Point:
    """Move by random steps, each repeated in growing length as long as it leaves less room.

    Most of the moves multiply one number and multiply or divide another one by the same factor.
    What a claim compares is made of products, so the points of least room often lie on a curve
    along which such a product is constant; steps of one number at a time leave it at once.
    """
    count = len(looker.family.parameters)
    here, until = start, max(looker.left - looks, 0)
    idle, patience = 0, 40 * count
    while looker.left > until and idle < patience and looker.violation is None:
        move = _drawn(looker.family, rng)
        length = _GOLDEN ** -rng.uniform(0.0, _SMALLEST) * rng.choice((-1.0, 1.0))
        idle += 1
        while looker.left > until:
            there = looker.family.settled(move(here, length))
            if there == here or looker.slack(there) > looker.slack(here):
                break
            if looker.slack(there) == looker.slack(here):
                if not looker.over:  # drift over ground where all points are alike
                    here = there
                break
            here, idle = there, 0
            length *= _GOLDEN
    return here


def _drawn(family: Family, rng: np.random.Generator) -> Callable[[Point, float], list[float]]:
    """Draw which numbers to move, and how."""
    kind, count = rng.random(), len(family.parameters)
    one = int(rng.integers(count))
    parameter = family.parameters[one]
    if kind < _TO_AN_END:

        def to_an_end(point: Point, length: float) -> list[float]:
            return _with(point, one, parameter.high if length > 0 else parameter.low)

        return to_an_end
    if kind < _TO_AN_END + _ALONE or count == 1:

        def alone(point: Point, length: float) -> list[float]:
            if parameter.whole:
                step = math.copysign(
                    max(1.0, abs(length) * (parameter.high - parameter.low)), length
                )
                return _with(point, one, point[one] + step)
            return _with(point, one, _along(family, one, point[one], length))

        return alone
    other = int((one + rng.integers(1, count)) % count)
    opposite = rng.choice((-1.0, 1.0))

    def together(point: Point, length: float) -> list[float]:
        moved = list(point)
        for place, way in ((one, length), (other, opposite * length)):
            if family.parameters[place].whole:
                moved[place] += math.copysign(1.0, way)
            else:
                moved[place] *= math.exp(_DECADES * way)
        return moved

    return together


def _along(family: Family, place: int, value: float, length: float) -> float:
    parameter = family.parameters[place]
    return parameter.at(min(max(parameter.share(value) + length, 0.0), 1.0))


def _with(point: Point, place: int, value: float) -> list[float]:
    moved = list(point)
    moved[place] = value
    return moved
