"""Compiled passes of INFIDA over all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.online.knapsack_projection import ascend_in_place
from edgeopt.rounding.kernels import fill_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]

__all__ = ["add_spread", "ascend", "fill"]


@compiled(writes="out")
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
        put(point[v], out[v])
        if free[v] and rates[v] > 0.0:
            ascend_in_place(out[v], gradient[v], size[v], rates[v], budget[v])


@compiled(writes="spread")
def add_spread(gradient: Floats, size: Floats, free: Bools, allowed: Bools, spread: Floats) -> None:
    """Add to `spread` the squared range of every node's gradient per MB."""
    for v in range(gradient.shape[0]):
        if free[v]:
            low, high = np.inf, -np.inf
            for m in range(gradient.shape[1]):
                if allowed[v, m]:
                    # Most entries are 0, and a division costs more than looking.
                    worth = gradient[v, m] / size[v, m] if gradient[v, m] != 0.0 else 0.0
                    low, high = min(low, worth), max(high, worth)
            spread[v] += (high - low) ** 2


@compiled(writes="chosen")
def fill(chosen: Bools, size: Floats, budget: Floats, free: Bools, credit: Floats) -> None:
    """Add to every node the models of most credit per MB that fit."""
    for v in range(size.shape[0]):
        if free[v]:
            used = 0.0
            for m in range(size.shape[1]):
                used += size[v, m] if chosen[v, m] else 0.0
            fill_row(credit[v], size[v], budget[v] - used, chosen[v])
