r"""Compiled search for an assignment by what its best shares cost with objectives.

A site without requests whose objective binds costs two squares; any other costs more, and one whose
objectives do not fit cannot be. So the squares rule out most moves and swaps, and what is left is
weighed exactly. CPU is measured in the room that a site has, as in `search.measure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot.kernels import SLACK, stretch
from edgeopt.models.oinc.slot.search import LEAST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["improve_exactly", "site_cost"]


@compiled(writes="binding")
def site_cost(
    terms: Floats, limit: Floats, members: Ints, count: int, site: int, binding: Flags
) -> float:
    """Return what the best shares of a site cost, infinite where its objectives do not fit.

    The method is that of `kernels.share_out`; the value is that of the prices.
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
            # Objectives that just fit: nobody is faster than it has to be.
            total = 0.0
            for m in range(count):
                total += limit[members[m]]
            return total
        p = (other * free_a + off * free_e) / determinant
        q = (off * free_a + corner * free_e) / determinant
    # At the optimum the prices are worth what they take: of the Lagrangian this is left.
    return together + p * free_a + q * free_e


@compiled(writes="members counts")
def _fill(site: Ints, members: Ints, counts: Ints) -> None:
    counts[:] = 0
    for i in range(site.size):
        j = site[i]
        members[j, counts[j]] = i
        counts[j] += 1


@compiled(writes="trial")
def _changed(members: Ints, counts: Ints, site: int, gone: int, come: int, trial: Ints) -> int:
    """List the requests of a site without one and with another; -1 stands for none."""
    count = 0
    for m in range(counts[site]):
        if members[site, m] != gone:
            trial[count] = members[site, m]
            count += 1
    if come >= 0:
        trial[count] = come
        count += 1
    return count


@compiled(writes="sums")
def _least(terms: Floats, sums: Floats, site: int, gone: int, come: int) -> float:
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


@compiled(writes="site")
def improve_exactly(terms: Floats, limit: Floats, site: Ints, most: int) -> int:
    """Change an assignment whose objectives fit, by the best move or swap, until none helps."""
    n, sites, width = terms.shape
    members = np.empty((sites, n), dtype=np.int64)
    counts, trial = np.empty(sites, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    binding = np.empty(n + 1, dtype=np.bool_)
    cost, without = np.empty(sites), np.empty(n)
    for step in range(most):
        _fill(site, members, counts)
        sums = np.zeros((sites, width))
        for i in range(n):
            for m in range(width):
                sums[site[i], m] += terms[i, site[i], m]
        total = 0.0
        for j in range(sites):
            cost[j] = site_cost(terms, limit, members[j], counts[j], j, binding)
            total += cost[j]
        best, first, second, target = -LEAST * total, -1, -1, -1
        for i in range(n):
            here = site[i]
            count = _changed(members, counts, here, i, -1, trial)
            without[i] = site_cost(terms, limit, trial, count, here, binding) - cost[here]
            for j in range(sites):
                if j == here:
                    continue
                if without[i] + _least(terms, sums, j, -1, i) - cost[j] >= best:
                    continue
                count = _changed(members, counts, j, -1, i, trial)
                change = without[i] - cost[j]
                change += site_cost(terms, limit, trial, count, j, binding)
                if change < best:
                    best, first, second, target = change, i, -1, j
        for i in range(n):
            here = site[i]
            for k in range(i):
                there = site[k]
                if there == here:
                    continue
                least = _least(terms, sums, here, i, k) - cost[here]
                if least + without[k] >= best:
                    continue
                other = _least(terms, sums, there, k, i) - cost[there]
                if least + other >= best:
                    continue
                count = _changed(members, counts, here, i, k, trial)
                change = site_cost(terms, limit, trial, count, here, binding) - cost[here]
                if change + other >= best:
                    continue
                count = _changed(members, counts, there, k, i, trial)
                change += site_cost(terms, limit, trial, count, there, binding) - cost[there]
                if change < best:
                    best, first, second, target = change, i, k, there
        if first < 0:
            return step
        if second >= 0:
            site[second] = site[first]
        site[first] = target
    return most
