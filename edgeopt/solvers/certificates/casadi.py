r"""Certificates of smooth nonlinear programs, from CasADi's derivatives.

With duals y of the rows, signed as derivatives of the minimum, the Lagrangian is
:math:`L(x) = f(x) - y^\top g(x)`. At a minimum its gradient rests on active bounds. If the problem
is convex, so is L for multipliers of the right sign, and linearising it at x* bounds the optimum:

.. math::
    f^\star \ge L(x^*) + y^{+\top} \underline{b} - y^{-\top} \overline{b}
              + \min_{\underline{x} \le x \le \overline{x}} \nabla L(x^*)^\top (x - x^*).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.nonlinear import CasadiNlp
    from edgeopt.solvers.solution import Solution

    Vector = NDArray[np.float64]

__all__ = ["dual_bound", "dual_residual", "primal_residual"]


def _point(solution: Solution) -> Vector:
    return np.array([solution.values[name] for name in solution.problem.column_names])


def _signed_duals(solution: Solution) -> Vector:
    named = [solution.duals[name] for name in solution.problem.row_names]
    signed: Vector = solution.problem.sign * np.array(named, dtype=float)
    return signed


def _rows(problem: CasadiNlp) -> casadi.Function:
    rows = casadi.DM(0, 1) if problem.constraints is None else problem.constraints
    return casadi.Function("rows", [problem.variables], [rows])


def primal_residual(solution: Solution) -> float:
    """Return the largest relative violation of a constraint or bound."""
    problem, point = solution.problem, _point(solution)
    body = np.array(_rows(problem)(point)).reshape(-1)
    if not (np.isfinite(point).all() and np.isfinite(body).all()):
        return float("inf")
    worst = 0.0
    for value, low, high in (
        (body, problem.row_lower, problem.row_upper),
        (point, problem.lower, problem.upper),
    ):
        for violation, side in ((low - value, low), (value - high, high)):
            finite = np.isfinite(side)
            relative = violation[finite] / np.maximum(1.0, np.abs(side[finite]))
            worst = max(worst, float(relative.max(initial=0.0)))
    return worst


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


def _unsupported(multiplier: Vector, low: Vector, high: Vector) -> NDArray[np.bool_]:
    below, above = (multiplier > 0.0) & np.isneginf(low), (multiplier < 0.0) & np.isposinf(high)
    return np.asarray(below | above, dtype=np.bool_)


def dual_residual(solution: Solution) -> float:
    """Return the largest multiplier or slope of the Lagrangian that rests on no finite side."""
    if solution.duals is None or solution.values is None:
        return float("nan")
    problem = solution.problem
    _, slope, duals = _lagrangian(solution)
    columns = np.abs(slope[_unsupported(slope, problem.lower, problem.upper)])
    rows = np.abs(duals[_unsupported(duals, problem.row_lower, problem.row_upper)])
    return max(float(columns.max(initial=0.0)), float(rows.max(initial=0.0)))


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
