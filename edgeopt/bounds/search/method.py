"""Random points, differential evolution, walks from the best; then the find is shrunk."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.bounds.claim import Claim
from edgeopt.bounds.search.found import Found
from edgeopt.bounds.search.moves import Evaluations, shrunk, walk
from edgeopt.bounds.search.registry import fitting, known_claim
from edgeopt.errors import EdgeOptWarning, OptionError
from edgeopt.options import check_text, check_whole, generator

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.bounds.search.space import ParameterSpace

_RANDOM: Final = 0.25
_EVOLUTION: Final = 0.1
"""Shares of the budget; walks have the rest."""

_FAR: Final = 1e6
"""Stands for an infinite slack, which evolution cannot compute with."""

_MOST: Final = 10**8
"""Largest budget: more looks take years."""

_STARTS: Final = 3
"""Points from which walks start before they go on from the best one."""


def search(
    claim: str | Claim,
    space: str | ParameterSpace | None = None,
    budget: int = 800,
    rng: int | np.random.Generator = 0,
    *,
    step: Callable[[str], None] | None = None,
) -> Found:
    """Look for the instance of a family that leaves a claim the least room.

    Parameters
    ----------
    claim
        The claim, or its identifier.
    space
        Where to look, or its name; by default all families of the claim's system whose instances
        it speaks about.
    budget
        Most instances of each family to check before the find is shrunk; shrinking checks at most
        half as many.
    rng
        Seed, or a generator.
    step
        Called after each look with the name of the family, for a progress bar.

    Returns
    -------
    Found
        The least slack, relative to the larger of the two numbers compared; or, as soon as one is
        found, a violation, made simple.

    Raises
    ------
    OptionError
        If the budget is below 1, claim or family are unknown, no family fits, or the claim says
        nothing of any instance that was looked at.

    Examples
    --------
    >>> from edgeopt.bounds import search
    >>> search("rescue.routing.published").verdict.verdict.value
    'violated'
    """
    check_whole("budget", budget, 1, _MOST)
    stream = generator(rng)
    if not isinstance(claim, Claim):
        check_text("claim", claim)
        claim = known_claim(claim)
    several_evaluations = [
        Evaluations(claim, place, budget, step) for place in fitting(claim, space)
    ]
    # An instance may be ill scaled and still be the one that is looked for.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOptWarning)
        _look(several_evaluations, budget, stream)
        best = min(
            several_evaluations,
            key=lambda evaluations: (evaluations.violation is None, evaluations.least),
        )
        if best.violation is None and math.isinf(best.least):
            names = ", ".join(evaluations.space.name for evaluations in several_evaluations)
            raise OptionError(f"claim {claim.id} says nothing of {names} where it was looked at")
        best.left = budget // 2
        point = shrunk(best, best.best()[0] if best.violation is None else best.violation)
        if best.violation is not None and not best.violates(point):  # met while shrinking
            point = shrunk(best, best.violation)
        return Found.at(best, point, sum(evaluations.looked for evaluations in several_evaluations))


def _look(several_evaluations: list[Evaluations], budget: int, rng: np.random.Generator) -> None:
    """Look around in all families, then more closely in one after the other."""
    for evaluations in several_evaluations:
        _draw(evaluations, round(_RANDOM * budget), rng)
        if evaluations.violation is not None:
            return
    for evaluations in several_evaluations:
        _evolve(evaluations, round(_EVOLUTION * budget), rng)
        _walk(evaluations, rng)
        if evaluations.violation is not None:
            return


def _draw(evaluations: Evaluations, looks: int, rng: np.random.Generator) -> None:
    for _ in range(max(1, looks)):  # a family of few points may have been seen whole
        evaluations.slack(evaluations.space.drawn(rng))
        if evaluations.violation is not None:
            return


def _walk(evaluations: Evaluations, rng: np.random.Generator) -> None:
    """Walk a little from each of the best points, then on from the best of all."""
    looks = evaluations.left // (2 * _STARTS)
    for start in evaluations.best(_STARTS):
        walk(evaluations, start, looks, rng)
    while not evaluations.over and evaluations.violation is None:
        before = evaluations.left
        walk(evaluations, evaluations.best()[0], evaluations.left, rng)
        if evaluations.left == before:  # nothing new lies around it
            return


def _evolve(evaluations: Evaluations, looks: int, rng: np.random.Generator) -> None:
    """Let the best points evolve, by differences of each other."""
    from scipy.optimize import differential_evolution

    space = evaluations.space
    free = [parameter.low < parameter.high for parameter in space.parameters]
    first = evaluations.best(max(5, min(15, 3 * len(free))))
    until = max(evaluations.left - looks, 0)
    if len(first) < 5 or not all(free) or looks < 1:
        return

    def worth(shares: NDArray[np.float64]) -> float:
        if evaluations.left <= until or evaluations.violation is not None:
            return _FAR
        return float(np.clip(evaluations.slack(space.at(shares)), -_FAR, _FAR))

    differential_evolution(
        worth,
        [(0.0, 1.0)] * len(free),
        init=np.clip([space.shares(point) for point in first], 0.0, 1.0),
        maxiter=max(1, looks // len(first)),
        polish=False,
        tol=0.0,
        rng=rng,
        callback=lambda *_: evaluations.left <= until or evaluations.violation is not None,
    )
