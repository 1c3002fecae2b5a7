"""Linear programs handed to the solvers behind CVXPY."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cvxpy
import numpy as np

from edgeopt.solvers.backend.assembly import assemble
from edgeopt.solvers.backend.cvxpy import run
from edgeopt.solvers.row_sides import RowSides

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.request import Request
    from edgeopt.solvers.solution import Solution

__all__ = ["solve"]


def solve(program: LinearProgram, request: Request) -> Solution:
    """Solve a linear program, or a mixed-integer one where the solver takes it."""
    sides = RowSides(program)
    whole = (np.flatnonzero(program.integer),) if program.is_mixed_integer else False
    point = cvxpy.Variable(program.shape[1], integer=whole)
    with_lower, with_upper = np.isfinite(program.lower), np.isfinite(program.upper)
    by_rows = [
        _rows(sides.matrix(rows), point, side[rows], relation)
        for rows, side, relation in (
            (sides.equal, program.row_upper, "=="),
            (sides.upper, program.row_upper, "<="),
            (sides.lower, program.row_lower, ">="),
        )
    ]
    bounds = []
    if with_lower.any():
        bounds.append(point[with_lower] >= program.lower[with_lower])
    if with_upper.any():
        bounds.append(point[with_upper] <= program.upper[with_upper])
    constraints = [rows for rows in by_rows if rows is not None] + bounds
    objective = cvxpy.Minimize((program.sign * program.cost) @ point)
    outcome = run(cvxpy.Problem(objective, constraints), request)
    values = np.array(point.value) if outcome.has_point else None
    duals = None
    if values is not None and outcome.pair is not None:
        # CVXPY's multipliers: minus the derivative, except for lower sides.
        equal, upper, lower = (_multipliers(rows) for rows in by_rows)
        duals = program.sign * sides.duals(-equal, -upper, lower)
    return assemble(
        program,
        request,
        outcome.status,
        sign=program.sign,
        seconds=(outcome.build, outcome.solve),
        version=outcome.version,
        objective=float("nan") if values is None else program.objective(values),
        bound=program.sign * outcome.bound + program.offset if program.is_mixed_integer else None,
        values=values,
        duals=duals,
        settings=outcome.settings,
    )


def _rows(matrix: Any, point: Any, side: NDArray[np.float64], relation: str) -> Any:
    if not len(side):
        return None
    if relation == "==":
        return matrix @ point == side
    return matrix @ point <= side if relation == "<=" else matrix @ point >= side


def _multipliers(rows: Any) -> NDArray[np.float64]:
    return np.zeros(0) if rows is None else np.asarray(rows.dual_value)
