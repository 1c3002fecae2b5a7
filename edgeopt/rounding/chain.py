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
