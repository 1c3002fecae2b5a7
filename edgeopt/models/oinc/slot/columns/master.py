"""The master problem of a slot: which columns, in which shares, answer every request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from edgeopt.models.oinc.slot.columns.ascent import price_sites
from edgeopt.models.oinc.slot.columns.cost import column_cost
from edgeopt.solvers import LinearProgram, Reusable
from edgeopt.solvers.columns import Priced, Restricted
from edgeopt.solvers.linear_master import GeneratedProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot.columns.roots import Roots
    from edgeopt.solvers.program import Sense

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Pool", "SlotMaster"]

SHARES: Final = (0.5, 1.0)
"""How far to go from the best prices so far to those of the master, one after the other."""

FINE: Final = 1e-9
"""Relative reduced costs below it count as 0."""


class Pool:
    """Columns known of a slot: a site, a set of requests, and what the site costs with it.

    Parameters
    ----------
    roots
        The slot.
    capacity
        Number of columns that there is room for.
    """

    def __init__(self, roots: Roots, capacity: int) -> None:
        self.roots = roots
        self.count = 0
        self.looked = 0
        self.sets = np.empty((capacity, 2 + roots.s.size), dtype=np.int64)
        """Site, size and members of each column."""
        self.cost = np.empty(capacity)

    def add(self, site: Ints) -> None:
        """Add the sets of an assignment, at infinite cost where objectives cannot be met."""
        for j in range(self.roots.a.shape[0]):
            members = np.flatnonzero(site == j)
            if members.size:
                self.put(j, members)

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
        """Make room for more columns."""
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
        self.count, looked = price_sites(
            *self.roots, prices, limit, self.sets, self.cost, self.count, chosen, reduced
        )
        self.looked += looked
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


class SlotMaster:
    r"""The best mix of known columns; a `columns.Master`.

    .. math::

        \min \sum_c c_c x_c + M \sum_i u_i \quad\text{s.t.}\quad
        \sum_{c \ni i} x_c + u_i \ge 1,\ \sum_{c \in j} x_c \le 1,\ x, u \ge 0

    Parameters
    ----------
    pool
        Columns to begin with; those that pricing finds are added.
    unanswered
        Cost M of a request that no column answers, more than any price.
    limit
        Number of sets that pricing looks at on each site at most.
    """

    sense: Sense = "min"
    name = "column generation"

    def __init__(self, pool: Pool, unanswered: float, limit: int) -> None:
        self.pool, self.limit = pool, limit
        sites, n = pool.roots.a.shape
        self._held = pool.count
        self.centre(np.zeros(n), 0.0, np.zeros(sites))
        alone = sparse.vstack([sparse.eye_array(n), sparse.csc_array((sites, n))])
        self._model = Reusable(
            LinearProgram(
                np.concatenate([np.full(n, unanswered), pool.cost[: pool.count]]),
                sparse.hstack([alone, pool.matrix()], format="csc"),
                np.concatenate([np.ones(n), np.full(sites, -np.inf)]),
                np.concatenate([np.full(n, np.inf), np.ones(sites)]),
            )
        )
        self.version = ""

    def centre(self, prices: Floats, bound: float, reduced: Floats) -> None:
        """Take prices as the best so far, with their bound and the part of each site in it."""
        self.prices, self.bound, self.reduced = prices, bound, reduced

    def solve(self, gap: float, time_limit: float | None) -> Restricted:
        """Solve on the columns so far; a vertex is exact, whatever the gap."""
        solution = self._model.solve()
        self.version = f"{solution.solver} {solution.version}"
        return Restricted(solution.objective, solution.values, solution.duals)

    def pricing(self, duals: Floats) -> Priced[Ints]:
        """Return what prices prove for all columns, and the columns that cost less than they bring.

        Prices of a master jump about; a point between them and the best ones so far mostly finds
        better columns. Where the master wants none of those, its prices themselves are used.
        """
        prices = np.maximum(duals[: self.prices.size], 0.0)
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

    def complete(self, values: Floats) -> Floats:
        """Return values found earlier, columns that joined later at 0."""
        return np.pad(values, (0, self._model.program.shape[1] - values.size))

    def whole(self, pricing: Callable[[Any], Priced[Any]]) -> GeneratedProgram:
        """Return the program so far with pricing for all other columns."""
        return GeneratedProgram(self._model.program, pricing)
