"""Compiled plan of a slot: searches one after the other, moves and swaps weighed by objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot.local_search import (
    improve,
    insert,
    measure,
    restore,
    shake,
    total_cost,
)
from edgeopt.models.oinc.slot.resource_shares import SLACK, admit, share_out, stretch
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from edgeopt.arrays import Flags, Floats, Ints


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
        if terms[i, site, 0] == np.inf:  # no link
            worth[i, site] = np.inf
            continue
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


@compiled(writes="site")
def answer_fewest_refused(terms: Floats, limit: Floats, site: Ints) -> None:
    """Refuse as few requests as can be, and of all such plans take that of the least cost.

    A dynamic program over all sets of requests, a stage for each site.
    """
    n, sites, _ = terms.shape
    sets = 1 << n
    members, binding = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
    prices, cost = np.empty(2, dtype=np.float64), np.zeros(sets, dtype=np.float64)
    least = np.full(sets, np.inf)
    least[0] = 0.0
    added = np.zeros((sites, sets), dtype=np.int64)
    for j in range(sites):
        for chosen in range(1, sets):
            count = 0
            for i in range(n):
                if chosen >> i & 1:
                    members[count] = i
                    count += 1
            cost[chosen] = site_cost(terms, limit, members, count, j, binding, prices)
        # From the largest on, so that smaller ones are still without this site.
        for whole in range(sets - 1, 0, -1):
            part = whole
            while part > 0:
                total = least[whole ^ part] + cost[part]
                if total < least[whole]:
                    least[whole], added[j, whole] = total, part
                part = (part - 1) & whole
    most, best = 0, 0
    for whole in range(sets):
        count = 0
        for i in range(n):
            count += whole >> i & 1
        cheaper = count == most and least[whole] < least[best]
        if cheaper or (count > most and least[whole] < np.inf):
            most, best = count, whole
    site[:] = -1
    for j in range(sites - 1, -1, -1):
        for i in range(n):
            if added[j, best] >> i & 1:
                site[i] = j
        best ^= added[j, best]


@compiled(writes="site")
def exchange_refused(terms: Floats, limit: Floats, site: Ints, tolerance: float) -> bool:
    """Answer a refused request instead of another one, where that costs less; tell whether."""
    n, sites, _ = terms.shape
    members, counts = np.empty((sites, n), dtype=np.int64), np.zeros(sites, dtype=np.int64)
    trial, binding = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.bool_)
    cost, out = np.empty(sites, dtype=np.float64), np.empty(n, dtype=np.float64)
    for i in range(n):
        if site[i] >= 0:
            members[site[i], counts[site[i]]] = i
            counts[site[i]] += 1
    for j in range(sites):
        cost[j] = _exactly(terms, limit, members, counts, j, -1, -1, trial, binding)
        for m in range(counts[j]):
            k = members[j, m]
            after = _exactly(terms, limit, members, counts, j, k, -1, trial, binding)
            out[k] = after - cost[j]
    best, come, gone, target = -tolerance * cost.sum(), -1, -1, -1
    for i in range(n):
        if site[i] >= 0:
            continue
        for j in range(sites):
            into = _exactly(terms, limit, members, counts, j, -1, i, trial, binding) - cost[j]
            for k in range(n):
                change = np.inf
                if site[k] == j:
                    after = _exactly(terms, limit, members, counts, j, k, i, trial, binding)
                    change = after - cost[j]
                elif site[k] >= 0:
                    change = into + out[k]
                if change < best:
                    best, come, gone, target = change, i, k, j
    if come < 0:
        return False
    site[gone], site[come] = -1, target
    return True


FEW: Final = 10
"""Most requests of which every set is weighed where some have to be refused."""

MOST = 10_000  # changes after which a search stops at the latest

KICKS: Final = 10
"""How often `assign` goes on from a plan that was changed a little."""

SHAKES: Final = 4
"""How often `plan` does: in 600 slots of 12 sites that gains 7e-5 of the cost, ten times 1.3e-4."""

ORDERS: Final = 10
"""In how many orders requests are answered from nothing where some are refused."""

URGENCIES: Final = (0.1, 0.01, 1.0)
"""Penalties that are tried: a high one fills sites evenly, a low one gives some of them up."""


@compiled(writes="site band cpu")
def plan(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: Floats,
    order: Ints,
    objectives: bool,
    refuse: bool,
    late: float,
    tolerance: float,
    site: Ints,
    band: Floats,
    cpu: Floats,
) -> None:
    """Fill in the plan of `solve_slot`."""
    terms = measure(transmission, computation, slo, weight, room)
    shortest = insert(terms, order, 0.0)
    improve(terms, shortest, 0.0, MOST)
    best = (-1, np.inf)
    best = _keep(
        transmission, computation, slo, weight, room, objectives, refuse, late,
        shortest.copy(), best, site, band, cpu,
    )  # fmt: skip
    if not objectives or best[0] == site.size:
        shake(terms, shortest, 0.0, SHAKES, MOST)
        best = _keep(
            transmission, computation, slo, weight, room, objectives, refuse, late,
            shortest.copy(), best, site, band, cpu,
        )  # fmt: skip
        if not objectives or best[1] <= total_cost(terms, shortest, 0.0) * (1.0 + TIGHT):
            return
    else:
        cost = total_cost(terms, shortest, 0.0)
        for urgency in URGENCIES:
            trial = shortest.copy()
            improve(terms, trial, urgency * cost, MOST)
            best = _keep(
                transmission, computation, slo, weight, room, objectives, refuse, late,
                trial, best, site, band, cpu,
            )  # fmt: skip
            if best[0] == site.size:
                break
    if refuse and best[0] < site.size:
        # Once more from nothing, in several orders.
        for turn in range(ORDERS):
            own = np.full(site.size, np.inf)
            trial = np.full(site.size, -1)
            restore(terms, slo, late, np.roll(order[::-1], turn * site.size // ORDERS), own, trial)
            best = _keep(
                transmission, computation, slo, weight, room, objectives, refuse, late,
                trial, best, site, band, cpu,
            )  # fmt: skip
    while True:
        before = best[0]
        trial = site.copy()
        own = _limits(transmission, computation, slo, late, site, band, cpu)
        if best[0] < site.size:
            restore(terms, slo, late, order[::-1].copy(), own, trial)
        kept = np.flatnonzero(trial >= 0)
        limits = measure(transmission[kept], computation[kept], own[kept], weight[kept], room)
        answered = trial[kept]
        improve_exactly(limits, weight[kept] * own[kept], answered, MOST, tolerance)
        trial[kept] = answered
        best = _keep(
            transmission, computation, slo, weight, room, objectives, refuse, late,
            trial, best, site, band, cpu,
        )  # fmt: skip
        if best[0] > before:
            continue
        if not refuse or best[0] == site.size:
            return
        # At this number of refusals, the ones that cost least.
        whole = slo * (1.0 + TIGHT)
        limits = measure(transmission, computation, whole, weight, room)
        trial, cost = site.copy(), best[1]
        if site.size <= FEW:
            answer_fewest_refused(limits, weight * whole, trial)
        elif not exchange_refused(limits, weight * whole, trial, tolerance):
            return
        best = _keep(
            transmission, computation, slo, weight, room, objectives, refuse, late,
            trial, best, site, band, cpu,
        )  # fmt: skip
        if site.size <= FEW or best[1] >= cost:
            return


@compiled(writes="trial site band cpu")
def _keep(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: Floats,
    objectives: bool,
    refuse: bool,
    late: float,
    trial: Ints,
    best: tuple[int, float],
    site: Ints,
    band: Floats,
    cpu: Floats,
) -> tuple[int, float]:
    """Take over an assignment, with its best shares, that meets more objectives or is faster."""
    own_band = np.zeros(trial.size, dtype=np.float64)
    own_cpu = np.zeros(trial.size, dtype=np.float64)
    share_out_all(
        transmission, computation, slo, weight, room, trial, objectives, refuse, late,
        own_band, own_cpu,
    )  # fmt: skip
    met, total = 0, 0.0
    for i in range(trial.size):
        j = trial[i]
        if j >= 0:
            latency = _latency(transmission[i, j], computation[i, j], own_band[i], own_cpu[i])
            met += latency <= slo[i] * (1.0 + TIGHT)
            total += weight[i] * latency
    if not (met > best[0] or (met == best[0] and total < best[1])):
        return best
    site[:], band[:], cpu[:] = trial, own_band, own_cpu
    return met, total


@compiled
def _limits(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    late: float,
    site: Ints,
    band: Floats,
    cpu: Floats,
) -> Floats:
    """Return what requests are answered within: their objectives, what is late, or any time."""
    own = np.full(site.size, np.inf)
    for i in range(site.size):
        j = site[i]
        if j >= 0:
            latency = _latency(transmission[i, j], computation[i, j], band[i], cpu[i])
            if latency <= slo[i] * (1.0 + TIGHT):
                own[i] = slo[i] * (1.0 + TIGHT)
            elif latency <= max(slo[i], late) * (1.0 + TIGHT):
                own[i] = max(slo[i], late)
    return own


@compiled
def _latency(transmission: float, computation: float, band: float, cpu: float) -> float:
    """Return the latency of a request; nothing takes no time even without a share."""
    latency = 0.0
    if transmission > 0.0:
        latency += transmission / band
    if computation > 0.0:
        latency += computation / cpu
    return latency


@compiled(writes="room site band cpu")
def share_out_all(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: Floats,
    site: Ints,
    objectives: bool,
    refuse: bool,
    late: float,
    band: Floats,
    cpu: Floats,
) -> None:
    """Fill in shares; requests that are refused get the site -1."""
    limit = np.inf if refuse else late
    mine = np.empty(site.size, dtype=np.int64)
    A, E, S, w = (
        np.empty(site.size, dtype=np.float64),
        np.empty(site.size, dtype=np.float64),
        np.empty(site.size, dtype=np.float64),
        np.empty(site.size, dtype=np.float64),
    )
    for j in range(room.size):
        count = 0
        for i in range(site.size):
            if site[i] == j:
                mine[count], w[count] = i, weight[i]
                A[count], E[count] = transmission[i, j], computation[i, j]
                S[count] = slo[i] if objectives else np.inf
                count += 1
        if count == 0:
            continue
        missed = admit(A[:count], E[:count], S[:count], room[j], limit)
        every, kept = True, 0
        for n in range(count):
            every = every and missed[n]
            if refuse and missed[n]:
                site[mine[n]] = -1
            else:
                mine[kept], w[kept], A[kept], E[kept], S[kept] = mine[n], w[n], A[n], E[n], S[n]
                kept += 1
        for n in range(0 if refuse else count):
            if missed[n]:
                S[n] = np.inf if every else max(S[n], limit)
        v, z = np.empty(kept, dtype=np.float64), np.empty(kept, dtype=np.float64)
        share_out(A[:kept], E[:kept], S[:kept], w[:kept], room[j], v, z)
        for n in range(kept):
            band[mine[n]], cpu[mine[n]] = v[n], z[n]
