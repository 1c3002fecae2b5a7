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


SAMPLE = 32  # rows of each type that say how far from the cheapest the last of a few routes lies


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

    Of a row of each type about `few` are chosen on average: those within a margin of the cheapest.
    ``surcharge`` as in `cheapest_total`; ``chosen`` is changed in place, shape [A].
    """
    types, sites = surcharge.shape[1:]
    margin = _margins(first, site, cost, surcharge, few)
    value = np.empty(np.max(np.diff(first)), dtype=np.float64)
    improved = 0
    for row in range(first.size - 1):
        kind, begin, end = row % types, first[row], first[row + 1]
        extra = surcharge[row // (sites * types), kind]
        least, known = np.inf, np.inf
        for route in range(begin, end):
            each = cost[route] + extra[site[route]]
            value[route - begin] = each
            least = min(least, each)
            if chosen[route]:
                known = min(known, each)
        if least < known - tolerance:
            improved += 1
            most = least + margin[kind]
            for i in range(end - begin):
                if value[i] <= most:
                    chosen[begin + i] = True
    return improved


@compiled
def _margins(
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    cost: Floats,
    surcharge: Floats,
    few: int,
) -> Floats:
    """Return how much dearer than the cheapest route of a row a few others are, per type."""
    types, sites = surcharge.shape[1:]
    margin, best = np.zeros(types, dtype=np.float64), np.empty(few, dtype=np.float64)
    rows = first.size - 1
    for kind in range(types):
        total, seen = 0.0, 0
        for row in range(kind, rows, types * max(rows // (types * SAMPLE), 1)):
            best[:] = np.inf
            extra = surcharge[row // (sites * types), kind]
            for route in range(first[row], first[row + 1]):
                each = cost[route] + extra[site[route]]
                if each < best[few - 1]:
                    at = few - 1
                    while at > 0 and best[at - 1] > each:
                        best[at] = best[at - 1]
                        at -= 1
                    best[at] = each
            if best[few - 1] < np.inf:
                total += best[few - 1] - best[0]
                seen += 1
        margin[kind] = total / seen if seen > 0 else np.inf
    return margin
