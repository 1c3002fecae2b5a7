"""The compiled chain of pair steps that all dependent roundings are made of.

Everything is done in masses :math:`u_i = s_i y_i`: a pair step moves mass from one entry to the
other, so that nothing is divided by a weight. The k-th pair step uses ``coins[k]``, whichever
entries it joins; this is what keeps marginals when the same coins are used again for other
fractions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


SNAP = 1e-9
"""An entry this close to 0 or 1 is integral."""

HIGH = 1.0 - SNAP


@compiled(nogil=True)
def count_fractional(values: Floats) -> int:
    """Count the entries that are farther than `SNAP` from 0 and 1."""
    count = 0
    for i in range(values.shape[0]):
        count += (values[i] > SNAP) & (values[i] < HIGH)
    return count


@compiled(writes="out", inline="always")
def _join(
    j: int,
    value: float,
    weight: float,
    coin: float,
    carry: int,
    mass: float,
    size: float,
    out: Bools,
) -> tuple[int, float, float]:
    """Take a pair step on the carry and entry j; decide one of them and carry on with the other.

    The carry is the last entry that is still fractional, with its mass and its weight.
    """
    other = weight * value
    # Either mass flows from j to the carry until one of them is at its end, or back.
    room, other_room = size - mass, weight - other
    inward = room if room < other else other
    outward = mass if mass < other_room else other_room
    inwards = coin * (inward + outward) < outward
    carry_done = room <= other if inwards else mass <= other_room
    shift = inward if inwards else -outward
    out[carry if carry_done else j] = inwards == carry_done
    # The survivor's own mass is changed by what flowed, never recomputed from the total: so that
    # its error is relative to its own weight, however different the two weights are.
    mass = other - shift if carry_done else mass + shift
    size = weight if carry_done else size
    carry = j if carry_done else carry
    return carry, mass, size


@compiled(inline="always")
def _ended(mass: float, size: float) -> bool:
    """Tell whether a carry has become integral by rounding.

    A rare end, and a jump: inside `_join` it would keep the rest of it from being free of jumps.
    """
    return mass <= SNAP * size or mass >= HIGH * size


@compiled(writes="out", nogil=True)
def chain_row(values: Floats, weights: Floats, coins: Floats, out: Bools) -> tuple[int, int, float]:
    """Decide on all entries but at most one, joining the two smallest fractional indices first."""
    used, carry, mass, size = 0, -1, 0.0, 0.0
    for j in range(values.shape[0]):
        value = values[j]
        if not (value > SNAP and value < HIGH):
            out[j] = value > 0.5
        elif carry < 0:
            carry, mass, size = j, weights[j] * value, weights[j]
        else:
            carry, mass, size = _join(j, value, weights[j], coins[used], carry, mass, size, out)
            used += 1
            if _ended(mass, size):
                out[carry] = mass > 0.5 * size
                carry = -1
    if carry < 0:
        return used, -1, 0.0
    out[carry] = False
    return used, carry, mass


@compiled(writes="used out last mass", nogil=True)
def chain_rows(
    values: Floats,
    weights: Floats,
    coins: Floats,
    used: Ints,
    out: Bools,
    last: Ints,
    mass: Floats,
) -> None:
    """Do what `chain_row` does for a few rows at once.

    A pair step waits for the one before it; those of other rows fill the wait, so that four rows
    take little longer than two.
    """
    rows = values.shape[0]
    same = weights.shape[0] == 1
    size = np.empty(rows, dtype=np.float64)
    last[:] = -1
    for j in range(values.shape[1]):
        for b in range(rows):
            value = values[b, j]
            if not (value > SNAP and value < HIGH):
                out[b, j] = value > 0.5
                continue
            weight = weights[0 if same else b, j]
            if last[b] < 0:
                last[b], mass[b], size[b] = j, weight * value, weight
            else:
                carry, left, whole = _join(
                    j, value, weight, coins[used[b]], last[b], mass[b], size[b], out[b]
                )
                used[b] += 1
                if _ended(left, whole):
                    out[b, carry] = left > 0.5 * whole
                    carry = -1
                last[b], mass[b], size[b] = carry, left, whole
    for b in range(rows):
        if last[b] >= 0:
            out[b, last[b]] = False


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
