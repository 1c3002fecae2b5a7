"""Random points, differential evolution, walks from the best; then the find is shrunk."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.bounds.search.found import Found
from edgeopt.bounds.search.looker import Looker
from edgeopt.bounds.search.moves import walk
from edgeopt.bounds.search.registry import families
from edgeopt.bounds.search.shrink import shrunk
from edgeopt.errors import EdgeOptWarning, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.bounds.claim import Claim
    from edgeopt.bounds.search.family import Family

__all__ = ["fitting", "known_claim", "search"]

_RANDOM: Final = 0.25
_EVOLUTION: Final = 0.1
"""Shares of the budget; walks have the rest."""

_FAR: Final = 1e6
"""Stands for an infinite slack, which evolution cannot compute with."""

_STARTS: Final = 3
"""Points from which walks start before they go on from the best one."""


def search(
    claim: str | Claim,
    family: str | Family | None = None,
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
    family
        Where to look, or its name; by default one after the other all families of the claim's
        system whose instances it speaks about, until one holds a violation.
    budget
        Most instances of a family to check before the find is shrunk; shrinking checks at most half
        as many.
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
    >>> search("rescue.recursion.printed").verdict.verdict.value
    'violated'
    """
    if budget < 1:
        raise OptionError(f"budget = {budget}: must be at least 1")
    if isinstance(claim, str):
        claim = known_claim(claim)
    stream = np.random.default_rng(rng)
    best: Found | None = None
    looked = 0
    places = fitting(claim, family)
    for place in places:
        looker = Looker(claim, place, budget, step)
        # An instance may be ill scaled and still be the one that is looked for.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOptWarning)
            found = _found(looker, budget, stream)
        looked += looker.looked
        if found is not None and (best is None or found.before(best)):
            best = found
        if looker.violation is not None:
            break
    if best is None:
        names = ", ".join(place.name for place in places)
        raise OptionError(f"claim {claim.id} says nothing of {names} where it was looked at")
    return best.after(looked)


def known_claim(name: str) -> Claim:
    """Return the claim of an identifier.

    Parameters
    ----------
    name
        The identifier, or a pattern that only one fits.

    Returns
    -------
    Claim
        The claim.

    Raises
    ------
    OptionError
        If there is none, or several.
    """
    from edgeopt.bounds.registry import claims

    chosen = claims(name)
    if len(chosen) > 1:
        first = ", ".join(list(chosen)[:3])
        raise OptionError(f"{name!r} are {len(chosen)} claims, {first} and so on; name one")
    return next(iter(chosen.values()))


def fitting(claim: Claim, family: str | Family | None = None) -> list[Family]:
    """Return the families to look at for a claim, or the one that is wanted.

    Parameters
    ----------
    claim
        The claim.
    family
        A family, or the name of one of the claim's system.

    Returns
    -------
    list of Family
        In the order in which they are looked at.

    Raises
    ------
    OptionError
        If none fits, or the one that is wanted is unknown or does not fit.
    """
    if family is not None and not isinstance(family, str):
        return [family]
    known = families(claim.id.partition(".")[0])
    fit = [one for one in known.values() if one.fits(claim)]
    if family is None:
        if not fit:
            raise OptionError(f"claim {claim.id}: no family holds the instances that it is about")
        return fit
    if family not in {one.name for one in fit}:
        listed = ", ".join(one.name for one in fit) or "none"
        raise OptionError(f"family {family!r} does not fit claim {claim.id}; these do: {listed}")
    return [known[family]]


def _found(looker: Looker, budget: int, stream: np.random.Generator) -> Found | None:
    """Look at a family; return the find, or nothing if the claim says nothing there."""
    _draw(looker, round(_RANDOM * budget), stream)
    if looker.violation is None:
        _evolve(looker, round(_EVOLUTION * budget), stream)
    _walk(looker, stream)
    least = looker.best()[0] if looker.violation is None else looker.violation
    if math.isinf(looker.slack(least)) and looker.violation is None:
        return None
    looker.left = budget // 2
    least = shrunk(looker, least)
    if looker.violation is not None and not looker.violates(least):  # met while shrinking
        least = shrunk(looker, looker.violation)
    return Found.at(looker, least)


def _draw(looker: Looker, looks: int, rng: np.random.Generator) -> None:
    for _ in range(max(1, looks)):  # a family of few points may have been seen whole
        looker.slack(looker.family.drawn(rng))
        if looker.violation is not None:
            return


def _walk(looker: Looker, rng: np.random.Generator) -> None:
    """Walk a little from each of the best points, then on from the best of all."""
    looks = looker.left // (2 * _STARTS)
    for start in looker.best(_STARTS):
        walk(looker, start, looks, rng)
    while not looker.over and looker.violation is None:
        before = looker.left
        walk(looker, looker.best()[0], looker.left, rng)
        if looker.left == before:  # nothing new lies around it
            return


def _evolve(looker: Looker, looks: int, rng: np.random.Generator) -> None:
    """Let the best points evolve, by differences of each other."""
    from scipy.optimize import differential_evolution

    family = looker.family
    free = [parameter.low < parameter.high for parameter in family.parameters]
    first = looker.best(max(5, min(15, 3 * len(free))))
    until = max(looker.left - looks, 0)
    if len(first) < 5 or not all(free) or looks < 1:
        return

    def worth(shares: NDArray[np.float64]) -> float:
        if looker.left <= until or looker.violation is not None:
            return _FAR
        return float(np.clip(looker.slack(family.at(shares)), -_FAR, _FAR))

    differential_evolution(
        worth,
        [(0.0, 1.0)] * len(free),
        init=np.clip([family.shares(point) for point in first], 0.0, 1.0),
        maxiter=max(1, looks // len(first)),
        polish=False,
        tol=0.0,
        rng=rng,
        callback=lambda *_: looker.left <= until or looker.violation is not None,
    )
