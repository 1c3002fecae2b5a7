"""Steps from a point to a nearby one of less slack."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from edgeopt.bounds.verdict import Finding, Verdict
from edgeopt.errors import EdgeOptError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from edgeopt.bounds.claim import Claim
    from edgeopt.bounds.search.space import ParameterSpace, Point

_GOLDEN: Final = (1 + math.sqrt(5)) / 2

_SMALLEST: Final = 10
"""Steps go down to this power of the golden ratio, about a hundredth of the range."""

_ALONE: Final = 0.3
"""Share of the moves that change one number by a step."""

_TO_AN_END: Final = 0.1
"""Share of the moves that take one number to an end of its range."""

_DECADES: Final = math.log(10.0)
"""The largest step multiplies a pair of numbers by ten."""


def walk(evaluations: Evaluations, start: Point, checks: int, rng: np.random.Generator) -> Point:
    """Move by random steps, each repeated in growing length as long as the slack falls.

    Most of the moves multiply one number and multiply or divide another one by the same factor.
    What a claim compares is made of products, so the points of least slack often lie on a curve
    along which such a product is constant; steps of one number at a time leave it at once.
    """
    count = len(evaluations.space.parameters)
    here, until = start, max(evaluations.left - checks, 0)
    idle, patience = 0, 40 * count
    while evaluations.left > until and idle < patience and evaluations.violation is None:
        move = _drawn(evaluations.space, rng)
        length = _GOLDEN ** -rng.uniform(0.0, _SMALLEST) * rng.choice((-1.0, 1.0))
        idle += 1
        while evaluations.left > until:
            there = evaluations.space.nearest(move(here, length))
            if there == here or evaluations.slack(there) > evaluations.slack(here):
                break
            if evaluations.slack(there) == evaluations.slack(here):
                if not evaluations.over:  # drift over ground where all points are alike
                    here = there
                break
            here, idle = there, 0
            length *= _GOLDEN
    return here


def _drawn(
    space: ParameterSpace, rng: np.random.Generator
) -> Callable[[Point, float], list[float]]:
    """Draw which numbers to move, and how."""
    kind, count = rng.random(), len(space.parameters)
    one = int(rng.integers(count))
    parameter = space.parameters[one]
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
            return _with(point, one, _along(space, one, point[one], length))

        return alone
    other = int((one + rng.integers(1, count)) % count)
    opposite = rng.choice((-1.0, 1.0))

    def together(point: Point, length: float) -> list[float]:
        moved = list(point)
        for place, way in ((one, length), (other, opposite * length)):
            if space.parameters[place].whole:
                moved[place] += math.copysign(1.0, way)
            else:
                moved[place] *= math.exp(_DECADES * way)
        return moved

    return together


def _along(space: ParameterSpace, place: int, value: float, length: float) -> float:
    parameter = space.parameters[place]
    return parameter.at(min(max(parameter.share(value) + length, 0.0), 1.0))


def _with(point: Point, place: int, value: float) -> list[float]:
    moved = list(point)
    moved[place] = value
    return moved


class Evaluations:
    """Checks the points of a space, each once and at most so many, and remembers the least slack.

    `step` is called after each check with the name of the space.
    """

    def __init__(
        self,
        claim: Claim,
        space: ParameterSpace,
        budget: int,
        step: Callable[[str], None] | None = None,
    ) -> None:
        self.claim, self.space, self.left, self.step = claim, space, budget, step
        self.verdicts: dict[Point, Verdict | None] = {}
        self._slack: dict[Point, float] = {}
        self.violation: Point | None = None

    @property
    def checked(self) -> int:
        """Number of points checked."""
        return len(self.verdicts)

    @property
    def least(self) -> float:
        """Least slack of all points."""
        return min(self._slack.values(), default=math.inf)

    @property
    def over(self) -> bool:
        """Whether the budget is spent."""
        return self.left < 1

    def slack(self, point: Point) -> float:
        """Return the slack of a point, relative to the larger of the two numbers.

        Infinite where the claim says nothing or compares nothing with nothing: otherwise instances
        without any profit or cost would be the tightest of all. Infinite too for a new point once
        the budget is spent.
        """
        if point not in self._slack:
            if self.over:
                return math.inf
            self.left -= 1
            verdict = self.verdicts[point] = self._verdict(point)
            self._slack[point] = _relative(verdict)
            if self.step is not None:
                self.step(self.space.name)
            if self.violation is None and self.violates(point):
                self.violation = point
        return self._slack[point]

    def violates(self, point: Point) -> bool:
        """Return whether the claim is violated at a point."""
        self.slack(point)
        verdict = self.verdicts.get(point)
        return verdict is not None and verdict.verdict is Finding.VIOLATED

    def best(self, count: int = 1) -> list[Point]:
        """Return the points of least slack."""
        return sorted(self._slack, key=lambda point: (self._slack[point], point))[:count]

    def _verdict(self, point: Point) -> Verdict | None:
        try:
            instance = self.space.build(self.space.named(point))
        except EdgeOptError:
            return None
        try:
            # A name saves the hash of an instance that is hardly ever built again.
            return self.claim.decide(
                instance, lambda: self.claim.view(instance), name=self.space.name
            )
        except EdgeOptError:  # such as a problem without a solution: nothing to compare
            return None


def _relative(verdict: Verdict | None) -> float:
    if verdict is None or verdict.verdict is Finding.VACUOUS:
        return math.inf
    scale = max(abs(verdict.measured), abs(verdict.guaranteed))
    if scale == 0.0:
        return math.inf
    if not math.isfinite(scale):  # infinite slack, of either sign
        return math.copysign(math.inf, verdict.slack)
    return verdict.slack / scale
