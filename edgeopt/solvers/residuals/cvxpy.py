"""Certificates of CVXPY problems."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.solvers.residuals.linear import largest_ratio
from edgeopt.solvers.tolerance import Sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.solvers.solution import Solution


@contextmanager
def _valued(solution: Solution) -> Iterator[list[Any]]:
    """Put the solution's values into the variables for a while."""
    variables = solution.problem.variables()
    before = [variable.value for variable in variables]
    try:
        for variable in variables:
            variable.save_value(np.asarray(solution.values[variable.name()]))
        yield variables
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable.save_value(value)


def primal_residual(solution: Solution) -> float:
    """Return the largest violation of a constraint or attribute, relative to what meets in it.

    CVXPY measures it as the distance of a constraint's argument to its cone, and of a variable to
    the set that its attributes describe. It is divided by what the terms of the argument add up to
    at a point as large as the solution, except for whole numbers, which have no unit.
    """
    with _valued(solution) as variables:
        reach = max((float(np.abs(v.value).max(initial=0.0)) for v in variables), default=0.0)
        worst = max((_violation(c, reach) for c in solution.problem.constraints), default=0.0)
        for variable in variables:
            if all(one is False or one is None for one in variable.attributes.values()):
                continue
            distance = float(np.abs(variable.value - variable.project(variable.value)).max())
            whole = variable.attributes["integer"] or variable.attributes["boolean"]
            worst = max(worst, distance if whole else largest_ratio(distance, reach))
    return worst


def _violation(constraint: Any, reach: float) -> float:
    from cvxpy.constraints.nonpos import Inequality
    from cvxpy.constraints.zero import Equality

    # CVXPY divides by the norms of a cone's vectors before it selects those that it needs.
    with np.errstate(divide="ignore", invalid="ignore"):
        broken = np.abs(np.asarray(constraint.violation(), dtype=float))
    if isinstance(constraint, Equality | Inequality):
        return largest_ratio(broken, np.broadcast_to(_size(constraint.expr, reach), broken.shape))
    parts = [float(np.max(_size(part, reach), initial=0.0)) for part in constraint.args]
    return largest_ratio(broken, max(parts))


def _size(expression: Any, reach: float | None = None) -> Any:
    """Return the sum of the absolute values of an expression's terms, entry by entry.

    Variables count with their values, or all of them with `reach`; what is not affine with its own.
    """
    from cvxpy.atoms.affine.affine_atom import AffAtom

    if isinstance(expression, AffAtom):
        return abs(expression.numeric([_size(part, reach) for part in expression.args]))
    if reach is not None and not expression.args and not expression.is_constant():
        return np.full(expression.shape, reach)
    return abs(expression.value)


def dual_residual(solution: Solution) -> float:
    """Return the dual residual of the cone program behind the problem; nan where not known."""
    if solution.evidence is None:
        return float("nan")
    return float(solution.evidence.dual_residual())


def dual_bound(solution: Solution) -> Sum | float:
    """Return the dual value of the cone program behind the problem, or the claimed bound."""
    if solution.evidence is None or solution.values is None:
        return solution.bound
    from cvxpy import Maximize

    sign = -1.0 if isinstance(solution.problem.objective, Maximize) else 1.0
    value, size = solution.evidence.dual_value()
    return Sum(sign * value, size)


def objective(solution: Solution) -> Sum:
    """Return the objective at the solution's values."""
    with _valued(solution):
        expression = solution.problem.objective.expr
        return Sum(float(expression.value), float(_size(expression)))
