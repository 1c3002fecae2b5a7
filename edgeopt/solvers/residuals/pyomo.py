"""Certificates of Pyomo models.

A linear model is checked as the LinearProgram it compiles to, which the solution carries as
evidence; any other one by evaluating its constraints at the solution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.solvers.residuals import linear

if TYPE_CHECKING:
    from edgeopt.solvers.solution import Solution
    from edgeopt.solvers.tolerance import Sum


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
    reach = max((abs(number) for number in values.values()), default=0.0)
    worst = 0.0
    try:
        for variable in variables:
            if variable.name in values:
                variable.set_value(values[variable.name], skip_validation=True)
        for constraint in model.component_data_objects(Constraint, active=True, descend_into=True):
            sides = value(constraint.lower), value(constraint.upper)
            worst = max(worst, _excess(value(constraint.body), *sides, _size(constraint, reach)))
        for variable in variables:
            if variable.name in values:
                worst = max(worst, _excess(variable.value, variable.lb, variable.ub, reach))
                if variable.is_integer():
                    worst = max(worst, abs(variable.value - round(variable.value)))
    finally:
        for variable, earlier in before:
            variable.set_value(earlier, skip_validation=True)
    return worst


def _size(constraint: Any, reach: float) -> float:
    """Return by how much a constraint's body changes at most when a variable moves by `reach`.

    A quadratic body does so from where all variables are as large as that: its slopes at 0 are 0.
    """
    from pyomo.core.expr.calculus.derivatives import Modes, differentiate
    from pyomo.core.expr.visitor import identify_variables

    body = constraint.body
    moving = list(identify_variables(body, include_fixed=False))
    here = [variable.value for variable in moving]
    try:
        if body.polynomial_degree() == 2:
            for variable in moving:
                variable.set_value(reach, skip_validation=True)
        slopes = differentiate(body, wrt_list=moving, mode=Modes.reverse_numeric)
    finally:
        for variable, earlier in zip(moving, here, strict=True):
            variable.set_value(earlier, skip_validation=True)
    return reach * max((abs(float(slope)) for slope in slopes), default=0.0)


def _excess(point: float, low: float | None, high: float | None, size: float) -> float:
    """Return the violation of a side, relative to it or to the size, whichever is larger."""
    if not np.isfinite(point):
        return float("inf")
    sides = np.array([-np.inf if low is None else low, np.inf if high is None else high])
    broken = np.maximum([sides[0] - point, point - sides[1]], 0.0)
    return linear.largest_ratio(broken, np.maximum(np.abs(sides), size))
