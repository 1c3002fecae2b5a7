r"""Compiled search that weighs moves and swaps by what sites cost with objectives.

The best shares of a site cost as much as the largest value of its dual function,

.. math:: g(p, q) = \sum_i D_i(p, q) - p^2 - q^2, \quad
    D_i = 2 m_i \ \text{if}\ m_i \le L_i, \ \text{else}\ L_i + m_i^2 / L_i,

with :math:`m_i = p \sqrt{w_i A_i} + q \sqrt{w_i E_i / \varphi}` and :math:`L_i = w_i S_i`. At the
prices of a site, a request that comes adds its :math:`D_i` and one that goes takes it away, so no
change of the site costs less than that. Nor can a site cost less than the two squares of what it
would cost without objectives. These bounds rule out most moves and swaps; what is left is weighed
exactly. After a change they are computed anew for the two sites that it touches, and only for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot.kernels import SLACK, stretch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@compiled(writes="binding prices")
def site_cost(
    terms: Floats,
    limit: Floats,
    members: Ints,
    count: int,
    site: int,
    binding: Flags,
    prices: Floats,
) -> float:
    """Return what the best shares of a site cost, infinite where its objectives do not fit.

    The method is that of `kernels.share_out`; the value is that of the prices, which are filled in
    and 0 where there are none.
    """
    p, q, a, c, e = 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(count):
        i = members[m]
        p += terms[i, site, 0]
        q += terms[i, site, 1]
        a += terms[i, site, 2]
        c += terms[i, site, 3]
        e += terms[i, site, 4]
        binding[m] = False
    prices[0], prices[1] = 0.0, 0.0
    if stretch(a, c, e, 1.0) > 1.0 + SLACK:
        return np.inf
    free_a, free_e = p, q
    corner, off, other = 1.0, 0.0, 1.0
    together = 0.0
    for _ in range(count):
        more = False
        for m in range(count):
            i = members[m]
            if binding[m]:
                continue
            if p * terms[i, site, 0] + q * terms[i, site, 1] > limit[i] * (1.0 + SLACK):
                binding[m] = True
                more = True
                together += limit[i]
                free_a -= terms[i, site, 0]
                free_e -= terms[i, site, 1]
                corner -= terms[i, site, 2]
                off += terms[i, site, 3]
                other -= terms[i, site, 4]
        if not more:
            break
        determinant = corner * other - off * off
        if not (corner > 0.0 and other > 0.0 and determinant > 0.0):
            # Objectives that just fit: no request is faster than it has to be.
            total = 0.0
            for m in range(count):
                total += limit[members[m]]
            return total
        p = (other * free_a + off * free_e) / determinant
        q = (off * free_a + corner * free_e) / determinant
    prices[0], prices[1] = p, q
    # At the optimum the prices are worth what they take: of the Lagrangian this is left.
    return together + p * free_a + q * free_e


@compiled(writes="members counts")
def _fill(site: Ints, members: Ints, counts: Ints) -> None:
    counts[:] = 0
    for i in range(site.size):
        j = site[i]
        members[j, counts[j]] = i
        counts[j] += 1


@compiled(writes="binding trial")
def _exactly(
    terms: Floats,
    limit: Floats,
    members: Ints,
    counts: Ints,
    site: int,
    gone: int,
    come: int,
    trial: Ints,
    binding: Flags,
) -> float:
    """Return what a site costs without one request and with another; -1 stands for none."""
    count = 0
    for m in range(counts[site]):
        if members[site, m] != gone:
            trial[count] = members[site, m]
            count += 1
    if come >= 0:
        trial[count] = come
        count += 1
    prices = np.empty(2, dtype=np.float64)
    return float(site_cost(terms, limit, trial, count, site, binding, prices))


@compiled
def _squares(terms: Floats, sums: Floats, site: int, gone: int, come: int) -> float:
    """Return a lower bound on what a site costs then; infinite where objectives do not fit."""
    root_a, root_e = float(sums[site, 0]), float(sums[site, 1])
    a, c, e = sums[site, 2], sums[site, 3], sums[site, 4]
    if gone >= 0:
        root_a -= terms[gone, site, 0]
        root_e -= terms[gone, site, 1]
        a -= terms[gone, site, 2]
        c -= terms[gone, site, 3]
        e -= terms[gone, site, 4]
    if come >= 0:
        root_a += terms[come, site, 0]
        root_e += terms[come, site, 1]
        a += terms[come, site, 2]
        c += terms[come, site, 3]
        e += terms[come, site, 4]
    if stretch(a, c, e, 1.0) > 1.0 + 2.0 * SLACK:
        return np.inf
    return root_a * root_a + root_e * root_e


@compiled(writes="worth")
def _price(
    terms: Floats,
    limit: Floats,
    members: Ints,
    count: int,
    site: int,
    prices: Floats,
    worth: Floats,
) -> float:
    """Fill in what each request adds to the dual function of a site, and return its value."""
    p, q = prices[0], prices[1]
    for i in range(limit.size):
        mean = p * terms[i, site, 0] + q * terms[i, site, 1]
        worth[i, site] = 2.0 * mean if mean <= limit[i] else limit[i] + mean * mean / limit[i]
    value = -p * p - q * q
    for m in range(count):
        value += worth[members[m], site]
    return float(value)


@compiled(writes="site")
def improve_exactly(terms: Floats, limit: Floats, site: Ints, most: int, tolerance: float) -> int:
    """Change an assignment whose objectives fit, by the best move or else a swap, until none helps.

    What helps less than `tolerance` times the cost of all sites is left; the steps are returned.
    """
    n, sites, width = terms.shape
    members, counts = np.empty((sites, n), dtype=np.int64), np.zeros(sites, dtype=np.int64)
    trial, binding = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.bool_)
    sums, prices = np.zeros((sites, width), dtype=np.float64), np.empty(2, dtype=np.float64)
    cost, off = np.zeros(sites, dtype=np.float64), np.empty(sites, dtype=np.float64)
    worth = np.empty((n, sites), dtype=np.float64)
    # What it costs less to take a request away and to bring one: bounds, or exactly where known.
    out, out_known = np.empty(n, dtype=np.float64), np.zeros(n, dtype=np.bool_)
    into, into_known = np.empty((n, sites), dtype=np.float64), np.zeros((n, sites), dtype=np.bool_)
    dirty, settled = np.ones(sites, dtype=np.bool_), np.zeros((sites, sites), dtype=np.bool_)
    for step in range(most):
        _fill(site, members, counts)
        for j in range(sites):
            if not dirty[j]:
                continue
            dirty[j] = False
            sums[j] = 0.0
            for m in range(counts[j]):
                sums[j] += terms[members[j, m], j]
            cost[j] = site_cost(terms, limit, members[j], counts[j], j, binding, prices)
            off[j] = _price(terms, limit, members[j], counts[j], j, prices, worth) - cost[j]
            # Rounding must rule nothing out.
            off[j] -= SLACK * cost[j]
            for i in range(n):
                if site[i] == j:
                    least = _squares(terms, sums, j, i, -1) - (1.0 + SLACK) * cost[j]
                    out[i], out_known[i] = max(least, off[j] - worth[i, j]), False
                else:
                    least = _squares(terms, sums, j, -1, i) - (1.0 + SLACK) * cost[j]
                    into[i, j], into_known[i, j] = max(least, off[j] + worth[i, j]), False
            settled[j] = False
            settled[:, j] = False
        best, first, second, target = -tolerance * cost.sum(), -1, -1, -1
        for i in range(n):
            here = site[i]
            for j in range(sites):
                if j == here or out[i] + into[i, j] >= best:
                    continue
                if not out_known[i]:
                    after = _exactly(terms, limit, members, counts, here, i, -1, trial, binding)
                    out[i], out_known[i] = after - cost[here], True
                    if out[i] + into[i, j] >= best:
                        continue
                if not into_known[i, j]:
                    after = _exactly(terms, limit, members, counts, j, -1, i, trial, binding)
                    into[i, j], into_known[i, j] = after - cost[j], True
                if out[i] + into[i, j] < best:
                    best, first, target = out[i] + into[i, j], i, j
        for here in range(sites):
            for there in range(here):
                if first >= 0 or settled[here, there]:
                    continue
                for m in range(counts[here]):
                    i = members[here, m]
                    for o in range(counts[there]):
                        k = members[there, o]
                        one = off[here] - worth[i, here] + worth[k, here]
                        other = off[there] - worth[k, there] + worth[i, there]
                        if one + other >= best:
                            continue
                        squares = _squares(terms, sums, here, i, k) - (1.0 + SLACK) * cost[here]
                        one = max(one, squares)
                        if one + other >= best:
                            continue
                        squares = _squares(terms, sums, there, k, i) - (1.0 + SLACK) * cost[there]
                        other = max(other, squares)
                        if one + other >= best:
                            continue
                        after = _exactly(terms, limit, members, counts, here, i, k, trial, binding)
                        one = after - cost[here]
                        if one + other >= best:
                            continue
                        after = _exactly(terms, limit, members, counts, there, k, i, trial, binding)
                        if one + after - cost[there] < best:
                            best = one + after - cost[there]
                            first, second, target = i, k, there
                settled[here, there] = first < 0
        if first < 0:
            return step
        dirty[site[first]] = dirty[target] = True
        if second >= 0:
            site[second] = site[first]
        site[first] = target
    return most
