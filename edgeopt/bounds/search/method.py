"""Random points, moves of one number at a time, differential evolution; then the find is shrunk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.verdict import Finding
from edgeopt.errors import InstanceError, OptionError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.bounds.claim import Claim
    from edgeopt.bounds.search.family import Family
    from edgeopt.bounds.verdict import Verdict

__all__ = ["Found", "search"]

Point = tuple[float, ...]

_RANDOM: Final = 0.3
_MOVES: Final = 0.4
"""Shares of the budget; evolution has the rest."""


@dataclass(frozen=True, eq=False)
class Found:
    """The instance that leaves a claim the least room, of those looked at.

    Attributes
    ----------
    verdict
        What the claim says of it.
    instance
        The instance.
    parameters
        The numbers that it was built from.
    name
        Name of the family and those numbers.
    looked
        Number of instances that were checked.
    """

    verdict: Verdict
    instance: Any
    parameters: Mapping[str, Any]
    name: str
    looked: int

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the instance to a file, with its name in the sentences on its origin.

        Raises
        ------
        OptionError
            If the instance cannot be saved.
        """
        if not callable(getattr(self.instance, "save", None)):
            raise OptionError(f"{type(self.instance).__name__} cannot be saved to a file")
        said = f"Found by a search for the least slack of {self.verdict.claim}: {self.name}."
        instance = self.instance
        if hasattr(instance, "origin"):
            instance = instance.replace(origin=said)
        instance.save(path)


class _Looker:
    """Checks points, each once, and remembers the least slack."""

    def __init__(self, claim: Claim, family: Family, budget: int) -> None:
        self.claim, self.family, self.left = claim, family, budget
        self.looked = 0
        self.verdicts: dict[Point, Verdict | None] = {}

    def slack(self, point: Point) -> float:
        """Return the slack of a point, relative to the larger of the two numbers.

        Infinite where the claim says nothing or compares nothing with nothing: otherwise instances
        without any profit or cost would be the tightest of all.
        """
        if point not in self.verdicts:
            self.left -= 1
            self.looked += 1
            self.verdicts[point] = self._verdict(point)
        verdict = self.verdicts[point]
        if verdict is None or verdict.verdict is Finding.VACUOUS:
            return math.inf
        scale = max(abs(verdict.measured), abs(verdict.guaranteed))
        return verdict.slack / scale if scale > 0.0 else math.inf

    def _verdict(self, point: Point) -> Verdict | None:
        try:
            instance = self.family.build(self.family.named(point))
        except InstanceError:
            return None
        return self.claim.check(instance)

    def best(self, count: int = 1) -> list[Point]:
        """Return the points of least slack."""
        return sorted(self.verdicts, key=lambda point: (self.slack(point), point))[:count]


def search(
    claim: Claim, family: Family, budget: int = 400, rng: int | np.random.Generator = 0
) -> Found:
    """Look for the instance of a family that leaves a claim the least room.

    Parameters
    ----------
    claim
        The claim.
    family
        Where to look.
    budget
        Most instances to check before the find is shrunk; shrinking checks at most half as many.
    rng
        Seed, or a generator.

    Returns
    -------
    Found
        The least slack, relative to the larger of the two numbers compared; of a violated claim a
        simple instance that
        violates it.

    Raises
    ------
    OptionError
        If the budget is below 1, or the claim says nothing of any instance that was looked at.
    """
    if budget < 1:
        raise OptionError(f"budget = {budget}: must be at least 1")
    stream = np.random.default_rng(rng)
    looker = _Looker(claim, family, budget)
    while looker.left > (1.0 - _RANDOM) * budget:
        before = looker.left
        looker.slack(family.drawn(stream))
        if looker.left == before:  # a family of few points may have been seen whole
            looker.left -= 1
    until = (1.0 - _RANDOM - _MOVES) * budget
    for start in looker.best(4):
        _descend(looker, start, until + (looker.left - until) / 2, stream)
    _evolve(looker, stream)
    least = looker.best()[0]
    if math.isinf(looker.slack(least)):
        raise OptionError(f"claim {claim.id} says nothing of {family.name} where it was looked at")
    looker.left = budget // 2
    least = _shrunk(looker, least)
    verdict = looker.verdicts[least]
    assert verdict is not None
    numbers = family.named(least)
    listed = ", ".join(f"{name}={value:g}" for name, value in numbers.items())
    name = f"{family.name}({listed})"
    return Found(verdict, family.build(numbers), numbers, name, looker.looked)


def _descend(looker: _Looker, start: Point, until: float, rng: np.random.Generator) -> None:
    """Move one number at a time as long as that leaves less room, in ever smaller steps."""
    parameters = looker.family.parameters
    here, step = start, 0.25
    while looker.left > until and step > 1e-4:
        moved = False
        for i in rng.permutation(len(parameters)).tolist():
            reach = step * (parameters[i].high - parameters[i].low)
            if parameters[i].whole:
                reach = max(1.0, reach)
            for side in (reach, -reach):
                if looker.left <= until:
                    return
                point = np.array(here)
                point[i] += side
                there = looker.family.settled(point)
                if looker.slack(there) < looker.slack(here):
                    here, moved = there, True
                    break
        if not moved:
            step /= 2.0


def _evolve(looker: _Looker, rng: np.random.Generator) -> None:
    """Spend what is left of the budget on differential evolution from the best points."""
    from scipy.optimize import differential_evolution

    parameters = looker.family.parameters
    bounds = [(parameter.low, parameter.high) for parameter in parameters]
    first = np.array(looker.best(max(5, min(15, 3 * len(parameters)))))
    if looker.left < 1 or len(first) < 5 or all(low == high for low, high in bounds):
        return

    def worth(point: NDArray[np.float64]) -> float:
        settled = looker.family.settled(point)
        if looker.left < 1 and settled not in looker.verdicts:
            return 1e300
        return min(looker.slack(settled), 1e300)

    rounds = max(1, looker.left // len(first))
    differential_evolution(
        worth, bounds, init=first, maxiter=rounds, polish=False, tol=0.0, rng=rng,
        callback=lambda *_: looker.left < 1,
    )  # fmt: skip


def _shrunk(looker: _Looker, found: Point) -> Point:
    """Bring numbers to their simple values as long as nothing of the find is lost."""
    violated = looker.slack(found) < 0.0 and _violates(looker, found)
    here, changed = found, True
    while changed and looker.left > 0:
        changed = False
        for i, parameter in enumerate(looker.family.parameters):
            for part in (1.0, 0.5, 0.25):
                value = here[i] + part * (parameter.target - here[i])
                if not parameter.whole:
                    value = float(f"{value:.3g}")
                there = looker.family.settled(np.array((*here[:i], value, *here[i + 1 :])))
                if there == here or looker.left < 1:
                    continue
                fine = (
                    _violates(looker, there)
                    if violated
                    else (looker.slack(there) <= looker.slack(here))
                )
                if fine:
                    here, changed = there, True
                    break
    return here


def _violates(looker: _Looker, point: Point) -> bool:
    looker.slack(point)
    verdict = looker.verdicts[point]
    return verdict is not None and verdict.verdict is Finding.VIOLATED
