"""Routing by HiGHS: the whole linear program at once, or one priority after the other."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.models.edr.routing.generation import RoutingColumns
from edgeopt.models.edr.routing.matrix import routing_matrix
from edgeopt.models.edr.routing.units import Units, plan_of
from edgeopt.solvers import LabelBlock, Reusable, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.edr.routing.plan import RoutingPlan
    from edgeopt.models.edr.routing.problem import Elastic, Penalties, RoutingProblem
    from edgeopt.solvers import LinearProgram

    Floats = NDArray[np.float64]

__all__ = ["solve_by_columns", "solve_in_order", "solve_whole"]

SLACK = 1e-12
"""Share by which a later priority may fall behind what an earlier one has reached."""


def solve_whole(problem: RoutingProblem, penalties: Penalties) -> RoutingPlan:
    """Solve the linear program over all routes, priorities being penalties."""
    began = time.perf_counter()
    units = Units.of(problem)
    solution = solve(units.program(problem, routing_matrix(problem, elastic=penalties)))
    values = solution.values * units.request
    return plan_of(
        problem,
        penalties,
        values[values.size - problem.routes :],
        units.prices(problem, solution.duals),
        seconds=time.perf_counter() - began,
        method="highs",
    )


def solve_by_columns(
    problem: RoutingProblem,
    penalties: Penalties,
    start: RoutingPlan | None = None,
    *,
    gap: float = 1e-6,
) -> RoutingPlan:
    """Solve on a few routes of each origin, and add others as their prices ask for them."""
    return RoutingColumns(gap=gap).solve(problem, penalties, start)


def solve_in_order(problem: RoutingProblem, elastic: Elastic) -> RoutingPlan:
    """Solve for one priority after the other instead of weighing them by penalties.

    First what must not happen, in the order of `elastic`, then the cost, each as low as those
    before allow. Penalties need not find the same plan: where two sites differ little in energy,
    saving a Wh may cost more than any penalty that was set in advance.
    """
    began = time.perf_counter()
    penalties = problem.penalties(elastic)
    units = Units.of(problem)
    program = _with_total(problem, units.program(problem, routing_matrix(problem, elastic=elastic)))
    count, width = problem.demand.size, program.shape[1]
    model = Reusable(program)
    counted = np.zeros(width)
    counted[:count] = 1.0
    excess = np.zeros(width)
    budgeted = np.isfinite(problem.budget)
    excess[count : count + int(budgeted)] = 1.0
    cost = np.where(counted + excess > 0.0, 0.0, program.cost)

    def least(objective: Floats) -> float:
        model.change_cost(objective)
        # What is left of the last basis helps less than presolve does.
        return max(model.solve(warm=False).objective, 0.0) * (1.0 + SLACK) + SLACK

    def serve_first() -> None:
        model.change_sides(row_upper=[least(counted)], rows=[program.shape[0] - 1])

    def save_first() -> None:
        if budgeted:
            model.change_bounds(upper=[least(excess)], columns=[count])

    first, second = (serve_first, save_first) if elastic == "soft" else (save_first, serve_first)
    first()
    second()
    model.change_cost(cost)
    solution = model.solve(warm=False)
    values = solution.values * units.request
    duals = None if solution.duals is None else solution.duals[:-1]
    return plan_of(
        problem,
        penalties,
        values[width - problem.routes :],
        units.prices(problem, duals),
        seconds=time.perf_counter() - began,
        method="highs, lexicographic",
    )


def _with_total(problem: RoutingProblem, program: LinearProgram) -> LinearProgram:
    """Append a row for the unserved requests of all rows together."""
    row = np.zeros((1, program.shape[1]))
    row[0, : problem.demand.size] = 1.0
    names = [*program.row_names.blocks, LabelBlock("unserved", (), ())]
    return program.replace(
        matrix=sparse.vstack([program.matrix, sparse.csc_array(row)], format="csc"),
        row_lower=np.append(program.row_lower, -np.inf),
        row_upper=np.append(program.row_upper, np.inf),
        row_names=names,
    )
