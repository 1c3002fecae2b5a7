"""Routing requests by the compiled network method, or by a solver of linear programs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.models.edr.routing.matrix import prices_of, routing_matrix
from edgeopt.models.edr.routing.network_simplex import solve_by_network
from edgeopt.models.edr.routing.problem import RoutingPlan, dual_bound
from edgeopt.options import check_choice
from edgeopt.solvers import solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.edr.routing.problem import Elastic, Penalties, Prices, RoutingProblem

    Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""Share of a demand that rounding alone may leave unserved."""


@checked()
def solve_routing(
    problem: RoutingProblem,
    *,
    elastic: Elastic = "soft",
    method: Literal["network", "highs"] = "network",
    start: RoutingPlan | None = None,
    gap: float = 1e-6,
) -> RoutingPlan:
    """Route requests at the least cost.

    Parameters
    ----------
    problem
        What is to be routed.
    elastic
        What gives way when not everything fits, see `RoutingProblem.penalties`.
    method
        ``"network"``: network simplex and one price of energy. ``"highs"``: the whole linear
        program.
    start
        Plan of a similar problem, such as the last slot, for the network simplex; the two may
        differ in anything.
    gap
        Proven relative gap at which the network simplex stops to take in routes.

    Returns
    -------
    RoutingPlan
        The plan, with a bound that its prices prove.

    Raises
    ------
    OptionError
        If a method is unknown.
    SolverError
        If a solver fails.

    Notes
    -----
    Zhu et al., Algorithm 3.
    """
    check_choice("method", method, ("network", "highs"))
    penalties = problem.penalties(elastic)
    if method == "highs":
        return solve_whole(problem, penalties)
    return solve_by_network(problem, penalties, start, gap=gap)


def solve_whole(problem: RoutingProblem, penalties: Penalties) -> RoutingPlan:
    """Solve the linear program over all routes, priorities being penalties.

    Tolerances of solvers are absolute, energies of requests are not: the largest demand, cost,
    computation and energy of a request are the units.
    """
    began = time.perf_counter()
    program = routing_matrix(problem, elastic=penalties)
    parts = (problem.demand, np.abs(problem.cost), problem.work, problem.energy)
    request, cost, work, energy = (float(part.max(initial=0.0)) or 1.0 for part in parts)
    count = problem.demand.size
    column, row = np.full(program.shape[1], request), np.full(program.shape[0], request)
    row[count:] *= work
    if np.isfinite(problem.budget):
        column[count] *= energy
        row[-1] = request * energy
    matrix = sparse.diags_array(1.0 / row) @ program.matrix @ sparse.diags_array(column)
    solution = solve(
        program.replace(
            cost=program.cost * column / (request * cost),
            matrix=sparse.csc_array(matrix),
            row_lower=program.row_lower / row,
            row_upper=program.row_upper / row,
            upper=program.upper / column,
        )
    )
    duals = np.zeros(row.size) if solution.duals is None else solution.duals
    return plan_of(
        problem,
        penalties,
        (solution.values * request)[solution.values.size - problem.routes :],
        prices_of(problem, duals * (request * cost) / row),
        seconds=time.perf_counter() - began,
        method="highs",
    )


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
