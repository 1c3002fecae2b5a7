"""Compiled local search for an assignment: greedy insertion, moves and swaps until none helps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.models.oinc.slot.resource_shares import SLACK, stretch
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from edgeopt.arrays import Flags, Floats, Ints


LEAST: Final = 1e-12
"""Relative improvement below which the search stops: rounding must not make it go in circles."""

TERMS: Final = 5
"""Sums that a site keeps: roots of sending and computing, and the three of the objectives."""

COST, EXCESS, MOVES, SWAPS = range(TERMS, TERMS + 4)
"""Columns of `Tables.site` after the sums: the cost of a site, what `kernels.stretch` lies above 1
times the penalty, and bounds on moves from it and on its swaps with earlier sites."""

CHANGED, BOUND, PRICE = range(TERMS, TERMS + 3)
"""Columns of `Tables.entry` after the terms: what a site costs more without a request that is
there, else its cost with it; the same in the bound on swaps; and, of the latter, the penalty."""


class Tables(NamedTuple):
    """What changes of an assignment do, kept as long as the sites that they touch."""

    at: Ints  # site of every request that the tables hold for, -1 at first, [n]
    members: Ints  # requests of each site, ascending, [J, n]
    counts: Ints  # how many there are, [J]
    site: Floats  # sums and the columns above, [J, 9]
    entry: Floats  # terms and the columns above, [J, n, 8]
    worth: Floats  # of the best move from a site to another, and of the best swap, [J, J, 2]
    chosen: Ints  # the request that moves; and those that are swapped, [J, J, 3]


@compiled
def no_tables(terms: Floats) -> Tables:
    """Return tables of no assignment."""
    n, sites, _ = terms.shape
    entry = np.empty((sites, n, TERMS + 3), dtype=np.float64)
    for i in range(n):
        for j in range(sites):
            for t in range(TERMS):
                entry[j, i, t] = terms[i, j, t]
    return Tables(
        np.full(n, -1, dtype=np.int64),
        np.empty((sites, n), dtype=np.int64),
        np.zeros(sites, dtype=np.int64),
        np.zeros((sites, TERMS + 4), dtype=np.float64),
        entry,
        np.empty((sites, sites, 2), dtype=np.float64),
        np.empty((sites, sites, 3), dtype=np.int64),
    )


@compiled
def sums_cost(s0: float, s1: float, a: float, c: float, e: float, penalty: float) -> float:
    """Return what a site of these sums costs without objectives, and the penalty on them."""
    cost = s0 * s0 + s1 * s1
    if penalty > 0.0:
        excess = 0.5 * (a + e + math.sqrt((a - e) ** 2 + 4.0 * c * c)) - 1.0
        if excess > SLACK:
            cost += penalty * excess
    return cost


@compiled
def exchanged(sums: Floats, more: Floats, less: Floats, penalty: float) -> float:
    """Return what a site costs that wins one request and loses another."""
    return sums_cost(
        sums[0] + more[0] - less[0],
        sums[1] + more[1] - less[1],
        sums[2] + more[2] - less[2],
        sums[3] + more[3] - less[3],
        sums[4] + more[4] - less[4],
        penalty,
    )


@compiled(writes="site")
def descend(tables: Tables, site: Ints, penalty: float, most: int) -> int:
    """Change an assignment in place, and return in how many steps; tables may be of another one."""
    dirty = np.empty(tables.counts.size, dtype=np.bool_)
    if site.size == 0:  # no request would fill the tables
        return 0
    for step in range(most):
        _compare(tables, site, dirty)
        _measure(tables, dirty, penalty)
        _weigh_moves(tables, dirty)
        _weigh_swaps(tables, dirty, penalty)
        first, second, target = _best(tables)
        if first < 0:
            return step
        if second >= 0:
            site[second] = site[first]
        site[first] = target
    return most


@compiled(writes="dirty")
def _compare(tables: Tables, site: Ints, dirty: Flags) -> None:
    """Bring the members up to an assignment, and say at which sites they differ."""
    at, members, counts = tables.at, tables.members, tables.counts
    dirty[:] = False
    for i in range(at.size):
        if at[i] < 0:
            dirty[:] = True
        elif at[i] != site[i]:
            dirty[at[i]] = dirty[site[i]] = True
        at[i] = site[i]
    for j in range(dirty.size):
        if dirty[j]:
            counts[j] = 0
    for i in range(at.size):
        j = site[i]
        if dirty[j]:
            members[j, counts[j]] = i
            counts[j] += 1


@compiled
def _measure(tables: Tables, dirty: Flags, penalty: float) -> None:
    """Fill in what depends on a single site; sums are taken anew, so that no error piles up."""
    at, members, counts = tables.at, tables.members, tables.counts
    for j in np.flatnonzero(dirty):
        own, entry = tables.site[j], tables.entry[j]
        own[:TERMS] = 0.0
        for m in range(counts[j]):
            for t in range(TERMS):
                own[t] += entry[members[j, m], t]
        x, y, a, c, e = own[0], own[1], own[2], own[3], own[4]
        cost = sums_cost(x, y, a, c, e, penalty)
        own[COST], own[MOVES], own[SWAPS] = cost, np.inf, np.inf
        p, q = 0.0, 0.0
        if penalty > 0.0:
            largest = 0.5 * (a + e + math.sqrt((a - e) ** 2 + 4.0 * c * c))
            own[EXCESS] = penalty * (largest - 1.0)
            # Of the two ways to write the eigenvector, the one that subtracts nothing alike.
            p, q = (largest - e, c) if a >= e else (c, largest - a)
            size = math.hypot(p, q)
            p, q = (p / size, q / size) if size > 0.0 else (1.0, 0.0)
        for i in range(at.size):
            u, v, f, g, h = entry[i, 0], entry[i, 1], entry[i, 2], entry[i, 3], entry[i, 4]
            if u == np.inf:  # no link
                entry[i, PRICE] = entry[i, BOUND] = entry[i, CHANGED] = np.inf
                continue
            sign = -1.0 if at[i] == j else 1.0
            price = sign * penalty * (p * p * f + 2.0 * p * q * g + q * q * h)
            entry[i, PRICE] = price
            entry[i, BOUND] = (u + sign * 2.0 * x) * u + (v + sign * 2.0 * y) * v
            if own[EXCESS] > 0.0:
                entry[i, BOUND] += price
            if at[i] == j:
                without = sums_cost(x - u, y - v, a - f, c - g, e - h, penalty)
                entry[i, CHANGED] = without - cost
            else:
                entry[i, CHANGED] = sums_cost(x + u, y + v, a + f, c + g, e + h, penalty)


@compiled
def _weigh_moves(tables: Tables, dirty: Flags) -> None:
    """Find the best moves from and to sites, of equal ones the first."""
    members, counts, entry, site = tables.members, tables.counts, tables.entry, tables.site
    for j in np.flatnonzero(dirty):
        for turn in range(2 * counts.size):
            other = turn // 2
            if other == j or (other < j and dirty[other]):
                continue
            here, there = (j, other) if turn % 2 == 0 else (other, j)
            best, mover = np.inf, -1
            for m in range(counts[here]):
                i = members[here, m]
                change = entry[here, i, CHANGED] + entry[there, i, CHANGED] - site[there, COST]
                if change < best:
                    best, mover = change, i
            tables.worth[here, there, 0], tables.chosen[here, there, 0] = best, mover
            site[here, MOVES] = min(site[here, MOVES], best)


@compiled
def _weigh_swaps(tables: Tables, dirty: Flags, penalty: float) -> None:
    """Find the best swaps with sites that help, of equal ones the first."""
    members, counts, entry, site = tables.members, tables.counts, tables.entry, tables.site
    n = tables.at.size
    for j in np.flatnonzero(dirty):
        for other in range(counts.size):
            if other == j or (other < j and dirty[other]):
                continue
            here, there = (j, other) if j > other else (other, j)
            best, first, second = 0.0, n, n
            # Rounding must rule nothing out.
            slack = 4.0 * SLACK * (site[here, COST] + site[there, COST] + penalty)
            # What the other request adds at least, whatever the one is.
            u, v, x, y, least = 0.0, 0.0, 0.0, 0.0, np.inf
            for m in range(counts[here]):
                i = members[here, m]
                if entry[there, i, 0] == np.inf:
                    continue
                u, v = max(u, entry[here, i, 0]), max(v, entry[here, i, 1])
                x, y = max(x, entry[there, i, 0]), max(y, entry[there, i, 1])
            for m in range(counts[there]):
                k = members[there, m]
                if entry[here, k, 0] == np.inf:
                    continue
                both = u * entry[here, k, 0] + v * entry[here, k, 1]
                both += x * entry[there, k, 0] + y * entry[there, k, 1]
                least = min(least, entry[here, k, BOUND] + entry[there, k, BOUND] - 2.0 * both)
            for m in range(counts[here]):
                i = members[here, m]
                one = entry[here, i, BOUND] + entry[there, i, BOUND] - slack
                if one + least > best or entry[there, i, 0] == np.inf:
                    continue
                u, v = entry[here, i, 0], entry[here, i, 1]
                x, y = entry[there, i, 0], entry[there, i, 1]
                for o in range(counts[there]):
                    k = members[there, o]
                    if entry[here, k, 0] == np.inf:
                        continue
                    both = u * entry[here, k, 0] + v * entry[here, k, 1]
                    both += x * entry[there, k, 0] + y * entry[there, k, 1]
                    bound = one + entry[here, k, BOUND] + entry[there, k, BOUND] - 2.0 * both
                    if bound > best:
                        continue
                    if penalty > 0.0:
                        more = entry[here, i, PRICE] + entry[here, k, PRICE]
                        bound += _left_out(site[here, EXCESS], more)
                        more = entry[there, i, PRICE] + entry[there, k, PRICE]
                        bound += _left_out(site[there, EXCESS], more)
                        if bound > best:
                            continue
                    if i > k:
                        change = _swapped(tables, here, there, i, k, penalty)
                        if change < best or (change == best and (i, k) < (first, second)):
                            best, first, second = change, i, k
                    else:
                        change = _swapped(tables, there, here, k, i, penalty)
                        if change < best or (change == best and (k, i) < (first, second)):
                            best, first, second = change, k, i
            tables.worth[here, there, 1] = best
            tables.chosen[here, there, 1], tables.chosen[here, there, 2] = first, second
            site[here, SWAPS] = min(site[here, SWAPS], best)


@compiled
def _left_out(excess: float, more: float) -> float:
    """Return what the bound leaves out: the excess of a site counts as far as it is positive."""
    return max(0.0, -excess - more) if excess > 0.0 else max(0.0, excess + more)


@compiled
def _swapped(tables: Tables, here: int, there: int, i: int, k: int, penalty: float) -> float:
    """Return what a swap of two requests adds to the cost of their sites."""
    site, entry = tables.site, tables.entry
    change = exchanged(site[here], entry[here, k], entry[here, i], penalty) - site[here, COST]
    change += exchanged(site[there], entry[there, i], entry[there, k], penalty)
    return float(change - site[there, COST])


@compiled
def _best(tables: Tables) -> tuple[int, int, int]:
    """Return the best change: who moves or is swapped with whom, -1 for nobody, and where to.

    Of equal ones it is the first, and a move rather than a swap.
    """
    site, worth, chosen = tables.site, tables.worth, tables.chosen
    sites = site.shape[0]
    total = 0.0
    for j in range(sites):
        total += site[j, COST]
    best, first, second, target = -LEAST * total, -1, -1, -1
    for here in range(sites):
        if site[here, MOVES] > best:
            continue
        site[here, MOVES] = np.inf
        for there in range(sites):
            if there == here:
                continue
            change, i = worth[here, there, 0], chosen[here, there, 0]
            site[here, MOVES] = min(site[here, MOVES], change)
            if change < best or (change == best and (i, there) < (first, target)):
                best, first, target = change, i, there
    for here in range(sites):
        if site[here, SWAPS] > best:
            continue
        site[here, SWAPS] = np.inf
        for there in range(here):
            change = worth[here, there, 1]
            i, k = chosen[here, there, 1], chosen[here, there, 2]
            site[here, SWAPS] = min(site[here, SWAPS], change)
            if change < best or (second >= 0 and change == best and (i, k) < (first, second)):
                best, first, second, target = change, i, k, tables.at[k]
    return first, second, target


@compiled(writes="own site")
def restore(terms: Floats, slo: Floats, late: float, order: Ints, own: Floats, site: Ints) -> None:
    """Let requests that gave up their objectives keep them after all, in this order.

    `own` holds what each request is answered within, its objective where that is met, and is kept
    up to date. A request may find room; another one may move to make room; or one that takes more
    room may give up instead. Where nothing of that helps, requests move so that free room comes
    together at few sites.
    """
    n, sites, _ = terms.shape
    share, loads = np.empty(n, dtype=np.float64), np.zeros((sites, 3), dtype=np.float64)
    size = np.empty(n, dtype=np.float64)
    for i in range(n):
        share[i] = 1.0 if own[i] <= slo[i] * (1.0 + 2.0 * TIGHT) else slo[i] / own[i]
        size[i] = (terms[i, :, 2] + terms[i, :, 4]).min()
        for m in range(3 if site[i] >= 0 else 0):
            loads[site[i], m] += share[i] * terms[i, site[i], 2 + m]
    again = True
    while again:
        again = False
        for i in order:
            if share[i] < 1.0 and (
                _enter(terms, loads, share, site, i)
                or _replace(terms, loads, share, site, size, slo, own, late, i)
            ):
                own[i], again = slo[i], True
        if not again:
            again = _gather(terms, loads, share, site)


@compiled
def _load(
    loads: Floats, site: int, gone: int, come: int, terms: Floats, share: Floats, whole: bool
) -> float:
    """Return the stretch of a site without one request and with another, -1 for none.

    The one that comes is held to its objective if `whole`, else to its limit.
    """
    if site < 0:
        return 0.0
    a, c, e = loads[site, 0], loads[site, 1], loads[site, 2]
    if gone >= 0:
        a -= share[gone] * terms[gone, site, 2]
        c -= share[gone] * terms[gone, site, 3]
        e -= share[gone] * terms[gone, site, 4]
    if come >= 0:
        if terms[come, site, 2] == np.inf:
            return np.inf
        part = 1.0 if whole else share[come]
        a += part * terms[come, site, 2]
        c += part * terms[come, site, 3]
        e += part * terms[come, site, 4]
    return stretch(a, c, e, 1.0)


@compiled(writes="loads site")
def _send(
    loads: Floats, site: Ints, i: int, target: int, terms: Floats, before: float, after: float
) -> None:
    """Send a request to a site, and change the share of its objective that it is held to."""
    for m in range(3):
        if site[i] >= 0:
            loads[site[i], m] -= before * terms[i, site[i], 2 + m]
        if target >= 0:
            loads[target, m] += after * terms[i, target, 2 + m]
    site[i] = target


@compiled(writes="loads share site")
def _enter(terms: Floats, loads: Floats, share: Floats, site: Ints, i: int) -> bool:
    """Give a request room for its objective, where another one may have to move for it."""
    n, sites, _ = terms.shape
    here = site[i]
    for j in range(sites):
        if _load(loads, j, i if j == here else -1, i, terms, share, True) <= 1.0:
            _send(loads, site, i, j, terms, share[i], 1.0)
            share[i] = 1.0
            return True
    for k in range(n):
        j = site[k]
        if j < 0 or j == here or _load(loads, j, k, i, terms, share, True) > 1.0:
            continue
        for h in range(sites):
            gone = i if h == here else -1
            if h != j and _load(loads, h, gone, k, terms, share, False) <= 1.0:
                _send(loads, site, k, h, terms, share[k], share[k])
                _send(loads, site, i, j, terms, share[i], 1.0)
                share[i] = 1.0
                return True
    return False


@compiled(writes="loads share site own")
def _replace(
    terms: Floats,
    loads: Floats,
    share: Floats,
    site: Ints,
    size: Floats,
    slo: Floats,
    own: Floats,
    late: float,
    i: int,
) -> bool:
    """Let a request take the place of a larger one, which gives up its objective instead."""
    here = site[i]
    for k in range(site.size):
        j = site[k]
        if share[k] < 1.0 or j < 0 or j == here or size[i] >= size[k] * (1.0 - TIGHT):
            continue
        if _load(loads, j, k, i, terms, share, True) > 1.0:
            continue
        limit = np.inf if own[i] == np.inf else max(slo[k], late)
        share[k] = slo[k] / limit
        if _load(loads, here, i, k, terms, share, False) > 1.0:
            share[k] = 1.0
            continue
        _send(loads, site, k, here, terms, 1.0, share[k])
        _send(loads, site, i, j, terms, share[i], 1.0)
        share[i], own[k] = 1.0, limit
        return True
    return False


@compiled(writes="loads site")
def _gather(terms: Floats, loads: Floats, share: Floats, site: Ints) -> bool:
    """Move a request so that the squares of free room grow: one large place is worth more."""
    for k in range(site.size):
        j = site[k]
        if j < 0:
            continue
        before = 1.0 - _load(loads, j, -1, -1, terms, share, False)
        after = 1.0 - _load(loads, j, k, -1, terms, share, False)
        for h in range(loads.shape[0]):
            if h == j:
                continue
            room = 1.0 - _load(loads, h, -1, -1, terms, share, False)
            left = 1.0 - _load(loads, h, -1, k, terms, share, False)
            more = after * after + left * left
            if left >= 0.0 and more > before * before + room * room + TIGHT:
                _send(loads, site, k, h, terms, share[k], share[k])
                return True
    return False


KICK = 3  # requests that are sent elsewhere at once to leave a local optimum


@compiled
def measure(
    transmission: Floats, computation: Floats, slo: Floats, weight: Floats, room: Floats
) -> Floats:
    """Return what each request adds to the sums of each site, shape [n, J, 5].

    Without a link, what concerns sending is infinite.
    """
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
            if sending == np.inf:  # nor is anything a number if it is times 0 or over an infinity
                terms[i, j, 2] = terms[i, j, 3] = np.inf
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
    # Iterated local search (Lourenço, Martin and Stützle 2003).
    seed = np.uint64(88172645463325252)
    for _ in range(kicks):
        put(site, trial)
        for _ in range(min(n, KICK)):
            seed = _next(seed)
            i = int((seed >> np.uint64(11)) % np.uint64(n))
            seed = _next(seed)
            other = np.int64((seed >> np.uint64(11)) % np.uint64(sites - 1))
            to = other if other < trial[i] else other + 1
            if terms[i, to, 0] < np.inf:
                trial[i] = to
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
