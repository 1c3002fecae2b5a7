"""Certificates of Pyomo models.

A linear model is checked as the LinearProgram it compiles to, which the solution carries as
evidence; any other one by evaluating its constraints at the solution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.solvers.certificates import linear

if TYPE_CHECKING:
    from edgeopt.solvers.gap import Sum
    from edgeopt.solvers.solution import Solution

__all__ = ["dual_bound", "dual_residual", "objective", "primal_residual"]


def primal_residual(solution: Solution) -> float:
    """Return the largest relative violation of a constraint, bound or whole-number condition."""
    if solution.evidence is not None:
        return linear.primal_residual(solution.evidence)
    return _evaluated_violation(solution.problem, solution.values)


def dual_residual(solution: Solution) -> float:
    """Return the dual residual of a linear model; nan otherwise."""
    if solution.evidence is not None:
        return linear.dual_residual(solution.evidence)
    return float("nan")


def dual_bound(solution: Solution) -> Sum | float:
    """Return the bound that a linear model's duals prove; otherwise the solver's."""
    if solution.evidence is not None:
        return linear.dual_bound(solution.evidence)
    return solution.bound


def objective(solution: Solution) -> Sum | float:
    """Return a linear model's objective at the values; otherwise the stated one."""
    if solution.evidence is not None:
        return linear.objective(solution.evidence)
    return solution.objective


def _evaluated_violation(model: Any, values: dict[str, float]) -> float:
    from pyomo.core.base.constraint import Constraint
    from pyomo.core.base.var import Var
    from pyomo.core.expr.numvalue import value

    variables = list(model.component_data_objects(Var, descend_into=True))
    before = [(variable, variable.value) for variable in variables]
    worst = 0.0
    try:
        for variable in variables:
            if variable.name in values:
                variable.set_value(values[variable.name], skip_validation=True)
        for constraint in model.component_data_objects(Constraint, active=True, descend_into=True):
            body = value(constraint.body)
            worst = max(worst, _excess(body, value(constraint.lower), value(constraint.upper)))
        for variable in variables:
            if variable.name in values:
                worst = max(worst, _excess(variable.value, variable.lb, variable.ub))
                if variable.is_integer():
                    worst = max(worst, abs(variable.value - round(variable.value)))
    finally:
        for variable, earlier in before:
            variable.set_value(earlier, skip_validation=True)
    return worst


def _excess(point: float, low: float | None, high: float | None) -> float:
    if not np.isfinite(point):
        return float("inf")
    below = 0.0 if low is None else (low - point) / max(1.0, abs(low))
    above = 0.0 if high is None else (point - high) / max(1.0, abs(high))
    return max(below, above, 0.0)
