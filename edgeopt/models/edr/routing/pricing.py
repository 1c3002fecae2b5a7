"""The cheapest routes of every row at given prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.edr.routing.plan import Prices
    from edgeopt.models.edr.routing.problem import RoutingProblem

    Floats = NDArray[np.float64]

__all__ = ["cheapest_routes"]


def cheapest_routes(
    problem: RoutingProblem,
    prices: Prices | None,
    below: Floats,
    known: NDArray[np.bool_],
    count: int,
) -> NDArray[np.int64]:
    """Return the cheapest routes of each row that are not known yet.

    Parameters
    ----------
    problem
        The routes.
    prices
        Prices of what they use; None: only their own cost counts.
    below
        What a route must cost less than, by row, shape [S J N].
    known
        Routes to leave out, shape [A].
    count
        How many routes of a row at most.

    Returns
    -------
    The routes, in ascending order.
    """
    site = np.zeros(problem.capacity.shape)
    energy_price = 0.0
    if prices is not None:
        site = prices.site + prices.room
        energy_price = prices.energy
    found = np.empty(min(problem.routes, count * problem.demand.size), dtype=np.int64)
    size = _collect(
        problem.first, problem.site, problem.cost, problem.energy, problem.work,
        energy_price, site, below, known, count, found,
    )  # fmt: skip
    return np.sort(found[:size])


@njit(cache=True)
def _collect(
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    cost: Floats,
    energy: Floats,
    work: Floats,
    energy_price: float,
    price: Floats,
    below: Floats,
    known: NDArray[np.bool_],
    count: int,
    found: NDArray[np.int64],
) -> int:
    """Write the routes and return their number; `price` is that of a GFLOP, shape [S, J]."""
    sites, types = energy.shape
    value, best = np.empty(count), np.empty(count, dtype=np.int64)
    size = 0
    for row in range(first.size - 1):
        slot, kind = row // (sites * types), row % types
        held = 0
        for route in range(first[row], first[row + 1]):
            if known[route]:
                continue
            k = site[route]
            each = cost[route] + energy_price * energy[k, kind] + price[slot, k] * work[kind]
            if each >= below[row] or (held == count and each >= value[held - 1]):
                continue
            at = held if held < count else count - 1
            while at > 0 and value[at - 1] > each:
                value[at], best[at] = value[at - 1], best[at - 1]
                at -= 1
            value[at], best[at] = each, route
            held = min(held + 1, count)
        found[size : size + held] = best[:held]
        size += held
    return size
