"""The compiled roundings of one row, made of the chain of pair steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.rounding.chain import HIGH, SNAP, chain_row, count_fractional

if TYPE_CHECKING:
    from numpy.typing import NDArray

BERNOULLI, DROP, HALF = 0, 1, 2
"""What becomes of the last fractional entry; see `edgeopt.rounding.depround`."""


@compiled(writes="out", nogil=True)
def finish(
    weights: NDArray[np.float64],
    residual: int,
    coins: NDArray[np.float64],
    used: int,
    last: int,
    mass: float,
    out: NDArray[np.bool_],
) -> int:
    """Decide on the entry that a chain left fractional."""
    if last < 0 or residual == DROP:
        return used
    drawn = coins[used] * weights[last] < mass
    if residual != HALF:
        out[last] = drawn
        return used + 1
    if drawn and coins[used + 1] < 0.5:
        out[:] = False
        out[last] = True
    return used + 2


@compiled(writes="out", nogil=True)
def depround_row(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    residual: int,
    coins: NDArray[np.float64],
    out: NDArray[np.bool_],
) -> tuple[int, int]:
    """Round one row in index order."""
    used, last, mass = chain_row(values, weights, coins, out)
    return finish(weights, residual, coins, used, last, mass, out), last


@compiled(writes="out", nogil=True)
def depround_shuffled(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    residual: int,
    coins: NDArray[np.float64],
    out: NDArray[np.bool_],
) -> tuple[int, int]:
    """Round one row, its fractional entries taken in a random order."""
    count = count_fractional(values)
    order = np.empty(count, dtype=np.int64)
    k = 0
    for i in range(values.shape[0]):
        if values[i] > SNAP and values[i] < HIGH:
            order[k] = i
            k += 1
        else:
            out[i] = values[i] > 0.5
    for k in range(count - 1, 0, -1):
        other = int(coins[k] * (k + 1))
        order[k], order[other] = order[other], order[k]
    decided = np.empty(count, dtype=np.bool_)
    used, last = depround_row(values[order], weights[order], residual, coins[count:], decided)
    if residual == HALF and last >= 0 and decided[last]:
        out[:] = False
    for k in range(count):
        out[order[k]] = decided[k]
    return count + used, -1 if last < 0 else order[last]


@compiled(writes="out", nogil=True)
def pairwise_row(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    margin: float,
    coins: NDArray[np.float64],
    out: NDArray[np.int64],
) -> tuple[int, float]:
    """Round one row of nonnegative numbers to the whole number below or above."""
    n = values.shape[0]
    parts = np.empty(n, dtype=np.float64)
    for i in range(n):
        below = np.floor(values[i])
        out[i] = int(below)
        parts[i] = values[i] - below if weights[i] > 0.0 else 0.0
    raised = np.empty(n, dtype=np.bool_)
    used, last, mass = chain_row(parts, weights, coins, raised)
    floored, lost = -1, 0.0
    if last >= 0:
        if weights[last] - mass <= margin:
            raised[last] = coins[used] * weights[last] < mass
        else:
            floored, lost = last, mass / weights[last]
    k = count_fractional(parts)
    for i in range(n):
        if weights[i] == 0.0:
            part = values[i] - out[i]
            raised[i] = part > 0.5
            if part > SNAP and part < HIGH:
                raised[i] = coins[k] < part
                k += 1
    for i in range(n):
        out[i] += raised[i]
    return floored, lost


@compiled(writes="out", nogil=True)
def fill_row(
    gains: NDArray[np.float64],
    weights: NDArray[np.float64],
    room: float,
    out: NDArray[np.bool_],
) -> float:
    """Add the entry of most gain per weight that fits, until none of positive gain does."""
    # What does not fit now never will, so that one pass in the order of worth is enough.
    candidates = np.empty(out.size, dtype=np.int64)
    worth = np.empty(out.size, dtype=np.float64)
    count = 0
    for i in range(out.size):
        if not out[i] and gains[i] > 0.0 and weights[i] <= room:
            candidates[count], worth[count] = i, -gains[i] / weights[i]
            count += 1
    for k in np.argsort(worth[:count], kind="mergesort"):
        i = candidates[k]
        if weights[i] <= room:
            out[i] = True
            room -= weights[i]
    return room
