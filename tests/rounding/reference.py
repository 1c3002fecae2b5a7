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


def first(value, weight):
    """Return the entry that a chain begins with: an integral one has no or all of its mass."""
    if fractional(value):
        return 0, weight * value, weight
    return 0, weight * (value > 0.5), weight


def chain(values, weights, coins):
    """Return decisions, index of the last fractional entry or -1, and its mass."""
    out = [value > 0.5 for value in values]
    old = first(values[0], weights[0])
    for j, value in enumerate(values[1:], start=1):
        if fractional(value):
            up, down = step(old, (j, weights[j] * value, weights[j]))
            _, _, done, bit, old = up if coins[j] * up[1] < up[0] else down
            out[done] = bit
    bit = snapped(old)
    out[old[0]] = bool(bit)
    return (out, old[0], old[1]) if bit is None else (out, -1, 0.0)


def round_row(values, weights, residual, coins):
    """Return decisions, and the last fractional index or -1."""
    out, last, mass = chain(values, weights, coins)
    if last < 0 or residual == "drop":
        return out, last
    drawn = coins[len(values)] * weights[last] < mass
    if residual == "bernoulli":
        out[last] = drawn
    elif drawn and coins[0] < 0.5:
        out = [i == last for i in range(len(out))]
    return out, last


def round_segments(values, weights, residual, coins):
    """Return decisions; `coins` by entry, then that of the last fractional entry."""
    length = len(values) // 4
    out, left = [], []
    for k in range(4):
        here = slice(k * length, (k + 1) * length if k < 3 else len(values))
        old = first(values[here.start], weights[here.start])
        decided = [value > 0.5 for value in values[here]]
        for j in range(1, len(decided)):
            i = here.start + j
            if fractional(values[i]):
                up, down = step(old, (j, weights[i] * values[i], weights[i]))
                _, _, done, bit, old = up if coins[i] * up[1] < up[0] else down
                decided[done] = bit
        out += decided
        left.append((here.start, old))
    parts = [mass / size for _, (_, mass, size) in left]
    sizes = [size for _, (_, _, size) in left]
    joined, last, mass = chain(parts, sizes, [coins[start] for start, _ in left])
    for (start, (j, _, _)), bit in zip(left, joined, strict=True):
        out[start + j] = bit
    if last >= 0 and residual != "drop":
        entry = left[last][0] + left[last][1][0]
        drawn = coins[len(values)] * sizes[last] < mass
        if residual == "bernoulli":
            out[entry] = drawn
        elif drawn and coins[0] < 0.5:
            out = [i == entry for i in range(len(out))]
    return out


def round_shuffled(values, weights, residual, coins):
    """Return decisions, and the last fractional index, entries shuffled first."""
    n = len(values)
    order = [i for i, value in enumerate(values) if fractional(value)]
    out = [value > 0.5 for value in values]
    if not order:
        return out, -1
    for k in reversed(range(1, len(order))):
        other = int(coins[k] * (k + 1))
        order[k], order[other] = order[other], order[k]
    found, last = round_row(
        [values[i] for i in order],
        [weights[i] for i in order],
        residual,
        coins[2 * n - len(order) :],
    )
    if residual == "half" and last >= 0 and found[last]:
        out = [False] * n
    for i, bit in zip(order, found, strict=True):
        out[i] = bit
    return out, -1 if last < 0 else order[last]


def pair_row(values, weights, margin, coins):
    """Return whole numbers, index of a floored residual or -1, and the fraction it lost."""
    out = [math.floor(value) for value in values]
    parts = [value - below for value, below in zip(values, out, strict=True)]
    heavy = [part if weight > 0 else 0.0 for part, weight in zip(parts, weights, strict=True)]
    raised, last, mass = chain(heavy, weights, coins)
    floored, lost = -1, 0.0
    if last >= 0 and weights[last] - mass <= margin:
        raised[last] = coins[len(values)] * weights[last] < mass
    elif last >= 0:
        floored, lost = last, mass / weights[last]
    for i, weight in enumerate(weights):
        if weight == 0:
            raised[i] = coins[i] < parts[i] if fractional(parts[i]) else parts[i] > 0.5
    return [below + up for below, up in zip(out, raised, strict=True)], floored, lost


def float_law(values, weights):
    """Return the probabilities of outcomes of `round_row` with the residual drawn."""
    start = tuple(int(value > 0.5) for value in values)
    states = {(start, first(values[0], weights[0])): 1.0}
    for j, value in enumerate(values[1:], start=1):
        if not fractional(value):
            continue
        following = {}
        for (bits, old), chance in states.items():
            for part, whole, done, bit, left in step(old, (j, weights[j] * value, weights[j])):
                if part > 0:
                    state = _with(bits, done, int(bit)), left
                    following[state] = following.get(state, 0.0) + chance * part / whole
        states = following
    distribution = {}
    for (bits, old), chance in states.items():
        index, mass, size = old
        bit = snapped(old)
        share = mass / size if bit is None else float(bit)
        for bit, part in ((0, 1 - share), (1, share)):
            if part > 0:
                distribution[_with(bits, index, bit)] = (
                    distribution.get(_with(bits, index, bit), 0.0) + chance * part
                )
    return distribution


def mean(distribution):
    """Return the expectation of a distribution, shape [n]."""
    return np.sum([float(chance) * np.array(bits) for bits, chance in distribution.items()], axis=0)


def _with(bits, index, bit):
    return (*bits[:index], bit, *bits[index + 1 :])
