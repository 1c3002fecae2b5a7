"""The master problem of a slot, the ascent of its Lagrangian bound, and the columns gathered."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.kernels import compiled, put
from edgeopt.models.oinc.slot.columns.pricing import column_cost, lateness, search
from edgeopt.models.oinc.slot.solve import assign, own_assignment, solve_slot
from edgeopt.solvers import LinearProgram, Reusable
from edgeopt.solvers.columns import Priced, ReusableMaster, generate_columns
from edgeopt.solvers.tolerance import relative_gap

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.oinc.slot.problem import SlotProblem


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


SWEEPS: Final = 40  # how often the mix of each site is improved before new columns are sought
TURNS: Final = 5  # how many times as often where that promises no rise yet
GOOD: Final = 0.3  # share of the promised rise that makes steps longer
LONGER, SHORTER = 1.5, 0.6  # by how much
PATIENCE: Final = 2  # steps without a higher bound after which steps become shorter
CLOSE: Final = 0.1  # share of the gap asked for that the mix may leave
PROMISE: Final = 0.5  # share of it below which a promised rise ends the ascent
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
        cutoff, p, q = value[j] - MARGIN * scale, 0.0, 0.0
        if chosen[j] >= 0:
            for k in range(pool[chosen[j], 1]):
                p += a[j, pool[chosen[j], 2 + k]] / pool[chosen[j], 1]
                q += e[j, pool[chosen[j], 2 + k]] / pool[chosen[j], 1]
        _, size, reduced[j], some = search(
            a[j], e[j], s, prices, p, q, cutoff, limit, members, none
        )
        examined += some
        if size > 0 and count < pool.shape[0]:
            pool[count, 0], pool[count, 1] = j, size
            put(members[:size], pool[count, 2:])
            cost[count], _, _ = column_cost(a[j], e[j], s, members, size)
            chosen[j] = count
            count += 1
    return count, examined


@compiled(writes="point slack weight idle")
def _mix(
    prices: Floats,
    step: float,
    close: float,
    pool: Ints,
    cost: Floats,
    last: Ints,
    before: Ints,
    point: Floats,
    slack: Floats,
    weight: Floats,
    idle: Floats,
) -> float:
    """Find the prices near the best ones at which the columns known prove most.

    What they prove, less the squared distance over twice the step, is most at the prices plus the
    step times what the best mix of columns leaves unanswered, the `slack`. Of each site, the share
    of the dearest column in its mix goes to the cheapest one known, or to none, as far as it helps,
    until they differ by at most `close`. Returned is by how much they still did.
    """
    inside, most = np.zeros(prices.size, dtype=np.bool_), np.inf
    for i in range(prices.size):
        point[i] = max(0.0, prices[i] + step * slack[i])
    for _ in range(SWEEPS):
        most = 0.0
        for j in range(idle.size):
            low, high, cheap, dear = 0.0, -np.inf, -1, -1
            if idle[j] > 0.0:
                high = 0.0
            c = last[j]
            while c >= 0:
                value = cost[c]
                for k in range(pool[c, 1]):
                    value -= point[pool[c, 2 + k]]
                if value < low:
                    low, cheap = value, c
                if weight[c] > 0.0 and value > high:
                    high, dear = value, c
                c = before[c]
            apart = 0
            if cheap >= 0:
                for k in range(pool[cheap, 1]):
                    inside[pool[cheap, 2 + k]] = True
                apart += pool[cheap, 1]
            if dear >= 0:
                for k in range(pool[dear, 1]):
                    apart += -1 if inside[pool[dear, 2 + k]] else 1
            if cheap >= 0:
                for k in range(pool[cheap, 1]):
                    inside[pool[cheap, 2 + k]] = False
            if high <= low or apart == 0:
                continue
            most = max(most, high - low)
            moved = min(idle[j] if dear < 0 else weight[dear], (high - low) / (step * apart))
            for column, more in ((cheap, moved), (dear, -moved)):
                if column < 0:
                    idle[j] += more
                    continue
                weight[column] += more
                for k in range(pool[column, 1]):
                    i = pool[column, 2 + k]
                    slack[i] -= more
                    point[i] = max(0.0, prices[i] + step * slack[i])
        if most <= close:
            break
    return most


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
    """Raise the bound; `prices` and `reduced` become those of the best one.

    A bundle method (Lemarechal 1975): the next prices are those at which the columns known promise
    most, less a penalty on their distance from the best ones. The pool holds an assignment, or
    nothing.
    """
    sites, n = a.shape
    point, now = prices.copy(), np.empty(sites, dtype=np.float64)
    chosen, values = np.empty(sites, dtype=np.int64), np.empty(sites, dtype=np.float64)
    slack, idle = np.ones(n, dtype=np.float64), np.ones(sites, dtype=np.float64)
    weight = np.zeros(pool.shape[0], dtype=np.float64)
    last, before = np.full(sites, -1), np.full(pool.shape[0], -1)
    for c in range(count):
        weight[c], idle[pool[c, 0]] = 1.0, 0.0
        for k in range(pool[c, 1]):
            slack[pool[c, 2 + k]] -= 1.0
    best, promised, step = -np.inf, 0.0, 1.0
    linked, failed, examined, done = 0, 0, 0, 0
    while done < rounds:
        done += 1
        count, some = price_sites(a, e, s, point, limit, pool, cost, count, chosen, now)
        examined += some
        value = _total(point) + _total(now)
        failed = 0 if value > best else failed + 1
        if value > best:
            if value - best > GOOD * (promised - best):
                step *= LONGER
            best = value
            put(point, prices)
            put(now, reduced)
        elif failed >= PATIENCE:
            step *= SHORTER
            failed = 0
        if upper - best <= gap * upper:
            break
        while linked < count:
            before[linked], last[pool[linked, 0]] = last[pool[linked, 0]], linked
            linked += 1
        close = CLOSE * gap * upper / sites
        for _ in range(TURNS):
            most = _mix(prices, step, close, pool, cost, last, before, point, slack, weight, idle)
            values[:] = 0.0
            for c in range(count):
                value = cost[c]
                for k in range(pool[c, 1]):
                    value -= point[pool[c, 2 + k]]
                values[pool[c, 0]] = min(values[pool[c, 0]], value)
            promised = _total(point) + _total(values)
            if most <= close or promised - best > PROMISE * gap * upper:
                break
        if promised - best <= PROMISE * gap * upper:
            break
    return best, count, done, examined


@compiled
def _total(values: Floats) -> float:
    """Return the sum, without what numba compiles for an array's own."""
    total = 0.0
    for value in values:
        total += value
    return total


@compiled(writes="pool cost")
def add_assignment(
    a: Floats, e: Floats, s: Floats, site: Ints, pool: Ints, cost: Floats, count: int
) -> int:
    """Add the sets of an assignment to a pool with room for them; return how many it holds."""
    for j in range(a.shape[0]):
        size = 0
        for i in range(site.size):
            if site[i] == j:
                pool[count, 2 + size] = i
                size += 1
        if size > 0:
            pool[count, 0], pool[count, 1] = j, size
            cost[count], _, _ = column_cost(a[j], e[j], s, pool[count, 2:], size)
            count += 1
    return count


SHARES: Final = (0.5, 1.0)
"""How far to go from the best prices so far to those of the master, one after the other."""

FINE: Final = 1e-9  # relative reduced costs below it count as 0


class Pool:
    """Columns known of a slot: a site, a set of requests, and what the site costs with it."""

    def __init__(self, roots: Roots, capacity: int) -> None:
        self.roots = roots
        self.count = 0
        self.examined = 0
        self.sets = np.empty((capacity, 2 + roots.s.size), dtype=np.int64)
        """Site, size and members of each column."""
        self.cost = np.empty(capacity)

    def add(self, site: Ints) -> None:
        """Add the sets of an assignment, at infinite cost where objectives cannot be met."""
        self.reserve(self.roots.a.shape[0])
        self.count = add_assignment(*self.roots, site, self.sets, self.cost, self.count)

    def put(self, site: int, members: Ints) -> None:
        """Add a column."""
        self.reserve(1)
        here = self.count
        self.sets[here, :2] = site, members.size
        self.sets[here, 2 : 2 + members.size] = members
        a, e, s = self.roots
        self.cost[here], _, _ = column_cost(a[site], e[site], s, members, members.size)
        self.count += 1

    def extend(self, site: int, sets: Ints) -> None:
        """Add sets of a site, each a number and that many members, shape [C, 1 + n]."""
        self.reserve(len(sets))
        for row in sets:
            self.put(site, row[1 : 1 + row[0]])

    def assignment(self, columns: Ints) -> Ints:
        """Return the site of each request, shape [n], when these columns are picked."""
        site = np.full(self.roots.s.size, -1)
        for j, size, *members in self.sets[columns]:
            site[members[:size]] = j
        return site

    def reserve(self, more: int) -> None:
        """Grow the arrays for more columns."""
        missing = self.count + more - self.cost.size
        if missing > 0:
            missing = max(missing, self.cost.size)
            self.sets = np.pad(self.sets, ((0, missing), (0, 0)))
            self.cost = np.pad(self.cost, (0, missing))

    def price(self, prices: Floats, limit: int) -> Floats:
        """Add the best set of each site at given prices."""
        sites = self.roots.a.shape[0]
        self.reserve(sites)
        reduced, chosen = np.empty(sites), np.empty(sites, dtype=np.int64)
        self.count, examined = price_sites(
            *self.roots, prices, limit, self.sets, self.cost, self.count, chosen, reduced
        )
        self.examined += examined
        return reduced

    def matrix(self, first: int = 0) -> Any:
        """Return which requests and which site the columns from the first one on hold, [n+J, C]."""
        sites, n = self.roots.a.shape
        sets = self.sets[first : self.count]
        inside = np.arange(n) < sets[:, 1, np.newaxis]
        request = sets[:, 2:][inside]
        column = np.concatenate([np.nonzero(inside)[0], np.arange(len(sets))])
        row = np.concatenate([request, n + sets[:, 0]])
        return sparse.csc_array((np.ones(row.size), (row, column)), shape=(n + sites, len(sets)))


class _SlotMaster(ReusableMaster):
    r"""The best mix of known columns; a `columns.Master`.

    .. math::

        \min \sum_c c_c x_c + M \sum_i u_i \quad\text{s.t.}\quad
        \sum_{c \ni i} x_c + u_i \ge 1,\ \sum_{c \in j} x_c \le 1,\ x, u \ge 0

    The cost M of an unanswered request exceeds any price. Pricing examines up to ``limit`` sets on
    each site.
    """

    def __init__(self, pool: Pool, unanswered: float, limit: int) -> None:
        self.pool, self.limit = pool, limit
        sites, n = pool.roots.a.shape
        self._held = pool.count
        self.centre(np.zeros(n), 0.0, np.zeros(sites))
        alone = sparse.vstack([sparse.eye_array(n), sparse.csc_array((sites, n))])
        super().__init__(
            Reusable(
                LinearProgram(
                    np.concatenate([np.full(n, unanswered), pool.cost[: pool.count]]),
                    sparse.hstack([alone, pool.matrix()], format="csc"),
                    np.concatenate([np.ones(n), np.full(sites, -np.inf)]),
                    np.concatenate([np.full(n, np.inf), np.ones(sites)]),
                )
            )
        )

    def centre(self, prices: Floats, bound: float, reduced: Floats) -> None:
        """Take prices as the best so far, with their bound and the part of each site in it."""
        self.prices, self.bound, self.reduced = prices, bound, reduced

    def pricing(self, duals: Floats) -> Priced[Ints]:
        """Return what prices prove for all columns, and the columns that cost less than they bring.

        Prices of a master jump about; a point between them and the best ones so far mostly finds
        better columns. Where the master wants none of those, its prices themselves are used.
        """
        prices = np.maximum(duals[: self.prices.size], 0.0)
        # Smoothing of dual prices (Wentges 1997).
        for share in SHARES:
            first = self.pool.count
            point = self.prices + share * (prices - self.prices)
            reduced = self.pool.price(point, self.limit)
            value = float(point.sum() + reduced.sum())
            if value > self.bound:
                self.centre(point, value, reduced)
            if self._wanted(first, duals):
                break
        fresh = np.arange(self._held, self.pool.count)
        return Priced(self.bound, fresh if fresh.size else None)

    def _wanted(self, first: int, duals: Floats) -> bool:
        """Whether a column from the first one on would improve the mix."""
        worth = self.pool.matrix(first).T @ duals
        return bool((self.pool.cost[first : self.pool.count] < worth * (1.0 - FINE)).any())

    def add(self, columns: Ints) -> int:
        """Add columns of the pool."""
        self._model.add_columns(self.pool.cost[columns], self.pool.matrix(self._held))
        self._held = self.pool.count
        return int(columns.size)


ROUNDS: Final = 30
"""Steps of the ascent at most; what it leaves, a linear program over the columns proves."""

FEW, MANY = 20_000, 1_000_000
"""Sets that pricing examines on a site before it stops with what it has proven.

Few while prices are rough, many in the end.
"""

GUESS: Final = 1.1
"""Cost to begin with where no assignment is known that meets the objectives, relatively."""

DEARER: Final = 100.0
"""Factor on the cost of an unanswered request when the columns cannot do without."""

ROUNDING: Final = 1e-9
"""How much more than possible a bound has to be, relatively, before nothing is possible."""

TINY: Final = 2.0**-200  # makes times vanish in sums with prices, and keeps their ratios


@dataclass
class Evidence:
    """What is known about the cost of a slot, measured in its unit."""

    unit: float  # s
    site: Ints  # a good assignment, shape [n]
    known: float  # what it costs, infinite where objectives cannot be met
    pool: Pool
    # prices, reduced: prices of requests, shape [n], and what each site's sets cost less these,
    # shape [J]
    prices: Floats
    reduced: Floats
    bound: float  # their sum, which no assignment falls below
    upper: float  # what the bound could rise to at most, infinite if unknown or nothing is possible

    @property
    def gap(self) -> float:
        """Relative gap between bound and upper."""
        return gap_of(self.upper, self.bound)


def gap_of(upper: float, bound: float) -> float:
    """Return the gap by which a solver stops: 0 where both say that nothing is possible."""
    if upper == bound == np.inf:
        return 0.0
    return 0.0 if upper <= bound else relative_gap(upper, bound)


def gather(
    problem: SlotProblem,
    *,
    objectives: bool,
    gap: float,
    site: Ints | None,
    time_limit: float | None,
) -> Evidence:
    """Raise prices, then generate columns, until the gap is proven or time is over."""
    began = time.perf_counter()
    if not problem.linked.all():  # no assignment answers all requests
        zeros = np.zeros((problem.sites, problem.requests))
        roots = Roots(zeros, zeros, np.zeros(problem.requests))
        nobody, nothing = np.full(problem.requests, -1), np.zeros(problem.requests)
        free, none = np.zeros(problem.sites), Pool(roots, 0)
        return Evidence(1.0, nobody, np.inf, none, nothing, free, np.inf, np.inf)
    roots, unit = roots_of(problem, objectives)
    if site is None:
        site = solve_slot(problem, late=np.inf).site if objectives else assign(problem)
    site = own_assignment(problem, site)
    evidence = _raise_prices(roots, unit, site, gap)
    dear = 2.0 * float(evidence.prices.max(initial=0.0)) + evidence.bound + 1.0
    for _ in range(4):
        left = None if time_limit is None else time_limit - (time.perf_counter() - began)
        if evidence.gap <= gap or (left is not None and left <= 0.0):
            break
        if not _generate(evidence, dear, gap, left):
            break
        if _impossible(evidence):
            evidence.bound = evidence.upper = np.inf
            break
        dear *= DEARER
    return evidence


def _impossible(evidence: Evidence) -> bool:
    """Whether the prices prove that no assignment meets all objectives.

    They do if they prove a cost above the sum of objectives. Where a request has none, they do if
    they prove a positive cost even if sites cost nothing: with times and objectives so small that
    they are lost in sums with prices, but not with each other.
    """
    a, e, s = evidence.pool.roots
    if s.max() < np.inf:
        return evidence.bound > float(s.sum()) * (1.0 + ROUNDING)
    small = Pool(Roots(a * TINY, e * TINY, s * TINY**2), 0)
    prices = evidence.prices / (float(evidence.prices.max()) or 1.0)
    proven = float(prices.sum() + small.price(prices, MANY).sum())
    return proven > ROUNDING * float(prices.sum())


def _raise_prices(roots: Roots, unit: float, site: Ints, gap: float) -> Evidence:
    sites = roots.a.shape[0]
    pool = Pool(roots, (ROUNDS + 1) * sites)
    pool.add(site)
    upper = float(pool.cost[: pool.count].sum())
    prices, reduced = start_prices(*roots, site), np.empty(sites)
    target = upper
    if not np.isfinite(upper):
        pool.count, target = 0, GUESS * float(prices.sum()) / 2.0
    bound, pool.count, _, pool.examined = ascend(
        *roots, prices, target, gap, ROUNDS, FEW, pool.sets, pool.cost, pool.count, reduced
    )
    return Evidence(unit, site, upper, pool, prices, reduced, bound, upper)


def _generate(evidence: Evidence, dear: float, gap: float, time_limit: float | None) -> bool:
    """Generate columns; return whether the best mix leaves requests unanswered."""
    master = _SlotMaster(evidence.pool, dear, MANY)
    master.centre(evidence.prices, evidence.bound, evidence.reduced)
    solution = generate_columns(
        master, master.pricing, gap=gap, time_limit=time_limit, raises=False
    )
    evidence.prices, evidence.reduced, evidence.bound = master.prices, master.reduced, master.bound
    if solution.values is None:
        return False
    unanswered = solution.values[: evidence.prices.size].max(initial=0.0) > 1e-9
    if not unanswered:
        evidence.upper = min(evidence.upper, float(solution.objective))
    return bool(unanswered)
