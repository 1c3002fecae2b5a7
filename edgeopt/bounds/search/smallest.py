"""Small points: from a find, by single moves to smaller ones, until none is left."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from edgeopt.bounds.claim import Claim
from edgeopt.bounds.search.found import Found
from edgeopt.bounds.search.moves import Evaluations
from edgeopt.bounds.search.space import known_claim
from edgeopt.errors import EdgeOptWarning, OptionError
from edgeopt.options import check_kind, check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgeopt.bounds.search.space import Parameter, ParameterSpace, Point

__all__ = ["smallest"]

_MOST = 12
"""Digits that tell two numbers apart."""

UNLIMITED = 10**9
"""Moves to smaller points end by themselves."""


def smallest(
    claim: str | Claim,
    found: Found | Mapping[str, Any],
    space: ParameterSpace | None = None,
    *,
    step: Callable[[str], None] | None = None,
) -> Found:
    """Return a violation of a claim that no single move makes smaller.

    A move drops one entity, where a parameter counts them (`Parameter.count`), or replaces one
    number: by its simple value, 0, 1, the next whole number towards 0, half of it or half the way
    to its simple value (exactly, or to one or two digits), or itself with fewer digits; each is
    brought into the number's range. The order of moves is fixed. A move is taken if it leads to a
    smaller instance that still violates the claim: one with fewer entities; with as many and fewer
    different numbers; with as many of both and fewer digits altogether; or, where all that is
    alike, with numbers nearer to their simple values, in shares of their ranges. So the moves end,
    and the last pass over all of them shows that none is left.

    To keep a violation is to be one, beyond the claim's own tolerance: what is returned shows that
    the claim is false, not by how much.

    Parameters
    ----------
    claim
        The claim, or its identifier.
    found
        What a search has found, or the numbers by name that an instance is built from.
    space
        The parameter space; by default the one in which the search has found it.
    step
        Called after each check with the name of the space.

    Returns
    -------
    Found
        The violation, and how many instances were checked on the way.

    Raises
    ------
    OptionError
        If the numbers are not those of the space, or their instance does not violate the claim.

    Examples
    --------
    >>> from edgeopt.bounds.search import smallest, spaces
    >>> numbers = {"tasks": 3, "period": 2, "horizon": 17}
    >>> found = smallest("idn.average.published", numbers, spaces("idn")["experts"])
    >>> found.parameters
    {'horizon': 1, 'tasks': 2, 'period': 1}
    """
    if not isinstance(claim, Claim):
        check_text("claim", claim)
        claim = known_claim(claim)
    if isinstance(found, Found):
        space, found = space or found.space, found.parameters
    if space is None:
        raise OptionError("space: name the parameter space whose numbers these are")
    check_kind("found", found, Found, Mapping)
    wanted = [parameter.name for parameter in space.parameters]
    if set(found) != set(wanted):
        raise OptionError(f"found: must give the numbers {', '.join(wanted)}")
    point = space.nearest(found[name] for name in wanted)
    evaluations = Evaluations(claim, space, UNLIMITED, step)
    # An instance may be ill scaled and still refute a claim.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOptWarning)
        if not evaluations.violates(point):
            raise OptionError(f"found: does not violate claim {claim.id}; nothing to make smaller")
        point = shrunk(evaluations, point, evaluations.violates)
        return Found.at(evaluations, point, evaluations.checked)


def shrunk(evaluations: Evaluations, found: Point, fine: Callable[[Point], bool]) -> Point:
    """Take single moves to smaller points that are fine until none is left, or the budget is spent.

    Sizes fall, so that the moves end.
    """
    space, here, changed = evaluations.space, found, True
    while changed and not evaluations.over:
        changed = False
        for place in _places(space):
            for there in _moves_of(space, here, place):
                if fine(there):
                    here, changed = there, True
                    break
    return here


def _places(space: ParameterSpace) -> list[int]:
    """Return the places of all parameters, of counts first."""
    return sorted(range(len(space.parameters)), key=lambda place: not space.parameters[place].count)


def _moves_of(space: ParameterSpace, point: Point, place: int) -> Iterator[Point]:
    """Yield the smaller points that differ in one number."""
    parameter, value = space.parameters[place], point[place]
    before = _size(space, point)
    for plain in dict.fromkeys(map(parameter.nearest, _plainer(parameter, value))):
        there = (*point[:place], plain, *point[place + 1 :])
        if _size(space, there) < before:
            yield there


def _plainer(parameter: Parameter, value: float) -> Iterator[float]:
    """Yield what a number may be replaced by."""
    target = parameter.target
    if parameter.count:
        yield value - 1
    yield target
    yield 0.0
    yield 1.0
    whole = abs(value) // 1
    yield math.copysign(whole - 1 if whole == abs(value) else whole, value)
    for half in (value / 2, (value + target) / 2):
        yield from (half, _short(half, 1), _short(half, 2))
    yield from (_short(value, digits) for digits in range(1, _digits(value)))


def _size(space: ParameterSpace, point: Point) -> tuple[float, int, int, float]:
    """Return entities, different numbers, digits, and how far numbers are from simple ones."""
    far = 0.0
    entities = 0.0
    for parameter, value in zip(space.parameters, point, strict=True):
        entities += value if parameter.count else 0.0
        far += abs(parameter.share(value) - parameter.share(parameter.target))
    return entities, len(set(point)), sum(map(_digits, point)), far


def _short(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _digits(value: float) -> int:
    """Return how many digits a number has, without zeros before and after them."""
    return len(Decimal(f"{value:.{_MOST}g}").normalize().as_tuple().digits)
