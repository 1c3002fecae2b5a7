"""Compiled loops over the routes of a routing problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import njit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["cheapest_total", "weigh"]


@njit(cache=True)
def cheapest_total(
    demand: Floats,
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    cost: Floats,
    energy: Floats,
    work: Floats,
    energy_price: float,
    price: Floats,
    unserved: float,
) -> float:
    """Return the cost of all requests, each on its cheapest route at prices or unserved.

    ``demand`` is flat; ``price`` is the price of a GFLOP, shape [S, J].
    """
    sites, types = energy.shape
    total = 0.0
    for row in range(demand.size):
        if demand[row] > 0.0:
            slot, kind = row // (sites * types), row % types
            best = unserved
            for route in range(first[row], first[row + 1]):
                k = site[route]
                each = cost[route] + energy_price * energy[k, kind] + price[slot, k] * work[kind]
                best = min(best, each)
            total += demand[row] * best
    return total


@njit(cache=True)
def weigh(
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    cost: Floats,
    energy: Floats,
    work: Floats,
    energy_price: float,
    out: Floats,
) -> None:
    """Write the cost of each route per GFLOP, energy at its price included."""
    types = work.size
    for row in range(first.size - 1):
        kind = row % types
        for route in range(first[row], first[row + 1]):
            out[route] = (cost[route] + energy_price * energy[site[route], kind]) / work[kind]
