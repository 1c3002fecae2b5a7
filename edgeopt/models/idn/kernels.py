"""Compiled sums over the cooperative program, and the elimination of a task from its normal matrix.

Layout: everything is sorted by task. The types of task i are ``type_first[i]:type_first[i + 1]``,
its pairs (a node and a group of identical replicas) ``pair_first[i]:pair_first[i + 1]``; the
options of type r are ``option_first[r]:option_first[r + 1]``, and ``pair[o]`` is the one that
option o uses. Arrays of shape [S, ...] hold one row per slot.

A slot of a task holds the rows of its types' demand and of its pairs' capacity. Without the hosting
columns, which run through all slots, their normal matrix is

    [ diag(d)   X       ]      d: weights on a demand row, [types]
    [ X.T       diag(h) ]      h: weights on a capacity row, [pairs]

The demand rows are eliminated by the small matrix ``G = diag(d) - X diag(1/h) X.T = L L.T``. What
the capacity rows then see is ``diag(1/h) + W.T W`` with ``W = L^-1 X diag(1/h)``, one row per type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints


@compiled(writes="demand usage")
def add_up(
    option_first: Ints, pair: Ints, share: Floats, values: Floats, demand: Floats, usage: Floats
) -> None:
    """Add option values `[S, O]` to `demand[S, R]`, and `share` times them to `usage[S, C]`."""
    for s in range(values.shape[0]):
        for r in range(option_first.size - 1):
            total = 0.0
            for o in range(option_first[r], option_first[r + 1]):
                total += values[s, o]
                usage[s, pair[o]] += share[s, o] * values[s, o]
            demand[s, r] += total


@compiled(writes="out")
def price_options(
    option_first: Ints, pair: Ints, share: Floats, demand_price: Floats, usage_price: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """Price every option into `out[S, O]`: the transpose of `add_up`."""
    for s in range(out.shape[0]):
        for r in range(option_first.size - 1):
            own = demand_price[s, r]
            for o in range(option_first[r], option_first[r + 1]):
                out[s, o] = own + share[s, o] * usage_price[s, pair[o]]


@compiled
def best_reduced_gain(option_first: Ints, pair: Ints, gain: Floats, price: Floats) -> Floats:
    """Return the largest gain less price of every (slot, type), at least 0, shape [S, R]."""
    slots, types = price.shape[0], option_first.size - 1
    best = np.zeros((slots, types), dtype=np.float64)
    for s in range(slots):
        for r in range(types):
            top = 0.0
            for o in range(option_first[r], option_first[r + 1]):
                top = max(top, gain[o] - price[s, pair[o]])
            best[s, r] = top
    return best


@compiled
def fill_knapsacks(
    order: Ints, worth: Floats, size: Floats, copies: Floats, node: Ints, budget: Floats
) -> float:
    """Return the value of all nodes' fractional knapsacks, filled in the given order of pairs."""
    # Dantzig's bound (1957): items by worth per size, the last one in part.
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
def fit(option_first: Ints, pair: Ints, requests: Floats, room: Floats, served: Floats) -> None:
    """Make `served[S, O]` fit into `requests[S, R]` and `room[S, C]`, then fill what is left.

    `room` is overwritten with what stays free.
    """
    types = option_first.size - 1
    usage = np.empty(room.shape[1], dtype=np.float64)
    for s in range(served.shape[0]):
        usage[:] = 0.0
        for r in range(types):
            total = 0.0
            for o in range(option_first[r], option_first[r + 1]):
                total += served[s, o]
            scale = 1.0 if total <= requests[s, r] else requests[s, r] / total
            for o in range(option_first[r], option_first[r + 1]):
                served[s, o] *= scale
                usage[pair[o]] += served[s, o]
        for c in range(usage.size):
            usage[c] = 1.0 if usage[c] <= room[s, c] else room[s, c] / usage[c]
        for o in range(pair.size):
            served[s, o] *= usage[pair[o]]
            room[s, pair[o]] -= served[s, o]
        for r in range(types):
            left = requests[s, r]
            for o in range(option_first[r], option_first[r + 1]):
                left -= served[s, o]
            for o in range(option_first[r], option_first[r + 1]):
                more = min(left, room[s, pair[o]])
                if more > 0.0:
                    served[s, o] += more
                    room[s, pair[o]] -= more
                    left -= more


@compiled(writes="total factor link")
def eliminate(
    options: Ints, pair: Ints, first_pair: int, share: Floats, requests: Floats,
    option_weight: Floats, demand_weight: Floats, capacity_weight: Floats, total: Floats,
    factor: Floats, link: Floats,
) -> bool:  # fmt: skip
    """Factorise all slots of one task."""
    slots, types, pairs = link.shape
    excess, unit = np.empty(types, dtype=np.float64), np.empty(types, dtype=np.float64)
    for s in range(slots):
        h, low, w = total[s], factor[s], link[s]
        for c in range(pairs):
            h[c] = capacity_weight[s, c]
        w[:] = 0.0
        for r in range(types):
            for o in range(options[r], options[r + 1]):
                weighted = share[s, o] * option_weight[s, o]
                w[r, pair[o] - first_pair] = weighted
                h[pair[o] - first_pair] += share[s, o] * weighted
        # G times `unit`, a sum of positive terms.
        for r in range(types):
            unit[r] = requests[s, r] if requests[s, r] > 0.0 else 1.0
            loose = demand_weight[s, r]
            for o in range(options[r], options[r + 1]):
                c = pair[o] - first_pair
                loose += option_weight[s, o] * (
                    capacity_weight[s, c] / h[c] if share[s, o] > 0.0 else 1.0
                )
            excess[r] = loose * unit[r]
            for other in range(r):
                product = 0.0
                for c in range(pairs):
                    product += w[r, c] * w[other, c] / h[c]
                low[r, other] = product
        for r in range(types):
            for c in range(pairs):
                w[r, c] /= h[c]
        # Cholesky factorisation of a diagonally dominant M-matrix without subtractions: a diagonal
        # entry is formed from the excess and the entries beside it (Grassmann, Taha, Heyman 1985;
        # Alfa, Xue, Ye 2002). Off the diagonal all entries are kept with their sign turned.
        for r in range(types):
            diagonal = excess[r]
            for other in range(r + 1, types):
                diagonal += low[other, r] * unit[other]
            diagonal /= unit[r]
            if not 0.0 < diagonal < np.inf:
                return False
            root = np.sqrt(diagonal)
            for later in range(r + 1, types):
                part = low[later, r] / diagonal
                excess[later] += part * excess[r]
                for other in range(r + 1, later):
                    low[later, other] += part * low[other, r]
                for c in range(pairs):
                    w[later, c] += part * w[r, c]
            for later in range(r + 1, types):
                low[later, r] /= -root
            low[r, r] = root
            for c in range(pairs):
                w[r, c] /= root
    return True


@compiled(writes="reduced")
def forward(
    factor: Floats, link: Floats, demand: Floats, capacity: Floats, reduced: Floats
) -> None:
    """Compute ``L^-1 demand - W capacity`` of every slot into `reduced[S, types]`."""
    slots, types, pairs = link.shape
    for s in range(slots):
        for r in range(types):  # forward substitution
            entry = demand[s, r]
            for other in range(r):
                entry -= factor[s, r, other] * reduced[s, other]
            reduced[s, r] = entry / factor[s, r, r]
        for r in range(types):
            product = 0.0
            for c in range(pairs):
                product += link[s, r, c] * capacity[s, c]
            reduced[s, r] -= product


@compiled(writes="demand_out capacity_out")
def return_multipliers(
    total: Floats, factor: Floats, link: Floats, reduced: Floats, capacity: Floats,
    demand_out: Floats, capacity_out: Floats,
) -> None:  # fmt: skip
    """Substitute back: multipliers of the demand and the capacity rows of every slot."""
    slots, types, pairs = link.shape
    for s in range(slots):
        for c in range(pairs):
            capacity_out[s, c] = capacity[s, c] / total[s, c]
        for r in range(types):
            for c in range(pairs):
                capacity_out[s, c] -= link[s, r, c] * reduced[s, r]
        for r in range(types - 1, -1, -1):  # back substitution
            entry = reduced[s, r]
            for later in range(r + 1, types):
                entry -= factor[s, later, r] * demand_out[s, later]
            demand_out[s, r] = entry / factor[s, r, r]
