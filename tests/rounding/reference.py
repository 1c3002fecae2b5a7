"""The compiled roundings once more, in plain Python: one float operation after another.

The four ways in which a pair step can end are written out as four cases, so that what the kernel
folds into selections is checked against what they mean. `float_law` follows both branches of every
step in the same floating-point numbers.
"""

import math

import numpy as np

SNAP = 1e-9


def fractional(value):
    return SNAP < value < 1.0 - SNAP


def step(old, new):
    """Yield (chance, decided entry, its decision, survivor) of both branches.

    Entries are (index, mass, weight); the chance comes as numerator and denominator.
    """
    (i, mass, size), (j, other, weight) = old, new
    inward, outward = min(size - mass, other), min(mass, weight - other)
    whole = inward + outward
    if size - mass <= other:
        up = i, True, (j, other - inward, weight)
    else:
        up = j, False, (i, mass + inward, size)
    if mass <= weight - other:
        down = i, False, (j, other + outward, weight)
    else:
        down = j, True, (i, mass - outward, size)
    return (outward, whole, *up), (inward, whole, *down)


def snapped(entry):
    """Return the decision on an entry that is as good as integral, or None."""
    _, mass, size = entry
    if mass <= SNAP * size:
        return False
    return True if mass >= (1.0 - SNAP) * size else None


def chain(values, weights, coins):
    """Return decisions, coins used, index of the last fractional entry or -1, and its mass."""
    out = [value > 0.5 for value in values]
    used, old = 0, None
    for j, value in enumerate(values):
        if not fractional(value):
            continue
        new = (j, weights[j] * value, weights[j])
        if old is None:
            old = new
            continue
        up, down = step(old, new)
        _, _, done, bit, old = up if coins[used] * up[1] < up[0] else down
        used += 1
        out[done] = bit
        bit = snapped(old)
        if bit is not None:
            out[old[0]] = bit
            old = None
    if old is None:
        return out, used, -1, 0.0
    out[old[0]] = False
    return out, used, old[0], old[1]


def round_row(values, weights, residual, coins):
    """Return decisions, coins used, and the last fractional index or -1."""
    out, used, last, mass = chain(values, weights, coins)
    if last < 0 or residual == "drop":
        return out, used, last
    drawn = coins[used] * weights[last] < mass
    used += 1
    if residual == "bernoulli":
        out[last] = drawn
    else:
        if drawn and coins[used] < 0.5:
            out = [i == last for i in range(len(out))]
        used += 1
    return out, used, last


def round_shuffled(values, weights, residual, coins):
    """Return decisions, coins used, and the last fractional index, entries shuffled first."""
    order = [i for i, value in enumerate(values) if fractional(value)]
    for k in reversed(range(1, len(order))):
        other = int(coins[k] * (k + 1))
        order[k], order[other] = order[other], order[k]
    whole = [i for i, value in enumerate(values) if not fractional(value)]
    sequence = order + whole
    found, used, last = round_row(
        [values[i] for i in sequence],
        [weights[i] for i in sequence],
        residual,
        coins[len(order) :],
    )
    out = [False] * len(values)
    for i, bit in zip(sequence, found, strict=True):
        out[i] = bit
    return out, used + len(order), -1 if last < 0 else sequence[last]


def pair_row(values, weights, margin, coins):
    """Return whole numbers, index of a floored residual or -1, and the fraction it lost."""
    out = [math.floor(value) for value in values]
    parts = [value - below for value, below in zip(values, out, strict=True)]
    heavy = [part if weight > 0 else 0.0 for part, weight in zip(parts, weights, strict=True)]
    raised, used, last, mass = chain(heavy, weights, coins)
    floored, lost = -1, 0.0
    if last >= 0 and weights[last] - mass <= margin:
        raised[last] = coins[used] * weights[last] < mass
    elif last >= 0:
        floored, lost = last, mass / weights[last]
    coins = iter(coins[sum(map(fractional, heavy)) :])
    for i, weight in enumerate(weights):
        if weight == 0:
            raised[i] = next(coins) < parts[i] if fractional(parts[i]) else parts[i] > 0.5
    return [below + up for below, up in zip(out, raised, strict=True)], floored, lost


def float_law(values, weights):
    """Return the probabilities of outcomes of `round_row` with the residual drawn."""
    start = tuple(int(value > 0.5) for value in values)
    states = {(start, None): 1.0}
    for j, value in enumerate(values):
        if not fractional(value):
            continue
        following = {}
        new = (j, weights[j] * value, weights[j])
        for (bits, old), chance in states.items():
            if old is None:
                reached = [((_with(bits, j, 0), new), chance)]
            else:
                reached = []
                for part, whole, done, bit, left in step(old, new):
                    after = _with(bits, done, int(bit))
                    bit = snapped(left)
                    after = _with(after, left[0], int(bool(bit)))
                    reached.append(((after, left if bit is None else None), chance * part / whole))
            for state, share in reached:
                following[state] = following.get(state, 0.0) + share
        states = following
    law = {}
    for (bits, old), chance in states.items():
        if old is None:
            law[bits] = law.get(bits, 0.0) + chance
        else:
            index, mass, size = old
            for bit, share in ((0, 1 - mass / size), (1, mass / size)):
                law[_with(bits, index, bit)] = law.get(_with(bits, index, bit), 0.0) + (
                    chance * share
                )
    return law


def mean(law):
    """Return the expectation of a law, shape [n]."""
    return np.sum([float(chance) * np.array(bits) for bits, chance in law.items()], axis=0)


def _with(bits, index, bit):
    return (*bits[:index], bit, *bits[index + 1 :])
