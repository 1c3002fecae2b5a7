"""Certificates of CVXPY problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from edgeopt.solvers.solution import Solution

__all__ = ["dual_bound", "dual_residual", "primal_residual"]


def primal_residual(solution: Solution) -> float:
    """Return the largest violation of a constraint or attribute at the solution's values.

    Absolute, as CVXPY measures it: the distance of a constraint's argument to its cone, and of a
    variable to the set that its attributes describe.
    """
    variables = solution.problem.variables()
    before = [variable.value for variable in variables]
    try:
        for variable in variables:
            variable.save_value(np.asarray(solution.values[variable.name()]))
        worst = max((_violation(c) for c in solution.problem.constraints), default=0.0)
        for variable in variables:
            distance = np.abs(variable.value - variable.project(variable.value))
            worst = max(worst, float(np.max(distance, initial=0.0)))
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable.save_value(value)
    return worst


def _violation(constraint: Any) -> float:
    # CVXPY divides by the norms of a cone's vectors before it looks which of them it needs.
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.abs(constraint.violation()), initial=0.0))


def dual_residual(solution: Solution) -> float:
    """Return the dual residual of the cone program behind the problem; nan where not known."""
    if solution.evidence is None:
        return float("nan")
    return float(solution.evidence.dual_residual())


def dual_bound(solution: Solution) -> float:
    """Return the dual value of the cone program behind the problem, or the claimed bound."""
    if solution.evidence is None:
        return solution.bound
    from cvxpy import Maximize

    sign = -1.0 if isinstance(solution.problem.objective, Maximize) else 1.0
    return sign * float(solution.evidence.dual_value())
