"""A slot in the units of compiled loops over columns, and the ascent of its Lagrangian bound.

At prices for the requests every site takes the set that is worth most to it. What the prices sum
to, less what the sites gain at them, is no more than any assignment costs. A request that two sites
want is overpriced, one that no site wants is underpriced: prices move by that, with a step as long
as what is missing to the cost of a known assignment asks for (Polyak's), shortened when the bound
stops rising. All sets found on the way are kept, for a master problem or for later prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.models.oinc.slot.columns.pricing import column_cost, lateness, search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot.problem import SlotProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Roots(NamedTuple):
    r"""Roots of what sites take for requests, and objectives, in units around 1.

    With them a site costs the least :math:`\sum_i a_i^2 / v_i + e_i^2 / z_i` such that no term is
    more than :math:`s_i` and v and z sum to at most 1. Weights and room are contained.
    """

    a: Floats  # sqrt(w_i A_ij / u), shape [J, n]
    e: Floats  # sqrt(w_i E_ij / (phi_j u)), shape [J, n]
    s: Floats  # w_i S_i / u, infinite without objectives, shape [n]


def roots_of(problem: SlotProblem, objectives: bool) -> tuple[Roots, float]:
    """Return the roots of a problem and the unit u of cost: what a request takes alone, s."""
    weight = problem.weight
    sending = weight[:, np.newaxis] * problem.transmission
    computing = weight[:, np.newaxis] * problem.computation / problem.room
    slo = weight * problem.slo if objectives else np.full(problem.requests, np.inf)
    alone = (sending + computing).min(axis=1)
    unit = float(alone.mean()) if alone.any() else 1.0
    a, e = (np.ascontiguousarray(np.sqrt(cost / unit).T) for cost in (sending, computing))
    return Roots(a, e, slo / unit), unit


MOMENTUM: Final = 0.7  # share of the last direction that a step goes on in
PATIENCE: Final = 5  # steps without a higher bound after which steps become shorter
SHORTER: Final = 0.6  # by how much they do
SHORTEST: Final = 5e-3  # share of Polyak's step below which the ascent ends
MARGIN: Final = 1e-12
"""Relative margin for rounding: a set has to be better by more than that to count as new."""


@compiled
def start_prices(a: Floats, e: Floats, s: Floats, site: Ints) -> Floats:
    """Return what a little more of each request would cost under an assignment, shape [n]."""
    sites, n = a.shape
    prices = np.zeros(n, dtype=np.float64)
    members = np.empty(n, dtype=np.int64)
    for j in range(sites):
        size = 0
        for i in range(n):
            if site[i] == j:
                members[size] = i
                size += 1
        _, p, q = column_cost(a[j], e[j], s, members, size)
        for k in range(size):
            i = members[k]
            m = p * a[j, i] + q * e[j, i]
            prices[i] = 2.0 * m + lateness(m, s[i])
    return prices


@compiled(writes="pool cost chosen reduced", both=True)
def price_sites(
    a: Floats,
    e: Floats,
    s: Floats,
    prices: Floats,
    limit: int,
    pool: Ints,
    cost: Floats,
    count: int,
    chosen: Ints,
    reduced: Floats,
) -> tuple[int, int]:
    """Find the best set of each site at given prices, beginning with the sets known."""
    sites, n = a.shape
    members = np.empty(n, dtype=np.int64)
    none = np.empty((0, n + 1), dtype=np.int64)
    scale = _total(prices)
    value = np.zeros(sites, dtype=np.float64)
    chosen[:] = -1
    for c in range(count):
        j, at = pool[c, 0], cost[c]
        for k in range(pool[c, 1]):
            at -= prices[pool[c, 2 + k]]
        if at < value[j]:
            value[j], chosen[j] = at, c
    examined = 0
    for j in range(sites):
        cutoff = value[j] - MARGIN * scale
        _, size, reduced[j], some = search(a[j], e[j], s, prices, cutoff, limit, members, none)
        examined += some
        if size > 0 and count < pool.shape[0]:
            pool[count, 0], pool[count, 1] = j, size
            put(members[:size], pool[count, 2:])
            cost[count], _, _ = column_cost(a[j], e[j], s, members, size)
            chosen[j] = count
            count += 1
    return count, examined


@compiled(writes="prices pool cost reduced")
def ascend(
    a: Floats,
    e: Floats,
    s: Floats,
    prices: Floats,
    upper: float,
    gap: float,
    rounds: int,
    limit: int,
    pool: Ints,
    cost: Floats,
    count: int,
    reduced: Floats,
) -> tuple[float, int, int, int]:
    """Raise the bound; `prices` and `reduced` become those of the best one."""
    sites, n = a.shape
    point, direction, chosen = (
        prices.copy(),
        np.zeros(n, dtype=np.float64),
        np.empty(sites, dtype=np.int64),
    )
    now = np.empty(sites, dtype=np.float64)
    best, step, idle, examined, done = -np.inf, 1.0, 0, 0, 0
    while done < rounds and step >= SHORTEST:
        done += 1
        count, some = price_sites(a, e, s, point, limit, pool, cost, count, chosen, now)
        examined += some
        value = _total(point) + _total(now)
        idle = 0 if value > best + 1e-6 * abs(best) else idle + 1
        if value > best:
            best = value
            put(point, prices)
            put(now, reduced)
        if upper - best <= gap * upper:
            break
        if idle >= PATIENCE:
            step *= SHORTER
            idle = 0
            put(prices, point)
        direction *= MOMENTUM
        for i in range(n):
            direction[i] += 1.0
        for j in range(sites):
            if chosen[j] >= 0:
                for k in range(pool[chosen[j], 1]):
                    direction[pool[chosen[j], 2 + k]] -= 1.0
        length = 0.0
        for i in range(n):
            length += direction[i] * direction[i]
        if length == 0.0:
            break
        for i in range(n):
            point[i] = max(0.0, point[i] + step * (upper - value) / length * direction[i])
    return best, count, done, examined


@compiled
def _total(values: Floats) -> float:
    """Return the sum, without what numba compiles for an array's own."""
    total = 0.0
    for value in values:
        total += value
    return total
