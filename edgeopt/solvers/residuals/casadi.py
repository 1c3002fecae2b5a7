r"""Certificates of smooth nonlinear programs, from CasADi's derivatives.

With duals y of the rows, signed as derivatives of the minimum, the Lagrangian is
:math:`L(x) = f(x) - y^\top g(x)`. At a minimum its gradient rests on active bounds. If the problem
is convex, so is L for multipliers of the right sign, and linearising it at x* bounds the optimum:

.. math::
    f^\star \ge L(x^*) + y^{+\top} \underline{b} - y^{-\top} \overline{b}
              + \min_{\underline{x} \le x \le \overline{x}} \nabla L(x^*)^\top (x - x^*).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from scipy import sparse

from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.rays import infeasibility_proof
from edgeopt.solvers.residuals import linear

if TYPE_CHECKING:
    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.nonlinear import CasadiNlp
    from edgeopt.solvers.solution import Solution


def _point(solution: Solution) -> Vector:
    return np.array([solution.values[name] for name in solution.problem.column_names])


def _signed_duals(solution: Solution) -> Vector:
    named = [solution.duals[name] for name in solution.problem.row_names]
    signed: Vector = solution.problem.sign * np.array(named, dtype=float)
    return signed


def _linearised(solution: Solution) -> tuple[LinearProgram | None, float, Vector]:
    return _tangents(solution.problem, _point(solution))


def infeasible_tangents(problem: CasadiNlp, point: Vector | None) -> Vector | None:
    """Return multipliers that prove that a convex problem has no point, shape [m]; None if none do.

    Its rows lie above their tangents at any point: where these contradict each other, so do they.
    """
    program, _, body = (None, 0.0, None) if point is None else _tangents(problem, point)
    if program is None:
        return None
    moved = program.matrix @ point - body
    tangents = program.replace(
        row_lower=program.row_lower + moved, row_upper=program.row_upper + moved
    )
    return infeasibility_proof(tangents)[0]


def _tangents(problem: CasadiNlp, point: Vector) -> tuple[LinearProgram | None, float, Vector]:
    """Return the program close to the point, the objective there, and what the rows come to.

    Its sides are those of the problem itself: only sizes of entries and costs count. None for a
    point at which something is not a number.
    """
    rows = casadi.DM(0, 1) if problem.constraints is None else problem.constraints
    what = [problem.objective, casadi.gradient(problem.objective, problem.variables), rows]
    if problem.constraints is not None:
        what.append(casadi.jacobian(problem.constraints, problem.variables))
    found: Any = casadi.Function("linearised", [problem.variables], what)(point)
    value, slope, body = (np.array(part).reshape(-1) for part in found[:3])
    constrained = problem.constraints is not None
    matrix = found[3].sparse() if constrained else sparse.csc_array((0, len(slope)))
    entries = matrix.data
    if not all(np.isfinite(part).all() for part in (value, slope, body, entries)):
        return None, float("nan"), body
    program = LinearProgram(
        slope, matrix, problem.row_lower, problem.row_upper, problem.lower, problem.upper,
        sense=problem.sense,
    )  # fmt: skip
    return program, float(value[0]), body


def primal_residual(solution: Solution) -> float:
    """Return the largest violation of a constraint or bound, as in the program close to the point.

    See `edgeopt.solvers.residuals.linear` for what it is relative to.
    """
    program, _, body = _linearised(solution)
    if program is None:
        return float("inf")
    point = _point(solution)
    return linear.primal_violation(program, point, body, reach=float(np.abs(point).max(initial=0)))


def _lagrangian(solution: Solution) -> tuple[float, Vector, Vector]:
    """Return value and gradient of the Lagrangian of the minimisation, and the signed duals."""
    problem, duals = solution.problem, _signed_duals(solution)
    expression = problem.sign * problem.objective
    if len(duals):
        expression = expression - casadi.dot(casadi.DM(duals), problem.constraints)
    gradient = casadi.gradient(expression, problem.variables)
    evaluate = casadi.Function("lagrangian", [problem.variables], [expression, gradient])
    value, slope = evaluate(_point(solution))
    return float(value), np.array(slope).reshape(-1), duals


def dual_residual(solution: Solution) -> float:
    """Return the largest multiplier or slope of the Lagrangian that rests on no finite side.

    Relative to the largest slope of the objective, or to the objective itself over the size of the
    point, whichever is larger: at a minimum in the interior all slopes are 0.
    """
    if solution.duals is None or solution.values is None:
        return float("nan")
    program, value, _ = _linearised(solution)
    if program is None:
        return float("inf")
    size = float(np.abs(_point(solution)).max(initial=0.0))
    largest = max(float(np.abs(program.cost).max(initial=0.0)), abs(value) / size if size else 0.0)
    duals = np.array([solution.duals[name] for name in solution.problem.row_names], dtype=float)
    return linear.dual_violation(program, duals, np.full(program.shape[1], largest))


def objective(solution: Solution) -> float:
    """Return the objective at the solution's values."""
    problem = solution.problem
    evaluate = casadi.Function("objective", [problem.variables], [problem.objective])
    return float(evaluate(_point(solution)))


def dual_bound(solution: Solution) -> float:
    """Return the bound of a convex problem; nothing is proven for any other one."""
    problem = solution.problem
    if not problem.convex or solution.duals is None or solution.values is None:
        return float(solution.bound)
    value, slope, duals = _lagrangian(solution)
    bound = value
    bound += _rest(duals, problem.row_lower, problem.row_upper, np.zeros(len(duals)))
    bound += _rest(slope, problem.lower, problem.upper, _point(solution))
    return float(problem.sign * bound)


def _rest(multiplier: Vector, low: Vector, high: Vector, origin: Vector) -> float:
    side = np.where(multiplier > 0.0, low, high)
    used = np.isfinite(side)
    return float(multiplier[used] @ (side - origin)[used])
