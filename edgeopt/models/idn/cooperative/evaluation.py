"""Compiled evaluation of prices and points of the cooperative program, in the layout of `maps`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["best_reduced_gain", "fill_knapsacks", "fit"]


@compiled
def best_reduced_gain(option_first: Ints, cell: Ints, gain: Floats, price: Floats) -> Floats:
    """Return the largest gain less price of every (slot, type), at least 0, shape [S, R]."""
    slots, types = price.shape[0], option_first.size - 1
    best = np.zeros((slots, types))
    for s in range(slots):
        for r in range(types):
            top = 0.0
            for o in range(option_first[r], option_first[r + 1]):
                top = max(top, gain[o] - price[s, cell[o]])
            best[s, r] = top
    return best


@compiled
def fill_knapsacks(
    order: Ints, worth: Floats, size: Floats, copies: Floats, node: Ints, budget: Floats
) -> float:
    """Return the value of all nodes' fractional knapsacks, filled in the given order of cells."""
    left = budget.copy()
    total = 0.0
    for c in order:
        if worth[c] <= 0.0:
            break
        take = min(copies[c], left[node[c]] / size[c])
        total += take * worth[c]
        left[node[c]] -= take * size[c]
    return total


@compiled(writes="room served")
def fit(option_first: Ints, cell: Ints, requests: Floats, room: Floats, served: Floats) -> None:
    """Make `served[S, O]` fit into `requests[S, R]` and `room[S, C]`, then fill what is left.

    `room` is overwritten with what stays free.
    """
    types = option_first.size - 1
    usage = np.empty(room.shape[1])
    for s in range(served.shape[0]):
        usage[:] = 0.0
        for r in range(types):
            total = 0.0
            for o in range(option_first[r], option_first[r + 1]):
                total += served[s, o]
            scale = 1.0 if total <= requests[s, r] else requests[s, r] / total
            for o in range(option_first[r], option_first[r + 1]):
                served[s, o] *= scale
                usage[cell[o]] += served[s, o]
        for c in range(usage.size):
            usage[c] = 1.0 if usage[c] <= room[s, c] else room[s, c] / usage[c]
        for o in range(cell.size):
            served[s, o] *= usage[cell[o]]
            room[s, cell[o]] -= served[s, o]
        for r in range(types):
            left = requests[s, r]
            for o in range(option_first[r], option_first[r + 1]):
                left -= served[s, o]
            for o in range(option_first[r], option_first[r + 1]):
                more = min(left, room[s, cell[o]])
                if more > 0.0:
                    served[s, o] += more
                    room[s, cell[o]] -= more
                    left -= more
