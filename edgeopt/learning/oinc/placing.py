"""Compiled insertion of requests by networks that score one request at one site.

A site is described by the five sums of `measure`: the roots of sending and computing, and the
three that decide whether objectives fit. Requests are placed one after the other where their score
is highest; then every request is taken out and placed again, by the score of another network.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.learning.oinc.slots import strained
from edgeopt.models.oinc.slot.resource_shares import stretch

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints


FEATURES: Final = (
    "root of sending", "root of computing", "sending at the site", "computing at the site",
    "regret", "latency over objective", "stretch", "objective", "requests left per site",
    "work over objective", "regret times requests left", "excess",
)  # fmt: skip
"""Inputs of the network, in order."""

SWEEPS: Final = 2
"""How often every request is placed."""

REGRET: Final = 4
"""The input that greedy insertion goes by."""

SCALE: Final = 3.0
"""What the output of the network is multiplied by."""

FARTHEST: Final = 3.0
"""Largest regret, the marginal cost of a site above the least one, s."""

LONGEST: Final = 1.0
"""Objective in seconds that those without one are taken for: the length of a slot."""

LARGEST: Final = 4.0
"""Largest latency over objective, and largest stretch."""

NEAR: Final = 0.95
"""Stretch from which a site counts as full."""

EXCESS: Final = 2.0
"""Largest excess of the stretch over that."""


@compiled
def places(terms: Floats, slo: Floats) -> Ints:
    """Return the order of insertion: large requests and short objectives first."""
    n, sites, _ = terms.shape
    size = np.empty(n, dtype=np.float64)
    for i in range(n):
        sending, computing = np.inf, np.inf
        for j in range(sites):
            sending = min(sending, terms[i, j, 0] ** 2)
            computing = min(computing, terms[i, j, 1] ** 2)
        size[i] = -(sending + computing) / math.sqrt(min(slo[i], LONGEST))
    return np.argsort(size, kind="mergesort")


@compiled(writes="marginal features")
def describe(
    sums: Floats, terms: Floats, slo: float, left: float, marginal: Floats, features: Floats
) -> None:
    """Fill in what the network sees of a request at every site, [J] and [J, 12]."""
    sites = sums.shape[0]
    objective = min(slo, LONGEST)
    least = np.inf
    for j in range(sites):
        a, e = terms[j, 0], terms[j, 1]
        marginal[j] = a * (2.0 * sums[j, 0] + a) + e * (2.0 * sums[j, 1] + e)
        least = min(least, marginal[j])
    for j in range(sites):
        a, e = terms[j, 0], terms[j, 1]
        marginal[j] = min(marginal[j] - least, FARTHEST)
        own = a * (sums[j, 0] + a) + e * (sums[j, 1] + e)
        tight = stretch(
            sums[j, 2] + terms[j, 2], sums[j, 3] + terms[j, 3], sums[j, 4] + terms[j, 4], 1.0
        )
        seen = features[j]
        seen[0], seen[1], seen[2], seen[3] = a, e, sums[j, 0], sums[j, 1]
        seen[4], seen[5] = marginal[j], min(own / objective, LARGEST)
        seen[6], seen[7], seen[8] = min(tight, LARGEST), objective, left
        seen[9], seen[10] = (a * a + e * e) / objective, marginal[j] * left
        seen[11] = min(max(tight - NEAR, 0.0), EXCESS)


@compiled(writes="site features costs")
def place(
    terms: Floats,
    slo: Floats,
    order: Ints,
    first: Floats,
    first_bias: Floats,
    second: Floats,
    second_bias: Floats,
    last: Floats,
    last_bias: Floats,
    greed: Floats,
    noise: Floats,
    site: Ints,
    features: Floats,
    costs: Floats,
) -> None:
    """Fill in the site of every request, [n], what was seen, and what sites would cost.

    Weights are those of both sweeps, of layers [2, in, out]; where `greed` is empty the score is
    minus the cost. `noise` [2, n, J], by sweep and place in the order, is added to the scores; it
    is empty for none. `features` [2, n, J, 12] and `costs` [2, n, J], what every site would count
    with more, are empty unless they are wanted.
    """
    n, sites, count = terms.shape
    sums = np.zeros((sites, count), dtype=np.float64)
    marginal = np.empty(sites, dtype=np.float64)
    own = np.empty((sites, len(FEATURES)), dtype=np.float64)
    for sweep in range(SWEEPS):
        for at in range(n):
            i = order[at]
            if sweep > 0:
                for m in range(count):
                    sums[site[i], m] -= terms[i, site[i], m]
            seen = features[sweep, at] if features.size > 0 else own
            describe(sums, terms[i], slo[i], (n - at) / sites, marginal, seen)
            best, most = 0, -np.inf
            for j in range(sites):
                if costs.size > 0:
                    costs[sweep, at, j] = _added(sums[j], terms[i, j])
                if terms[i, j, 0] == np.inf:  # no link
                    continue
                if greed.size > 0:
                    score = (
                        SCALE
                        * _output(
                            seen[j], first[sweep], first_bias[sweep], second[sweep],
                            second_bias[sweep], last[sweep], last_bias[sweep],
                        )
                        - math.exp(greed[sweep]) * marginal[j]
                    )  # fmt: skip
                else:
                    score = -_added(sums[j], terms[i, j])
                if noise.size > 0:
                    score += noise[sweep, at, j]
                if score > most:
                    best, most = j, score
            site[i] = best
            for m in range(count):
                sums[best, m] += terms[i, best, m]


@compiled
def _added(sums: Floats, more: Floats) -> float:
    """Return by how much a site counts more with a request."""
    return strained(
        sums[0] + more[0], sums[1] + more[1], sums[2] + more[2], sums[3] + more[3],
        sums[4] + more[4],
    ) - strained(sums[0], sums[1], sums[2], sums[3], sums[4])  # fmt: skip


@compiled
def _output(
    seen: Floats,
    first: Floats,
    first_bias: Floats,
    second: Floats,
    second_bias: Floats,
    last: Floats,
    last_bias: Floats,
) -> float:
    """Return the output of a network."""
    below = first_bias.copy()
    for i in range(seen.size):
        for h in range(below.size):
            below[h] += seen[i] * first[i, h]
    above = second_bias.copy()
    for i in range(below.size):
        if below[i] > 0.0:
            for h in range(above.size):
                above[h] += below[i] * second[i, h]
    score: float = last_bias[0]
    for i in range(above.size):
        if above[i] > 0.0:
            score += above[i] * last[i, 0]
    return score
