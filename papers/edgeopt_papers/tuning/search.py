"""Search for the best place on a grid of factors, with a budget of evaluations."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Place = tuple[float, ...]

STEP: Final = math.sqrt(10.0)
"""Factor between two values of a parameter that are one step apart."""

GRID: Final = (-1.0, 0.0, 1.0, 2.0)
"""Steps from the default at which the search begins, for each parameter."""


def best_of(values: Mapping[Place, float]) -> Place:
    """Return the place of the least value; of equal ones, the nearest to the default."""
    return min(values, key=lambda place: (values[place], math.hypot(*place), place))


def search(value: Callable[[Place], float], budget: int, parameters: int) -> dict[Place, float]:
    """Return the values at as many places as the budget allows, in the order of the search.

    A place is given in steps from the default. The search begins on the grid. While the best place
    lies on an edge of the grid, the grid gets another line beyond that edge, in turns where it is
    on several; else a grid of half the step is laid around it. What exceeds the budget is left out,
    what is nearest to the best place first taken.
    """
    found: dict[Place, float] = {}
    axes = [list(GRID) for _ in range(parameters)]
    best, step, last = (0.0,) * parameters, 1.0, parameters - 1
    while len(found) < budget:
        new = [place for place in product(*axes) if place not in found]
        new.sort(key=lambda place: (math.dist(place, best), place))
        for place in new[: budget - len(found)]:
            found[place] = value(place)
        best = best_of(found)
        turns = [(last + 1 + k) % parameters for k in range(parameters)]
        edges = [k for k in turns if best[k] in (axes[k][0], axes[k][-1])]
        if edges:
            last = edges[0]
            low = best[last] == axes[last][0]
            axes[last].insert(0 if low else len(axes[last]), best[last] + (-step if low else step))
        else:
            step /= 2
            axes = [[middle - step, middle, middle + step] for middle in best]
    return found
