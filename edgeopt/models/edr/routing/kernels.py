"""Compiled loops over the routes of a routing problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@compiled
def cheapest_total(
    demand: Floats,
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    cost: Floats,
    surcharge: Floats,
    unserved: float,
) -> float:
    """Return the cost of all requests, each on its cheapest route or unserved.

    ``demand`` is flat; ``surcharge`` is what a request pays at each site on top of the cost of its
    route, shape [S, N, J].
    """
    types, sites = surcharge.shape[1:]
    total = 0.0
    for row in range(demand.size):
        if demand[row] > 0.0:
            extra = surcharge[row // (sites * types), row % types]
            best = unserved
            for route in range(first[row], first[row + 1]):
                best = min(best, cost[route] + extra[site[route]])
            total += demand[row] * best
    return total


@compiled(writes="out")
def weigh(
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    cost: Floats,
    surcharge: Floats,
    work: Floats,
    out: Floats,
) -> None:
    """Write the cost of each route per GFLOP; ``surcharge`` has the shape [N, J]."""
    types = work.size
    for row in range(first.size - 1):
        kind = row % types
        for route in range(first[row], first[row + 1]):
            out[route] = (cost[route] + surcharge[kind, site[route]]) / work[kind]


@compiled
def cost_routes(
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    seconds: Floats,
    energy: Floats,
    per_energy: float,
    per_second: float,
) -> Floats:
    """Return the cost of a request on each route, shape [A]."""
    cost = np.empty(site.size, dtype=np.float64)
    types = energy.shape[1]
    for row in range(first.size - 1):
        kind = row % types
        for route in range(first[row], first[row + 1]):
            cost[route] = per_energy * energy[site[route], kind] + per_second * seconds[route]
    return cost


@compiled(writes="chosen")
def cheapest_routes(
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    cost: Floats,
    surcharge: Floats,
    few: int,
    chosen: NDArray[np.bool_],
    tolerance: float,
) -> int:
    """Choose the cheapest routes of each row, where a better one than chosen exists.

    ``surcharge`` as in `cheapest_total`; ``chosen`` is changed in place, shape [A].
    """
    types, sites = surcharge.shape[1:]
    best, place = np.empty(few, dtype=np.float64), np.empty(few, dtype=np.int64)
    improved = 0
    for row in range(first.size - 1):
        extra = surcharge[row // (sites * types), row % types]
        least, worst, kept = np.inf, np.inf, 0
        for route in range(first[row], first[row + 1]):
            each = cost[route] + extra[site[route]]
            if chosen[route]:
                least = min(least, each)
            if each < worst:
                # Sorted insertion; the list is short.
                at = kept if kept < few else few - 1
                while at > 0 and best[at - 1] > each:
                    best[at], place[at] = best[at - 1], place[at - 1]
                    at -= 1
                best[at], place[at] = each, route
                kept = min(kept + 1, few)
                if kept == few:
                    worst = best[few - 1]
        if kept > 0 and best[0] < least - tolerance:
            improved += 1
            for i in range(kept):
                chosen[place[i]] = True
    return improved
