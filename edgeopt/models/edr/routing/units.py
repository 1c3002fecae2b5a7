"""Units in which routing has numbers around 1, and the way back from a solver's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.models.edr.routing.matrix import prices_of
from edgeopt.models.edr.routing.plan import RoutingPlan, dual_bound

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from edgeopt.models.edr.routing.plan import Prices
    from edgeopt.models.edr.routing.problem import Penalties, RoutingProblem
    from edgeopt.solvers import LinearProgram

    Floats = NDArray[np.float64]

__all__ = ["Units", "plan_of"]

ROUNDING = 1e-12
"""Share of a demand that rounding alone may leave unserved."""


class Units(NamedTuple):
    """Sizes to measure in: tolerances of solvers are absolute, energies of requests are not.

    The matrix does not depend on `request` and `cost`, so that both may change from one problem to
    the next without loading the program again.

    Attributes
    ----------
    request
        Requests.
    cost
        Cost of a request.
    work
        Computation of a request, GFLOP.
    energy
        Energy of a request, Wh.
    """

    request: float
    cost: float
    work: float
    energy: float

    @classmethod
    def of(cls, problem: RoutingProblem) -> Units:
        """Return the largest of each in a problem."""
        parts = (problem.demand, np.abs(problem.cost), problem.work, problem.energy)
        return cls(*(float(part.max(initial=0.0)) or 1.0 for part in parts))

    def columns(self, problem: RoutingProblem, width: int) -> Floats:
        """Return the unit of each column of `routing_matrix`, shape [width]."""
        size = np.full(width, self.request)
        if np.isfinite(problem.budget):
            size[problem.demand.size] *= self.energy
        return size

    def rows(self, problem: RoutingProblem) -> Floats:
        """Return the unit of each row of `routing_matrix`, shape [rows]."""
        computing = problem.capacity.size + int(np.isfinite(problem.room).sum())
        budgets = int(np.isfinite(problem.budget))
        size = [1.0] * problem.demand.size + [self.work] * computing + [self.energy] * budgets
        return self.request * np.array(size)

    def program(self, problem: RoutingProblem, program: LinearProgram) -> LinearProgram:
        """Return the program of a problem in these units."""
        column, row = self.columns(problem, program.shape[1]), self.rows(problem)
        matrix = sparse.diags_array(1.0 / row) @ program.matrix @ sparse.diags_array(column)
        return program.replace(
            cost=program.cost * column / (self.request * self.cost),
            matrix=sparse.csc_array(matrix),
            row_lower=program.row_lower / row,
            row_upper=program.row_upper / row,
            upper=program.upper / column,
        )

    def duals(self, problem: RoutingProblem, duals: Floats) -> Floats:
        """Return duals of the program in these units as those of the problem."""
        return np.asarray(duals * (self.request * self.cost) / self.rows(problem))

    def prices(self, problem: RoutingProblem, duals: Any) -> Prices:
        """Return the prices that the duals of the program in these units stand for."""
        if duals is None:
            duals = np.zeros(self.rows(problem).size)
        return prices_of(problem, self.duals(problem, duals))


def plan_of(
    problem: RoutingProblem,
    penalties: Penalties,
    flow: Floats,
    prices: Prices,
    *,
    seconds: float,
    method: str,
) -> RoutingPlan:
    """Make a plan of what a solver returned, with nothing above demand or capacity."""
    used = np.flatnonzero(flow > 0.0)
    kept, row, site = flow[used], problem.row[used], problem.site[used]
    work = problem.work[row % problem.types]
    cell = row // problem.types // problem.sites * problem.sites + site
    kept = kept * _share(kept * work, cell, problem.capacity.ravel())[cell]
    kept = kept * _share(kept * work, site, problem.room)[site]
    demand = problem.demand.ravel()
    kept = kept * _share(kept, row, demand)[row]
    unserved = demand - np.bincount(row, weights=kept, minlength=demand.size)
    unserved[unserved <= ROUNDING * demand] = 0.0
    return RoutingPlan(
        problem=problem,
        used=used,
        amount=kept,
        unserved=unserved.reshape(problem.demand.shape),
        penalties=penalties,
        prices=prices,
        bound=dual_bound(problem, prices, penalties),
        seconds=seconds,
        method=method,
    )


def _share(amount: Floats, where: NDArray[np.integer], limit: Floats) -> Floats:
    """Return by what factor amounts must shrink to add up to no more than each limit."""
    total = np.bincount(where, weights=amount, minlength=limit.size)
    share = np.ones(limit.size)
    np.divide(limit, total, out=share, where=total > limit)
    return share
