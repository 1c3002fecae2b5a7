r"""Compiled search for an assignment: greedy insertion, then moves and swaps until none helps.

Without objectives a site costs :math:`(\sum \sqrt{w A})^2 + (\sum \sqrt{w E / \varphi})^2`, so a
change is weighed in constant time. Objectives enter as a penalty on what `kernels.stretch` lies
above 1, which rests on three more sums.
CPU is measured in the room that a site has, as in `measure`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.models.oinc.slot.kernels import SLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

LEAST = 1e-12
"""Relative improvement below which the search stops: rounding must not make it go in circles."""

KICK = 3  # requests that are sent elsewhere at once to leave a local optimum
TERMS = 5  # sums that a site keeps: roots of sending and computing, and the three of the objectives


@compiled
def measure(
    transmission: Floats, computation: Floats, slo: Floats, weight: Floats, room: Floats
) -> Floats:
    """Return what each request adds to the sums of each site, shape [n, J, 5]."""
    n, sites = transmission.shape
    terms = np.empty((n, sites, TERMS), dtype=np.float64)
    for i in range(n):
        for j in range(sites):
            sending, computing = transmission[i, j], computation[i, j] / room[j]
            terms[i, j, 0] = math.sqrt(weight[i] * sending)
            terms[i, j, 1] = math.sqrt(weight[i] * computing)
            terms[i, j, 2] = sending / slo[i]
            terms[i, j, 3] = math.sqrt(sending * computing) / slo[i]
            terms[i, j, 4] = computing / slo[i]
    return terms


@compiled
def _cost(s0: float, s1: float, a: float, c: float, e: float, penalty: float) -> float:
    cost = s0 * s0 + s1 * s1
    if penalty > 0.0:
        excess = 0.5 * (a + e + math.sqrt((a - e) ** 2 + 4.0 * c * c)) - 1.0
        if excess > SLACK:
            cost += penalty * excess
    return cost


@compiled
def _with(sums: Floats, more: Floats, less: Floats, penalty: float) -> float:
    """Return the cost of a site that wins one request and loses another."""
    return _cost(
        sums[0] + more[0] - less[0],
        sums[1] + more[1] - less[1],
        sums[2] + more[2] - less[2],
        sums[3] + more[3] - less[3],
        sums[4] + more[4] - less[4],
        penalty,
    )


@compiled
def insert(terms: Floats, order: Ints, penalty: float) -> Ints:
    """Give requests, in this order, to the site that each of them costs least."""
    n, sites, _ = terms.shape
    sums, nothing = np.zeros((sites, TERMS), dtype=np.float64), np.zeros(TERMS, dtype=np.float64)
    cost = np.zeros(sites, dtype=np.float64)
    site = np.empty(n, dtype=np.int64)
    for i in order:
        best, chosen = np.inf, 0
        for j in range(sites):
            more = _with(sums[j], terms[i, j], nothing, penalty) - cost[j]
            if more < best:
                best, chosen = more, j
        site[i] = chosen
        for m in range(TERMS):
            sums[chosen, m] += terms[i, chosen, m]
        cost[chosen] = _with(sums[chosen], nothing, nothing, penalty)
    return site


@compiled
def _sums(terms: Floats, site: Ints) -> Floats:
    sums = np.zeros((terms.shape[1], TERMS), dtype=np.float64)
    for i in range(site.size):
        for m in range(TERMS):
            sums[site[i], m] += terms[i, site[i], m]
    return sums


@compiled(writes="site")
def improve(terms: Floats, site: Ints, penalty: float, most: int) -> int:
    """Change an assignment in place, by the best move or swap, until none helps."""
    n, sites, _ = terms.shape
    nothing = np.zeros(TERMS, dtype=np.float64)
    cost, without = np.empty(sites, dtype=np.float64), np.empty(n, dtype=np.float64)
    for step in range(most):
        # Sums are taken anew in every step, so that rounding does not pile up.
        sums = _sums(terms, site)
        total = 0.0
        for j in range(sites):
            cost[j] = _with(sums[j], nothing, nothing, penalty)
            total += cost[j]
        best, first, second, target = -LEAST * total, -1, -1, -1
        for i in range(n):
            here = site[i]
            without[i] = _with(sums[here], nothing, terms[i, here], penalty) - cost[here]
            for j in range(sites):
                if j != here:
                    change = without[i] + _with(sums[j], terms[i, j], nothing, penalty) - cost[j]
                    if change < best:
                        best, first, second, target = change, i, -1, j
        for i in range(n):
            here = site[i]
            for k in range(i):
                there = site[k]
                if there == here:
                    continue
                change = _with(sums[here], terms[k, here], terms[i, here], penalty) - cost[here]
                # Most swaps are ruled out by half of what they do.
                if change + without[k] >= best:
                    continue
                change += _with(sums[there], terms[i, there], terms[k, there], penalty)
                change -= cost[there]
                if change < best:
                    best, first, second, target = change, i, k, there
        if first < 0:
            return step
        if second >= 0:
            site[second] = site[first]
        site[first] = target
    return most


@compiled
def total_cost(terms: Floats, site: Ints, penalty: float) -> float:
    """Return the cost of an assignment, penalties included."""
    sums, nothing = _sums(terms, site), np.zeros(TERMS, dtype=np.float64)
    total = 0.0
    for j in range(sums.shape[0]):
        total += _with(sums[j], nothing, nothing, penalty)
    return total


@compiled(writes="site")
def shake(terms: Floats, site: Ints, penalty: float, kicks: int, most: int) -> None:
    """Look beyond a local optimum: send a few requests elsewhere, improve, keep what is better.

    The choices are pseudo-random and always the same, so that equal problems have equal plans.
    """
    n, sites, _ = terms.shape
    if n == 0 or sites == 1:
        return
    best = total_cost(terms, site, penalty)
    trial = site.copy()
    seed = np.uint64(88172645463325252)
    for _ in range(kicks):
        put(site, trial)
        for _ in range(min(n, KICK)):
            seed = _next(seed)
            i = int((seed >> np.uint64(11)) % np.uint64(n))
            seed = _next(seed)
            other = int((seed >> np.uint64(11)) % np.uint64(sites - 1))
            trial[i] = other if other < trial[i] else other + 1
        improve(terms, trial, penalty, most)
        cost = total_cost(terms, trial, penalty)
        if cost < best * (1.0 - LEAST):
            best = cost
            put(trial, site)


@compiled
def _next(seed: np.uint64) -> np.uint64:
    """Step Marsaglia's xorshift generator."""
    seed ^= seed << np.uint64(13)
    seed ^= seed >> np.uint64(7)
    return seed ^ (seed << np.uint64(17))
