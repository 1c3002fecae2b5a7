"""Fractional rounds of one frame, as exact numbers, and the distributions of their rounding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption, NotApplicableError
from edgeopt.instances.edr import EdrInstance
from edgeopt.rounding import Distribution, pairwise_distribution
from edgeopt_papers.edr.claims.evaluation import TASKS, Evaluation, Planned, claim
from edgeopt_papers.edr.claims.relaxed import Relaxed

if TYPE_CHECKING:
    from collections.abc import Sequence


WIDEST = 8
"""Most fractional entries whose exact distribution is found."""

SMALLEST = 10**6
"""Largest denominator of rounds; theirs would be a power of two and long, if they were floats."""

FEW = 6
"""Most frames of an instance that are rounded."""


@dataclass(frozen=True)
class Frame:
    """Fractional rounds with the energy and the cost of each."""

    rounds: tuple[Fraction, ...]  # fractional rounds, shape [I]
    energy: tuple[Fraction, ...]  # energy of a round, shape [I]
    cost: tuple[Fraction, ...] = ()  # cost of a round, shape [I]; the energy by default

    @classmethod
    def of(
        cls,
        rounds: Sequence[float | Fraction],
        energy: Sequence[float | Fraction],
        cost: Sequence[float | Fraction] | None = None,
    ) -> Frame:
        """Take the numbers over exactly."""
        weights = tuple(Fraction(e) for e in energy)
        prices = weights if cost is None else tuple(Fraction(c) for c in cost)
        return cls(tuple(Fraction(x) for x in rounds), weights, prices)

    def fingerprint(self) -> str:
        """Return the numbers themselves, which are few."""
        parts = zip(self.rounds, self.energy, strict=True)
        return " ".join(f"{x}:{e}" for x, e in parts)

    @property
    def spent(self) -> Fraction:
        """Energy of the fractional rounds."""
        return product(self.energy, self.rounds)

    @property
    def mixed(self) -> list[int]:
        """Tasks that need energy and whose rounds are not whole."""
        return [
            i
            for i, (x, e) in enumerate(zip(self.rounds, self.energy, strict=True))
            if x.denominator > 1 and e > 0
        ]

    @property
    def hungriest(self) -> Fraction:
        """Largest energy of a round of a task in `mixed`, or 0."""
        return max((self.energy[i] for i in self.mixed), default=Fraction(0))

    def distribution(self, residual: str, margin: Fraction | None = None) -> Distribution:
        """Return the distribution of Algorithm 2 as the library draws it."""
        return pairwise_distribution(self.rounds, self.energy, residual=residual, margin=margin)  # type: ignore[arg-type]


def product(left: Sequence[Fraction], right: Sequence[Fraction | int]) -> Fraction:
    """Return the exact scalar product."""
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def mean(distribution: Distribution) -> tuple[Fraction, ...]:
    """Return the expectation of each entry."""
    width = len(next(iter(distribution)))
    return tuple(
        sum((chance * outcome[i] for outcome, chance in distribution.items()), Fraction(0))
        for i in range(width)
    )


def frames_of(given: EdrInstance | Planned | Relaxed | Frame) -> list[Frame]:
    """Return the frame itself, or the first frames of an instance that are not whole."""
    if isinstance(given, Frame):
        return [given]
    view = Evaluation(given)
    found: list[Frame] = []
    for t in np.flatnonzero((view.points % 1 != 0).any(axis=1)).tolist():
        rounds = [Fraction(x).limit_denominator(SMALLEST) for x in view.points[t].tolist()]
        frame = Frame.of(rounds, view.problem.energy[t].tolist(), view.problem.cost[t].tolist())
        if sum(x.denominator > 1 for x in rounds) <= WIDEST:
            found.append(frame)
        if len(found) == FEW:
            break
    if not found:
        raise NotApplicableError("no frame with some fractional rounds, and not too many")
    return found


ROUNDED = Assumption(
    TASKS.name, TASKS.statement, lambda given: isinstance(given, Frame) or TASKS.holds(given)
)

about_frames = partial(
    claim,
    instance_type=(EdrInstance, Planned, Relaxed, Frame),
    view=frames_of,
    assumptions=(ROUNDED,),
)
"""Build a claim about fractional rounds of single frames."""
