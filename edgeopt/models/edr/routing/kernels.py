"""Compiled loops over the routes of a routing problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats


@compiled(writes="least")
def lower_to_cheapest(
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    cost: Floats,
    surcharge: Floats,
    least: Floats,
) -> None:
    """Lower what a request of each row costs at least to the cost of the cheapest of its routes.

    ``least`` is flat; ``surcharge`` is what a request pays at each site on top of the cost of its
    route, shape [S, N, J].
    """
    types, sites = surcharge.shape[1:]
    for row in range(least.size):
        extra, best = surcharge[row // (sites * types), row % types], least[row]
        for route in range(first[row], first[row + 1]):
            best = min(best, cost[route] + extra[site[route]])
        least[row] = best


SAMPLE = 32  # rows of each type that say how far from the cheapest the last of a few routes lies


@compiled(writes="least")
def cheapest_routes(
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    cost: Floats,
    surcharge: Floats,
    few: int,
    others: Floats,
    tolerance: float,
    least: Floats,
) -> tuple[NDArray[np.int64], Floats]:
    """Return the cheapest routes of the rows that have a cheaper one than known, and margins.

    Of a row of each type about `few` are returned on average: those within a margin of the
    cheapest. What a request costs at least becomes ``least`` from what it costs on known routes;
    rows are left out where no other route costs less than ``others``. Both are flat; ``surcharge``
    as in `lower_to_cheapest`.
    """
    types, sites = surcharge.shape[1:]
    margin = _margins(first, site, cost, surcharge, few)
    value = np.empty(np.max(np.diff(first)), dtype=np.float64)
    found = np.empty(site.size, dtype=np.int64)
    count = 0
    for row in range(least.size):
        if others[row] < least[row]:
            kind, here = row % types, slice(first[row], first[row + 1])
            there, costs, extra = site[here], cost[here], surcharge[row // (sites * types), kind]
            cheapest = np.inf
            for i in range(costs.size):
                value[i] = costs[i] + extra[there[i]]
                cheapest = min(cheapest, value[i])
            if cheapest < least[row] - tolerance:
                for i in range(costs.size):
                    if value[i] <= cheapest + margin[kind]:
                        found[count] = first[row] + i
                        count += 1
            least[row] = min(least[row], cheapest)
    return found[:count].copy(), margin


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
                # Insertion keeps the few cheapest in order.
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
