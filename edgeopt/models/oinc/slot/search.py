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
from edgeopt.models.oinc.slot.descent import LEAST, TERMS, descend, exchanged, no_tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

KICK = 3  # requests that are sent elsewhere at once to leave a local optimum


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
def insert(terms: Floats, order: Ints, penalty: float) -> Ints:
    """Give requests, in this order, to the site that each of them costs least."""
    n, sites, _ = terms.shape
    sums, nothing = np.zeros((sites, TERMS), dtype=np.float64), np.zeros(TERMS, dtype=np.float64)
    cost = np.zeros(sites, dtype=np.float64)
    site = np.empty(n, dtype=np.int64)
    for i in order:
        best, chosen = np.inf, 0
        for j in range(sites):
            more = exchanged(sums[j], terms[i, j], nothing, penalty) - cost[j]
            if more < best:
                best, chosen = more, j
        site[i] = chosen
        for m in range(TERMS):
            sums[chosen, m] += terms[i, chosen, m]
        cost[chosen] = exchanged(sums[chosen], nothing, nothing, penalty)
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
    return descend(no_tables(terms), site, penalty, most)


@compiled
def total_cost(terms: Floats, site: Ints, penalty: float) -> float:
    """Return the cost of an assignment, penalties included."""
    sums, nothing = _sums(terms, site), np.zeros(TERMS, dtype=np.float64)
    total = 0.0
    for j in range(sums.shape[0]):
        total += exchanged(sums[j], nothing, nothing, penalty)
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
    trial, tables = site.copy(), no_tables(terms)
    seed = np.uint64(88172645463325252)
    for _ in range(kicks):
        put(site, trial)
        for _ in range(min(n, KICK)):
            seed = _next(seed)
            i = int((seed >> np.uint64(11)) % np.uint64(n))
            seed = _next(seed)
            other = int((seed >> np.uint64(11)) % np.uint64(sites - 1))
            trial[i] = other if other < trial[i] else other + 1
        descend(tables, trial, penalty, most)
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
