r"""Certificates of linear programs.

For duals y of the rows, signed as derivatives of the optimum, the reduced costs are
:math:`d = c - A^\top y`. When minimising, every feasible x satisfies

.. math::
    c^\top x \ge \sum_i \big( y_i^+ \underline{b}_i - y_i^- \overline{b}_i \big)
               + \sum_j \big( d_j^+ \underline{x}_j - d_j^- \overline{x}_j \big),

whatever y is, as long as no infinite side is multiplied by a positive number. This is the bound;
how far y is from meeting that condition is the dual residual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.solution import Solution

    Vector = NDArray[np.float64]

__all__ = [
    "bound_from_duals",
    "dual_bound",
    "dual_residual",
    "dual_violation",
    "primal_residual",
    "primal_violation",
]


def primal_residual(solution: Solution) -> float:
    """Return the largest relative violation of a row, a bound or a whole-number condition."""
    return primal_violation(solution.problem, solution.values)


def dual_residual(solution: Solution) -> float:
    """Return the largest wrong-signed dual or reduced cost; nan for mixed-integer programs."""
    if solution.problem.is_mixed_integer or solution.duals is None:
        return float("nan")
    return dual_violation(solution.problem, solution.duals)


def dual_bound(solution: Solution) -> float:
    """Return the bound that the duals prove; without duals the solver's own bound."""
    if solution.problem.is_mixed_integer or solution.duals is None:
        return solution.bound
    return bound_from_duals(solution.problem, solution.duals)


def primal_violation(program: LinearProgram, values: Vector) -> float:
    """Return the largest violation at a point.

    Parameters
    ----------
    program
        The program.
    values
        The point, shape [n].

    Returns
    -------
    The largest of ``violation / max(1, |side|)`` over both sides of all rows and columns, and of
    the distance to the next whole number where one is asked for. Infinite for a point with nan.
    """
    if np.isnan(values).any():
        return float("inf")
    activity = program.matrix @ values
    worst = 0.0
    for point, low, high in (
        (activity, program.row_lower, program.row_upper),
        (values, program.lower, program.upper),
    ):
        for violation, side in ((low - point, low), (point - high, high)):
            finite = np.isfinite(side)
            if finite.any():
                relative = violation[finite] / np.maximum(1.0, np.abs(side[finite]))
                worst = max(worst, float(relative.max()))
    if program.is_mixed_integer:
        whole = values[program.integer]
        worst = max(worst, float(np.abs(whole - np.round(whole)).max()))
    return worst


def _minimised(program: LinearProgram, duals: Vector) -> tuple[Vector, Vector, Vector]:
    """Return cost, duals and reduced costs of the equivalent minimisation."""
    cost, signed = program.sign * program.cost, program.sign * np.asarray(duals, dtype=float)
    return cost, signed, cost - program.matrix.T @ signed


def _unsupported(multiplier: Vector, low: Vector, high: Vector) -> Vector:
    """Return how much of each multiplier leans on an infinite side."""
    below = np.where(np.isneginf(low), np.maximum(multiplier, 0.0), 0.0)
    above = np.where(np.isposinf(high), np.maximum(-multiplier, 0.0), 0.0)
    return below + above


def dual_violation(program: LinearProgram, duals: Vector) -> float:
    """Return how far row duals are from dual feasibility.

    Parameters
    ----------
    program
        The program, taken as continuous.
    duals
        One dual for each row, the derivative of the optimum by its active side, shape [m].

    Returns
    -------
    The largest reduced cost without a finite bound to rest on, divided by ``max(1, |cost|)`` of
    its column, or row dual without a finite side, divided by ``max(1, largest |cost|)``.
    """
    if np.isnan(duals).any():
        return float("inf")
    cost, signed, reduced = _minimised(program, duals)
    size = np.abs(cost)
    columns = _unsupported(reduced, program.lower, program.upper) / np.maximum(1.0, size)
    rows = _unsupported(signed, program.row_lower, program.row_upper)
    largest_cost = max(1.0, float(size.max(initial=0.0)))
    return max(float(columns.max(initial=0.0)), float(rows.max(initial=0.0)) / largest_cost)


def bound_from_duals(program: LinearProgram, duals: Vector, tolerance: float = DEFAULT) -> float:
    r"""Return the bound on the optimum that row duals prove.

    Row duals are first projected onto their sign conditions. A reduced cost that then leans on an
    infinite bound is rested on a bound which the rows imply (a lower bound 0 and a row
    :math:`\sum_j x_j \le 1` imply :math:`x_j \le 1`), or removed by the smallest change of the
    duals. What remains, if it is within the tolerance, is left out: the bound is then exact for
    costs changed by no more than that.

    Parameters
    ----------
    program
        The program, taken as continuous.
    duals
        One dual for each row, shape [m]; any numbers, the better the tighter.
    tolerance
        Largest relative reduced cost that may be left out.

    Returns
    -------
    A lower bound when minimising, an upper bound when maximising; infinite if nothing is proven.

    References
    ----------
    Neumaier, Shcherbina: Safe bounds in linear and mixed-integer linear programming, Mathematical
    Programming 99, 2004.
    """
    nothing = -program.sign * np.inf
    if np.isnan(duals).any():
        return nothing
    cost, signed, _ = _minimised(program, duals)
    signed = _project_rows(program, signed)
    reduced = cost - program.matrix.T @ signed
    low, high = program.lower, program.upper
    missing = _unsupported(reduced, low, high)
    if missing.any():
        low, high = _implied_bounds(program, missing > 0.0)
        missing = _unsupported(reduced, low, high)
    if missing.any():
        signed, reduced = _repair(program, cost, signed, reduced, low, high)
        missing = _unsupported(reduced, low, high)
    if (missing > tolerance * np.maximum(1.0, np.abs(cost))).any():
        return nothing
    proven = _rest(signed, program.row_lower, program.row_upper) + _rest(reduced, low, high)
    return program.sign * proven + program.offset


def _project_rows(program: LinearProgram, signed: Vector) -> Vector:
    signed = np.where(np.isneginf(program.row_lower), np.minimum(signed, 0.0), signed)
    return np.where(np.isposinf(program.row_upper), np.maximum(signed, 0.0), signed)


def _rest(multiplier: Vector, low: Vector, high: Vector) -> float:
    """Return the sum of multipliers times the side they rest on, infinite sides left out."""
    side = np.where(multiplier > 0.0, low, high)
    used = (multiplier != 0.0) & np.isfinite(side)
    return float(multiplier[used] @ side[used])


def _implied_bounds(program: LinearProgram, wanted: NDArray[np.bool_]) -> tuple[Vector, Vector]:
    """Return column bounds, those of the wanted columns tightened by the rows they stand in."""
    columns = np.flatnonzero(wanted)
    by_column = program.matrix[:, columns].tocoo()
    rows, position, value = by_column.row, by_column.col, by_column.data
    least, most = _activity_range(program)
    low, high = program.lower[columns].copy(), program.upper[columns].copy()
    # What the other columns of the row contribute at least (at most) leaves the rest for this one.
    own_low, own_high = program.lower[columns][position], program.upper[columns][position]
    own_least = np.where(value > 0, value * own_low, value * own_high)
    own_most = np.where(value > 0, value * own_high, value * own_low)
    room_high = program.row_upper[rows] - _without(least, rows, own_least)
    room_low = program.row_lower[rows] - _without(most, rows, own_most)
    above = np.where(value > 0, room_high, room_low) / value
    below = np.where(value > 0, room_low, room_high) / value
    above[np.isnan(above)], below[np.isnan(below)] = np.inf, -np.inf
    np.minimum.at(high, position, above)
    np.maximum.at(low, position, below)
    all_low, all_high = program.lower.copy(), program.upper.copy()
    # A crossing of implied bounds means an infeasible program: then any bound is a bound.
    all_low[columns], all_high[columns] = np.minimum(low, high), np.maximum(low, high)
    return all_low, all_high


def _activity_range(
    program: LinearProgram,
) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Return least and most activity of each row as (finite part, number of infinite terms)."""
    positive, negative = program.matrix.maximum(0), program.matrix.minimum(0)

    def total(on_positive: Vector, on_negative: Vector) -> tuple[Vector, Vector]:
        finite = positive @ np.where(np.isfinite(on_positive), on_positive, 0.0)
        finite = finite + negative @ np.where(np.isfinite(on_negative), on_negative, 0.0)
        infinite = (positive > 0) @ np.isinf(on_positive).astype(float)
        infinite = infinite + (negative < 0) @ np.isinf(on_negative).astype(float)
        return finite, infinite

    return total(program.lower, program.upper), total(program.upper, program.lower)


def _without(activity: tuple[Vector, Vector], rows: NDArray[np.integer], own: Vector) -> Vector:
    """Return the activity of the other columns; nan where it is infinite."""
    finite, infinite = activity[0][rows], activity[1][rows]
    own_infinite = np.isinf(own)
    others = np.where(own_infinite, finite, finite - np.where(own_infinite, 0.0, own))
    return np.where(infinite - own_infinite > 0, np.nan, others)


def _repair(
    program: LinearProgram, cost: Vector, signed: Vector, reduced: Vector, low: Vector, high: Vector
) -> tuple[Vector, Vector]:
    """Move the duals a little so that reduced costs no longer lean on infinite bounds."""
    for _ in range(4):
        missing = _unsupported(reduced, low, high)
        bad = missing > 0.0
        if not bad.any():
            break
        block = sparse.csc_array(program.matrix[:, np.flatnonzero(bad)])
        step = lsqr(block.T, reduced[bad], atol=1e-15, btol=1e-15)[0]
        moved = _project_rows(program, signed + step)
        after = cost - program.matrix.T @ moved
        if _unsupported(after, low, high).max() >= missing.max():
            break
        signed, reduced = moved, after
    return signed, reduced
