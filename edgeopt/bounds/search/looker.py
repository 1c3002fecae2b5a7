"""Looking at a point: build its instance, check the claim, remember what it said."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from edgeopt.bounds.verdict import Finding
from edgeopt.errors import EdgeOptError

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.bounds.claim import Claim
    from edgeopt.bounds.search.family import Family, Point
    from edgeopt.bounds.verdict import Verdict

__all__ = ["Looker"]


class Looker:
    """Checks points, each once, and remembers the least slack.

    Parameters
    ----------
    claim
        The claim.
    family
        Where to look.
    budget
        Looks that are left; further ones find nothing.
    step
        Called after each look with the name of the family.
    """

    def __init__(
        self, claim: Claim, family: Family, budget: int, step: Callable[[str], None] | None = None
    ) -> None:
        self.claim, self.family, self.left, self.step = claim, family, budget, step
        self.verdicts: dict[Point, Verdict | None] = {}
        self._slack: dict[Point, float] = {}
        self.violation: Point | None = None

    @property
    def looked(self) -> int:
        """Number of points looked at."""
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
                self.step(self.family.name)
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
            instance = self.family.build(self.family.named(point))
        except EdgeOptError:
            return None
        try:
            # A label saves the hash of an instance that is seldom asked for again.
            return self.claim.decide(
                instance, lambda: self.claim.view(instance), name=self.family.name
            )
        except EdgeOptError:  # such as a problem without a solution: nothing to compare
            return None


def _relative(verdict: Verdict | None) -> float:
    if verdict is None or verdict.verdict is Finding.VACUOUS:
        return math.inf
    scale = max(abs(verdict.measured), abs(verdict.guaranteed))
    if scale == 0.0:
        return math.inf
    if not math.isfinite(scale):  # infinitely much room, or infinitely little
        return math.copysign(math.inf, verdict.slack)
    return verdict.slack / scale
