r"""Certificates of convex quadratic programs.

At any point :math:`\hat x`, a convex objective lies above its tangent, which makes a linear
program with the costs :math:`c + Q \hat x`. Its bound from row duals, as in
`edgeopt.solvers.residuals.linear`, is therefore one of the quadratic program, whatever point and
duals are. Both are the solver's; where reduced costs then lean on infinite sides, the duals are
moved as in a linear program, and if that does not do, point and duals together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from edgeopt.solvers.quadratic import linearised
from edgeopt.solvers.repair import cleaned
from edgeopt.solvers.residuals import linear
from edgeopt.solvers.residuals.linear import (
    cost_terms,
    leaning_columns,
    least_step,
    primal_residual,
    projected,
    unsupported,
    without_unnoticed,
)
from edgeopt.solvers.tolerance import EPSILON, ROUNDING_UNITS, Sum

if TYPE_CHECKING:
    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.solution import Solution


PASSES: Final = 4  # how often point and duals are moved
AT_ZERO: Final = 1e-3  # of the middle one's size: how far columns at 0 may move
__all__ = ["dual_bound", "dual_residual", "objective", "primal_residual"]


def dual_residual(solution: Solution) -> float:
    """Return the largest wrong-signed dual or reduced cost at the values.

    Relative to the terms of each column, of both parts of the objective.
    """
    if solution.duals is None or solution.values is None:
        return float("nan")
    program: LinearProgram = solution.problem
    if not np.isfinite(solution.values).all():
        return float("inf")
    assert program.quadratic is not None
    slopes = np.abs(program.cost) + abs(program.quadratic) @ np.abs(solution.values)
    return linear.dual_violation(linearised(program, solution.values), solution.duals, slopes)


def objective(solution: Solution) -> Sum:
    """Return the objective at the solution's values."""
    program, values = solution.problem, solution.values
    size = np.abs(program.cost) @ np.abs(values) + abs(program.offset)
    size += 0.5 * np.abs(values) @ (abs(program.quadratic) @ np.abs(values))
    return Sum(program.objective(values), float(size))


def dual_bound(solution: Solution) -> Sum:
    """Return the bound that point and duals prove; infinite where they prove none."""
    # Dorn's dual: Quarterly of Applied Mathematics 18, 1960.
    program: LinearProgram = solution.problem
    none = Sum(-program.sign * np.inf, np.inf)
    if solution.duals is None or solution.values is None:
        return none
    if not (np.isfinite(solution.values).all() and np.isfinite(solution.duals).all()):
        return none
    point, duals = solution.values, np.asarray(solution.duals, dtype=float)
    for clean in (False, True):
        if clean:
            point, duals = _cleaned_pair(program, solution.values, duals)
        for moves in range(PASSES):
            if moves:
                point, duals = _moved(program, point, duals)
            bound = _tangent_bound(program, point, duals)
            if np.isfinite(bound.value):
                return bound
    return none


def _cleaned_pair(program: LinearProgram, point: Vector, duals: Vector) -> tuple[Vector, Vector]:
    """Return point and duals without what no row and no column notices."""
    point = cleaned(program, point)
    slopes = np.abs(linearised(program, point).cost)
    return point, without_unnoticed(program.transposed, duals, np.zeros_like(duals), slopes)


def _tangent_bound(program: LinearProgram, point: Vector, duals: Vector) -> Sum:
    """Return the bound of the tangent; a reduced cost that is rounding of its terms counts as 0."""
    assert program.quadratic is not None
    tangent = linearised(program, point)
    resting = program.transposed @ duals
    terms = np.abs(program.cost) + abs(program.quadratic) @ np.abs(point)
    terms = ROUNDING_UNITS * EPSILON * (terms + program.sizes[1] @ np.abs(duals))
    reduced = tangent.cost - resting
    leaning = unsupported(program.sign * reduced, program.lower, program.upper) > 0.0
    tangent = tangent.replace(
        cost=np.where(leaning & (np.abs(reduced) <= terms), resting, tangent.cost)
    )
    bound = linear.bound_from_duals(tangent, duals, passes=0)
    curved = 0.5 * float(np.abs(point) @ (abs(program.quadratic) @ np.abs(point)))
    return Sum(bound.value, bound.size + curved)


def _moved(program: LinearProgram, point: Vector, duals: Vector) -> tuple[Vector, Vector]:
    """Return point and duals changed as little as brings what leans on infinite sides to 0."""
    assert program.quadratic is not None
    curvature: Any = program.sign * program.quadratic
    signed = projected(program, program.sign * duals)
    slopes = program.sign * program.cost + curvature @ point
    reduced = slopes - program.transposed @ signed
    terms = cost_terms(program, signed) + abs(curvature) @ np.abs(point)
    free = np.isneginf(program.lower) & np.isposinf(program.upper)
    _leaning, near, aim = leaning_columns(program, reduced, terms)
    there = np.abs(point[point != 0.0])
    sizes = np.abs(point) + (AT_ZERO * float(np.median(there)) if len(there) else 1.0)
    more = sparse.csr_array(-curvature), sizes
    step = least_step(program, signed, near | free, aim, terms, more)
    if step is None:
        return point, duals
    count = program.shape[0]
    return point + step[count:], program.sign * (signed + step[:count])
