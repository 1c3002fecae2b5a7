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
from scipy.sparse.linalg import lsqr

from edgeopt.solvers.quadratic import linearised
from edgeopt.solvers.residuals import linear
from edgeopt.solvers.residuals.linear import primal_residual
from edgeopt.solvers.tolerance import EPSILON, ROUNDING_UNITS, Sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.solution import Solution

    Vector = NDArray[np.float64]

PASSES: Final = 8  # how often point and duals are moved
DENSE: Final = 10**5  # entries up to which least squares are solved by dense algebra
__all__ = ["dual_bound", "dual_residual", "objective", "primal_residual"]


def dual_residual(solution: Solution) -> float:
    """Return the largest wrong-signed dual or reduced cost at the values.

    Relative to the largest slope of both parts of the objective, in the units of columns.
    """
    if solution.duals is None or solution.values is None:
        return float("nan")
    program: LinearProgram = solution.problem
    if not np.isfinite(solution.values).all():
        return float("inf")
    assert program.quadratic is not None
    tangent = linearised(program, solution.values)
    slopes = np.abs(program.cost) + abs(program.quadratic) @ np.abs(solution.values)
    largest = float((slopes * program.units.column_unit).max(initial=0.0))
    return linear.dual_violation(tangent, solution.duals, largest, program.units)


def objective(solution: Solution) -> Sum:
    """Return the objective at the solution's values."""
    program, values = solution.problem, solution.values
    size = np.abs(program.cost) @ np.abs(values) + abs(program.offset)
    size += 0.5 * np.abs(values) @ (abs(program.quadratic) @ np.abs(values))
    return Sum(program.objective(values), float(size))


def dual_bound(solution: Solution) -> Sum:
    """Return the bound that point and duals prove; infinite where they prove none."""
    program: LinearProgram = solution.problem
    none = Sum(-program.sign * np.inf, np.inf)
    if solution.duals is None or solution.values is None:
        return none
    if not (np.isfinite(solution.values).all() and np.isfinite(solution.duals).all()):
        return none
    point, duals = solution.values, np.asarray(solution.duals, dtype=float)
    for _ in range(PASSES):
        bound = _tangent_bound(program, point, duals)
        if np.isfinite(bound.value):
            return bound
        point, duals = _moved(program, point, duals)
    return none


def _tangent_bound(program: LinearProgram, point: Vector, duals: Vector) -> Sum:
    """Return the bound of the tangent; a reduced cost that is rounding of its terms counts as 0."""
    assert program.quadratic is not None
    tangent = linearised(program, point)
    resting = program.matrix.T @ duals
    terms = np.abs(program.cost) + abs(program.quadratic) @ np.abs(point)
    terms = ROUNDING_UNITS * EPSILON * (terms + abs(program.matrix).T @ np.abs(duals))
    reduced = tangent.cost - resting
    leaning = linear.unsupported(program.sign * reduced, program.lower, program.upper) > 0.0
    tangent = tangent.replace(
        cost=np.where(leaning & (np.abs(reduced) <= terms), resting, tangent.cost)
    )
    bound = linear.bound_from_duals(tangent, duals)
    curved = 0.5 * float(np.abs(point) @ (abs(program.quadratic) @ np.abs(point)))
    return Sum(bound.value, bound.size + curved)


def _moved(program: LinearProgram, point: Vector, duals: Vector) -> tuple[Vector, Vector]:
    """Return point and duals changed as little as brings what leans on infinite sides to 0.

    Duals change in proportion to their size, so that none of them changes its sign.
    """
    assert program.quadratic is not None
    curvature: Any = program.quadratic
    duals = program.sign * linear.projected(program, program.sign * duals)
    reduced = program.cost + curvature @ point - program.matrix.T @ duals
    leaning = linear.unsupported(program.sign * reduced, program.lower, program.upper) > 0.0
    unit, factor = program.units.column_unit, np.ldexp(1.0, program.units.rows)
    free = np.isneginf(program.lower) & np.isposinf(program.upper)
    held = leaning | free
    # Beyond 0 where there is a finite side, so that rounding does not bring it back.
    aim = np.where(free, 1.0, np.where(leaning, 2.0, 0.0)) * reduced * unit
    scale = float(np.abs(aim).max(initial=0.0))
    if not scale > 0.0:
        return point, duals
    size = np.abs(duals) / factor
    factor = factor * size / (float(size.max(initial=0.0)) or 1.0)
    rows = (program.matrix[:, held] * unit[held]).T * factor
    columns = (curvature[held] * unit) * unit[held][:, None]
    block = sparse.hstack([rows, -columns], format="csr")
    if np.prod(block.shape) <= DENSE:
        step = np.linalg.lstsq(block.toarray(), aim[held] / scale)[0] * scale
    else:
        step = lsqr(block, aim[held] / scale, atol=1e-15, btol=1e-15)[0] * scale
    count = program.shape[0]
    return point + step[count:] * unit, duals + step[:count] * factor
