"""Random points, differential evolution, walks from the best; then the result is shrunk."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.bounds.claim import Claim
from edgeopt.bounds.search.found import Found
from edgeopt.bounds.search.moves import Evaluations, walk
from edgeopt.bounds.search.smallest import UNLIMITED, shrunk
from edgeopt.bounds.search.space import fitting, known_claim
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
"""Largest budget: more checks take years."""

_LOSS: Final = 1e-4
"""Relative slack that a tight find may lose altogether for the sake of plain numbers."""

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
    """Search a parameter space for the instance that leaves a claim the least slack.

    Parameters
    ----------
    claim
        The claim, or its identifier.
    space
        The parameter space, or its name; by default all spaces of the claim's system with instances
        to which it applies, or, where its identifier begins with no system's name, those of all
        systems.
    budget
        Most instances of each space to check before the result is shrunk. A tight find is shrunk by
        at most half as many checks; a violation by `smallest`, which ends by itself.
    rng
        Seed, or a generator.
    step
        Called after each check with the name of the space, for a progress bar.

    Returns
    -------
    Found
        The least slack, relative to the larger of the two numbers compared; or, as soon as one is
        found, a violation, the `smallest` that single moves lead to.

    Raises
    ------
    OptionError
        If the budget is below 1, claim or space are unknown, no space fits, or the claim is vacuous
        on every instance that was checked.

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
    searched = [Evaluations(claim, place, budget, step) for place in fitting(claim, space)]
    # An instance may be ill scaled and still be of least slack.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOptWarning)
        _search(searched, budget, stream)
        best = min(
            searched,
            key=lambda evaluations: (evaluations.violation is None, evaluations.least),
        )
        if best.violation is None and math.isinf(best.least):
            names = ", ".join(evaluations.space.name for evaluations in searched)
            raise OptionError(f"claim {claim.id} says nothing of {names} where it was checked")
        point = best.best()[0]
        if best.violation is None:
            best.left, most = budget // 2, best.slack(point) + _LOSS
            point = shrunk(best, point, lambda there: best.slack(there) <= most)
        if best.violation is not None:  # or met while a tight find was shrunk
            best.left = UNLIMITED
            point = shrunk(best, best.violation, best.violates)
        return Found.at(best, point, sum(evaluations.checked for evaluations in searched))


def _search(searched: list[Evaluations], budget: int, rng: np.random.Generator) -> None:
    """Draw points of all spaces, then search one after the other more closely."""
    for evaluations in searched:
        _draw(evaluations, round(_RANDOM * budget), rng)
        if evaluations.violation is not None:
            return
    for evaluations in searched:
        _evolve(evaluations, round(_EVOLUTION * budget), rng)
        _walk(evaluations, rng)
        if evaluations.violation is not None:
            return


def _draw(evaluations: Evaluations, checks: int, rng: np.random.Generator) -> None:
    for _ in range(max(1, checks)):  # all points of a small space may be known already
        evaluations.slack(evaluations.space.drawn(rng))
        if evaluations.violation is not None:
            return


def _walk(evaluations: Evaluations, rng: np.random.Generator) -> None:
    """Walk a little from each of the best points, then on from the best of all."""
    checks = evaluations.left // (2 * _STARTS)
    for start in evaluations.best(_STARTS):
        walk(evaluations, start, checks, rng)
    while not evaluations.over and evaluations.violation is None:
        before = evaluations.left
        walk(evaluations, evaluations.best()[0], evaluations.left, rng)
        if evaluations.left == before:  # nothing new lies around it
            return


def _evolve(evaluations: Evaluations, checks: int, rng: np.random.Generator) -> None:
    """Let the best points evolve, by differences of each other."""
    from scipy.optimize import differential_evolution

    space = evaluations.space
    free = [parameter.low < parameter.high for parameter in space.parameters]
    first = evaluations.best(max(5, min(15, 3 * len(free))))
    until = max(evaluations.left - checks, 0)
    if len(first) < 5 or not all(free) or checks < 1:
        return

    def worth(shares: NDArray[np.float64]) -> float:
        if evaluations.left <= until or evaluations.violation is not None:
            return _FAR
        return float(np.clip(evaluations.slack(space.at(shares)), -_FAR, _FAR))

    differential_evolution(
        worth,
        [(0.0, 1.0)] * len(free),
        init=np.clip([space.shares(point) for point in first], 0.0, 1.0),
        maxiter=max(1, checks // len(first)),
        polish=False,
        tol=0.0,
        rng=rng,
        callback=lambda *_: evaluations.left <= until or evaluations.violation is not None,
    )
