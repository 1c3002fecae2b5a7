"""Compiled passes of INFIDA over all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from edgeopt.online.knapsack_projection import ascend_in_place
from edgeopt.rounding.kernels import count_fractional, depround_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]

__all__ = ["add_spread", "ascend", "count_coins", "draw"]


@njit(cache=True)
def ascend(
    point: Floats,
    gradient: Floats,
    size: Floats,
    budget: Floats,
    free: Bools,
    rates: Floats,
    out: Floats,
) -> None:
    """Write into `out` where a step from `point` leads; nodes without a decision stay."""
    for v in range(point.shape[0]):
        out[v] = point[v]
        if free[v] and rates[v] > 0.0:
            ascend_in_place(out[v], gradient[v], size[v], rates[v], budget[v])


@njit(cache=True)
def add_spread(gradient: Floats, size: Floats, free: Bools, allowed: Bools, spread: Floats) -> None:
    """Add to `spread` the squared range of every node's gradient per MB."""
    for v in range(gradient.shape[0]):
        if free[v]:
            low, high = np.inf, -np.inf
            for m in range(gradient.shape[1]):
                if allowed[v, m]:
                    worth = gradient[v, m] / size[v, m]
                    low, high = min(low, worth), max(high, worth)
            spread[v] += (high - low) ** 2


@njit(cache=True)
def count_coins(fractional: Floats, free: Bools, extra: int) -> int:
    """Return how many coins a refresh takes, `extra` ones at every node included."""
    total = 0
    for v in range(fractional.shape[0]):
        if free[v]:
            total += count_fractional(fractional[v]) + extra
    return total


@njit(cache=True)
def draw(
    fractional: Floats,
    size: Floats,
    budget: Floats,
    free: Bools,
    residual: int,
    fill: bool,
    credit: Floats,
    coins: Floats,
) -> Bools:
    """Round every node; `coins` has one row for all nodes in turn, or one row per node."""
    allocation = np.zeros(fractional.shape, dtype=np.bool_)
    common = coins.shape[0] > 1 or fractional.shape[0] == 1
    used = 0
    for v in range(fractional.shape[0]):
        if not free[v]:
            for m in range(fractional.shape[1]):
                allocation[v, m] = fractional[v, m] > 0.5
            continue
        mine = coins[v] if common else coins[0, used:]
        depround_row(fractional[v], size[v], residual, mine, allocation[v])
        used += count_fractional(fractional[v]) + (residual == 2)
        if fill:
            _fill(allocation[v], size[v], budget[v], credit[v])
    return allocation


@njit(cache=True)
def _fill(chosen: Bools, size: Floats, budget: float, credit: Floats) -> None:
    """Add the model of most credit per MB that fits, until none with credit does."""
    left = budget
    for m in range(size.size):
        if chosen[m]:
            left -= size[m]
    while True:
        best, most = -1, 0.0
        for m in range(size.size):
            if not chosen[m] and size[m] <= left and credit[m] > most * size[m]:
                best, most = m, credit[m] / size[m]
        if best < 0:
            return
        chosen[best] = True
        left -= size[best]
