"""The compiled chain of pair steps that all dependent roundings are made of.

Everything is done in masses :math:`u_i = s_i y_i`: a pair step moves mass from one entry to the
other, so that nothing is divided by a weight. The step that takes up entry i uses coin i, and the
last fractional entry a coin of its own: a row of n entries has n + 1 coins, none is used twice, and
the same coins may be used again for other fractions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Flags as Bools
    from edgeopt.arrays import Floats, Ints


SNAP = 1e-9
"""An entry this close to 0 or 1 is integral."""

HIGH = 1.0 - SNAP

BERNOULLI, DROP, HALF = 0, 1, 2
"""What becomes of the last fractional entry; see `edgeopt.rounding.depround`."""

LANES = 4
"""Chains that run side by side: a pair step waits for the one before it, those of others do not."""


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

    The carry is the last entry that is still fractional, with its mass and its weight. One that
    has become integral stays: the next step then decides it as it is, whatever the coin.
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


@compiled
def _mass(value: float, weight: float) -> float:
    """Return the mass of the entry that a chain begins with."""
    mass = 0.0 if value <= SNAP else weight * value
    return weight if value >= HIGH else mass


@compiled(writes="out", nogil=True)
def chain_on(
    values: Floats, weights: Floats, coins: Floats, carry: int, mass: float, size: float,
    value_at: int, weight_at: int, coin_at: int, count: int, out: Bools,
) -> tuple[int, float, float]:  # fmt: skip
    """Go on with a chain over `count` entries; return its carry."""
    for i in range(count):
        value = values[value_at + i]
        if value > SNAP and value < HIGH:
            carry, mass, size = _join(
                value_at + i, value, weights[weight_at + i], coins[coin_at + i], carry, mass, size,
                out,
            )  # fmt: skip
        else:
            out[value_at + i] = value > 0.5
    return carry, mass, size


@compiled(writes="out", nogil=True)
def end_chain(carry: int, mass: float, size: float, out: Bools) -> tuple[int, float]:
    """Return the entry that a chain leaves fractional and its mass; -1 if it is integral."""
    if mass <= SNAP * size or mass >= HIGH * size:
        out[carry] = mass > 0.5 * size
        return -1, 0.0
    out[carry] = False
    return carry, mass


@compiled(writes="out", nogil=True)
def chain_row(values: Floats, weights: Floats, coins: Floats, out: Bools) -> tuple[int, float]:
    """Decide on all entries but at most one, joining the two smallest fractional indices first."""
    size = weights[0]
    carry, mass, size = chain_on(
        values, weights, coins, 0, _mass(values[0], size), size, 1, 1, 1, values.size - 1, out
    )
    return end_chain(carry, mass, size, out)


@compiled(writes="carry mass size", nogil=True)
def begin_four(
    values: Floats, weights: Floats, at: Ints, carry: Ints, mass: Floats, size: Floats
) -> None:
    """Begin four chains at the entries and weights whose places `at` gives, shape [3, 4]."""
    for k in range(LANES):
        carry[k], size[k] = at[0, k], weights[at[1, k]]
        mass[k] = _mass(values[at[0, k]], size[k])


@compiled(inline="always")
def _places(at: Ints) -> tuple[Any, Any, Any, Any]:
    """Return four places as unsigned numbers."""
    return np.uint64(at[0]), np.uint64(at[1]), np.uint64(at[2]), np.uint64(at[3])


@compiled(writes="carry mass size out", nogil=True)
def chain_four(
    values: Floats, weights: Floats, coins: Floats, at: Ints, begin: int, end: int, carry: Ints,
    mass: Floats, size: Floats, out: Bools,
) -> None:  # fmt: skip
    """Do what `chain_on` does for four chains at once, from `begin` to `end` after their places.

    `at` holds the places of their first entries, weights and coins, shape [3, 4]. The state of
    each chain stands in variables of its own, which the compiler keeps in registers. Places are
    unsigned: for signed ones it would ask at every access whether they count from the end.
    """
    b0, b1, b2, b3 = _places(at[0])
    w0, w1, w2, w3 = _places(at[1])
    a0, a1, a2, a3 = _places(at[2])
    c0, c1, c2, c3 = _places(carry)
    m0, m1, m2, m3 = mass[0], mass[1], mass[2], mass[3]
    s0, s1, s2, s3 = size[0], size[1], size[2], size[3]
    for i in range(np.uint64(begin), np.uint64(end)):
        x0, x1, x2, x3 = values[b0 + i], values[b1 + i], values[b2 + i], values[b3 + i]
        if x0 > SNAP and x0 < HIGH:
            c0, m0, s0 = _join(b0 + i, x0, weights[w0 + i], coins[a0 + i], c0, m0, s0, out)
        else:
            out[b0 + i] = x0 > 0.5
        if x1 > SNAP and x1 < HIGH:
            c1, m1, s1 = _join(b1 + i, x1, weights[w1 + i], coins[a1 + i], c1, m1, s1, out)
        else:
            out[b1 + i] = x1 > 0.5
        if x2 > SNAP and x2 < HIGH:
            c2, m2, s2 = _join(b2 + i, x2, weights[w2 + i], coins[a2 + i], c2, m2, s2, out)
        else:
            out[b2 + i] = x2 > 0.5
        if x3 > SNAP and x3 < HIGH:
            c3, m3, s3 = _join(b3 + i, x3, weights[w3 + i], coins[a3 + i], c3, m3, s3, out)
        else:
            out[b3 + i] = x3 > 0.5
    carry[0], carry[1], carry[2], carry[3] = c0, c1, c2, c3
    mass[0], mass[1], mass[2], mass[3] = m0, m1, m2, m3
    size[0], size[1], size[2], size[3] = s0, s1, s2, s3


@compiled(writes="out carry mass size", nogil=True)
def chain_ragged(
    values: Floats, weights: Floats, coins: Floats, at: Ints, count: Ints, carry: Ints,
    mass: Floats, size: Floats, out: Bools,
) -> None:  # fmt: skip
    """Run four chains of `count` entries each from their beginning to their end, shape [4]."""
    begin_four(values, weights, at, carry, mass, size)
    common = min(min(count[0], count[1]), min(count[2], count[3]))
    chain_four(values, weights, coins, at, 1, common, carry, mass, size, out)
    for k in range(LANES):
        carry[k], mass[k], size[k] = chain_on(
            values, weights, coins, carry[k], mass[k], size[k], at[0, k] + common,
            at[1, k] + common, at[2, k] + common, count[k] - common, out,
        )  # fmt: skip
        carry[k], mass[k] = end_chain(carry[k], mass[k], size[k], out)


@compiled(writes="out", nogil=True)
def finish(
    residual: int, coin: float, fair: float, last: int, mass: float, size: float, out: Bools
) -> None:
    """Decide on the entry that a chain left fractional, by its own coin and, for half, a fair one.

    The fair coin is the first entry's, which no pair step uses.
    """
    if last < 0 or residual == DROP:
        return
    drawn = coin * size < mass
    if residual != HALF:
        out[last] = drawn
    elif drawn and fair < 0.5:
        out[:] = False
        out[last] = True


@compiled(writes="out", nogil=True)
def depround_row(values: Floats, weights: Floats, residual: int, coins: Floats, out: Bools) -> int:
    """Round one row in index order; return the entry that was left fractional, or -1."""
    last, mass = chain_row(values, weights, coins, out)
    finish(residual, coins[values.size], coins[0], last, mass, weights[last], out)
    return last


@compiled(writes="out", nogil=True)
def depround_ragged(
    values: Floats, weights: Floats, residual: int, coins: Floats, at: Ints, count: Ints,
    out: Bools,
) -> None:  # fmt: skip
    """Round rows of any length, four at a time; one of n entries has n + 1 coins.

    `at` holds the places where values, weights and coins of each row begin, shape [3, B] or wider,
    and `count` their lengths, shape [B].
    """
    last, mass = np.empty(LANES, dtype=np.int64), np.empty(LANES, dtype=np.float64)
    size = np.empty(LANES, dtype=np.float64)
    place, length = np.empty((3, LANES), dtype=np.int64), np.empty(LANES, dtype=np.int64)
    rows = count.size
    whole = rows - rows % LANES
    for b in range(0, whole, LANES):
        for k in range(LANES):
            length[k] = count[b + k]
            for part in range(3):
                place[part, k] = at[part, b + k]
        chain_ragged(values, weights, coins, place, length, last, mass, size, out)
        for k in range(LANES):
            begin, coin, n = at[0, b + k], at[2, b + k], count[b + k]
            entry = last[k] - begin if last[k] >= 0 else -1
            row = out[begin : begin + n]
            finish(residual, coins[coin + n], coins[coin], entry, mass[k], size[k], row)
    for b in range(whole, rows):
        begin, weight, coin, n = at[0, b], at[1, b], at[2, b], count[b]
        depround_row(
            values[begin : begin + n], weights[weight : weight + n], residual,
            coins[coin : coin + n + 1], out[begin : begin + n],
        )  # fmt: skip


@compiled(writes="out", nogil=True)
def depround_shuffled(
    values: Floats, weights: Floats, residual: int, coins: Floats, out: Bools
) -> int:
    """Round one row, its fractional entries taken in a random order; it has 2n + 1 coins."""
    n, count = values.size, 0
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        if values[i] > SNAP and values[i] < HIGH:
            order[count] = i
            count += 1
        else:
            out[i] = values[i] > 0.5
    if count == 0:
        return -1
    order = order[:count]
    for k in range(count - 1, 0, -1):
        other = int(coins[k] * (k + 1))
        order[k], order[other] = order[other], order[k]
    decided = np.empty(count, dtype=np.bool_)
    last = depround_row(values[order], weights[order], residual, coins[2 * n - count :], decided)
    if residual == HALF and last >= 0 and decided[last]:
        out[:] = False
    for k in range(count):
        out[order[k]] = decided[k]
    return -1 if last < 0 else order[last]


@compiled(writes="out", nogil=True)
def pairwise_row(
    values: Floats, weights: Floats, margin: float, coins: Floats, out: Ints
) -> tuple[int, float]:
    """Round one row of nonnegative numbers to the whole number below or above."""
    n = values.size
    parts = np.empty(n, dtype=np.float64)
    for i in range(n):
        below = np.floor(values[i])
        out[i] = int(below)
        parts[i] = values[i] - below if weights[i] > 0.0 else 0.0
    raised = np.empty(n, dtype=np.bool_)
    last, mass = chain_row(parts, weights, coins, raised)
    floored, lost = -1, 0.0
    if last >= 0:
        if weights[last] - mass <= margin:
            raised[last] = coins[n] * weights[last] < mass
        else:
            floored, lost = last, mass / weights[last]
    for i in range(n):
        if weights[i] == 0.0:
            part = values[i] - out[i]
            raised[i] = coins[i] < part if part > SNAP and part < HIGH else part > 0.5
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
