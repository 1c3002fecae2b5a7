r"""Certificates of linear programs.

For duals y of the rows, signed as derivatives of the optimum, the reduced costs are
:math:`d = c - A^\top y`. When minimising, every feasible x satisfies

.. math::
    c^\top x \ge \sum_i \big( y_i^+ \underline{b}_i - y_i^- \overline{b}_i \big)
               + \sum_j \big( d_j^+ \underline{x}_j - d_j^- \overline{x}_j \big),

whatever y is, as long as no infinite side is multiplied by a positive number. This is the bound;
how far y is from meeting that condition is the dual residual.

Residuals have no unit. A violation of row i counts against what meets in that row,
:math:`\max(|\text{side}|, \sum_j |a_{ij} x_j|)`, that of a bound against the bound and the value,
and a multiplier without support against the terms of its column,
:math:`|c_j| + \sum_i |a_{ij} y_i|`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.solvers.residuals.multipliers import PASSES as MOVES
from edgeopt.solvers.residuals.multipliers import close_duals, projected, reduced_costs, unsupported
from edgeopt.solvers.tolerance import DEFAULT, TIGHT, Sum

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.solution import Solution

    Vector = NDArray[np.float64]
    Mask = NDArray[np.bool_]

PASSES: Final = 4
"""How often bounds are passed on from rows to columns."""

FLOOR: Final = 1e-6
"""Part of the largest column that counts in every row: at a tolerance of 1e-6, its rounding.

Interior points have rows whose activity is all noise: 0 = 1e-12 - 0."""


def primal_residual(solution: Solution) -> float:
    """Return the largest relative violation of a row, a bound or a whole-number condition."""
    return primal_violation(solution.problem, solution.values)


def dual_residual(solution: Solution) -> float:
    """Return the largest wrong-signed dual or reduced cost; nan for mixed-integer programs."""
    if solution.problem.is_mixed_integer or solution.duals is None:
        return float("nan")
    return dual_violation(solution.problem, solution.duals)


def dual_bound(solution: Solution) -> Sum:
    """Return the bound that the duals prove; of a mixed-integer program that of its search.

    The terms that a search has added up for its bound are not known: the largest cost of a unit is
    one of them.
    """
    program = solution.problem
    if program.is_mixed_integer:
        return Sum(solution.bound, max(abs(solution.bound), _largest_cost(program)))
    if solution.duals is None:
        # What has been proven by others' duals stands; a solver's word is no bound.
        known = solution.values is None or solution.bound_by == "proof"
        return Sum(solution.bound if known else -program.sign * np.inf, solution.sizes[1] or np.inf)
    return bound_from_duals(program, solution.duals)


def objective(solution: Solution) -> Sum:
    """Return the objective at the solution's values."""
    program, values = solution.problem, solution.values
    size = float(np.abs(program.cost) @ np.abs(values)) + abs(program.offset)
    return Sum(program.objective(values), size)


def primal_violation(
    program: LinearProgram,
    values: Vector,
    activity: Vector | None = None,
    reach: float | None = None,
) -> float:
    """Return the largest violation at a point, relative to what meets in each row.

    Columns that stand in no row count for none but themselves. Where rows are not linear,
    `activity` is their value and `reach` the size of the point, against which all of them count.
    """
    if not np.isfinite(values).all():
        return float("inf")
    if activity is None:
        activity = program.matrix @ values
    broken = _broken(program, activity)
    outside = np.maximum(program.lower - values, values - program.upper)
    worst = 0.0
    if broken.any() or (outside > 0.0).any():
        scales = row_scales(program, values)
        worst = _worst(program, values, broken, outside, scales, reach or 0.0)
        if reach is None and worst > TIGHT:
            worst = _worst(program, values, broken, outside, scales, _reach(program, values))
    if program.is_mixed_integer:
        whole = np.where(program.integer, np.round(values), values)
        exact, _ = whole_rows(program)
        counted = _broken(program, program.matrix @ whole)[exact]
        worst = max(worst, float(np.abs(whole - values).max()), float(counted.max(initial=0.0)))
    return worst


def _worst(
    program: LinearProgram,
    values: Vector,
    broken: Vector,
    outside: Vector,
    scales: Vector,
    reach: float,
) -> float:
    """Return the largest violation of a row or bound, where columns of a size count everywhere."""
    sides = np.where(values < program.lower, program.lower, program.upper)
    own = np.maximum(np.abs(sides), np.abs(values))
    if reach:
        scales = np.maximum(scales, reach * program.row_size)
        inside = np.diff(program.matrix.indptr) > 0
        own = np.where(inside, np.maximum(own, reach * program.units.column_unit), own)
    return max(_largest_ratio(broken, scales), _largest_ratio(np.maximum(outside, 0.0), own))


def _broken(program: LinearProgram, activity: Vector) -> Vector:
    """Return by how much each row is violated, 0 where it is not."""
    over = np.maximum(program.row_lower - activity, activity - program.row_upper)
    return np.maximum(over, 0.0)


def row_scales(program: LinearProgram, values: Vector) -> Vector:
    """Return what meets in each row: its sides, and the sum of its terms, shape [m]."""
    scales: Vector = abs(program.matrix) @ np.abs(values)
    for side in (program.row_lower, program.row_upper):
        scales = np.maximum(scales, np.where(np.isfinite(side), np.abs(side), 0.0))
    return scales


def _reach(program: LinearProgram, values: Vector) -> float:
    """Return the part of the largest column in any row that counts in every row."""
    inside = np.diff(program.matrix.indptr) > 0
    return FLOOR * float((np.abs(values) / program.units.column_unit)[inside].max(initial=0.0))


def lost_sides(program: LinearProgram, values: Vector, duals: Vector | None) -> Mask:
    """Return the rows that are meant to rest on a side and miss it by rounding of their terms.

    Where 1e18 - 1e18 stands for 1, rounding excuses any gap. A side of 0 cannot get lost.
    """
    activity = program.matrix @ values
    below, above = activity < program.row_lower, activity > program.row_upper
    if duals is not None:
        signed = projected(program, program.sign * np.asarray(duals, dtype=float))
        below, above = below | (signed > 0.0), above | (signed < 0.0)
    lost = np.zeros(program.shape[0], dtype=bool)
    for resting, side in ((below, program.row_lower), (above, program.row_upper)):
        there = resting & np.isfinite(side) & (side != 0.0)
        lost[there] |= np.abs(activity - side)[there] > DEFAULT * np.abs(side[there])
    return lost


def whole_violation(program: LinearProgram, values: Vector) -> float:
    """Return the largest violation of a row that whole numbers with whole coefficients decide."""
    _, deciding = whole_rows(program)
    broken = _broken(program, program.matrix @ values)[deciding]
    return _largest_ratio(broken, row_scales(program, values)[deciding])


def whole_rows(program: LinearProgram) -> tuple[Mask, Mask]:
    """Return which rows hold whole numbers alone, and which hold some, with whole data.

    A row of whole numbers, its sides and coefficients included, holds to the last unit or not at
    all: its violation counts as it is.
    """
    by_row = program.matrix.tocsr()
    row = np.repeat(np.arange(program.shape[0]), np.diff(by_row.indptr))
    whole = program.integer[by_row.indices]
    some = np.zeros(program.shape[0], dtype=bool)
    some[row[whole]] = True
    some[row[whole & (by_row.data != np.round(by_row.data))]] = False
    for side in (program.row_lower, program.row_upper):
        some &= ~np.isfinite(side) | ((side == np.round(side)) & (np.abs(side) < 2.0**52))
    alone = some.copy()
    alone[row[~whole]] = False
    return alone, some


def _largest_ratio(numerator: Vector, denominator: Vector | float) -> float:
    """Return the largest quotient of numbers >= 0; what is not 0 over 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = numerator / denominator
    return float(ratio[numerator > 0.0].max(initial=0.0))


def dual_violation(program: LinearProgram, duals: Vector, terms: Vector | None = None) -> float:
    """Return how far row duals are from dual feasibility, relative to the terms of each column.

    `terms` are sizes of the costs, where they are more than their sum.
    """
    if not np.isfinite(duals).all():
        return float("inf")
    signed = program.sign * np.asarray(duals, dtype=float)
    terms = np.abs(program.cost) if terms is None else terms
    terms = terms + abs(program.matrix).T @ np.abs(signed)
    reduced = program.sign * program.cost - program.matrix.T @ signed
    columns = unsupported(reduced, program.lower, program.upper)
    rows = unsupported(signed, program.row_lower, program.row_upper)
    worst = _largest_ratio(columns, terms)
    wrong = np.flatnonzero(rows > 0.0)
    if len(wrong):
        part = (abs(program.matrix.tocsr()[wrong]).T * rows[wrong]).tocoo()
        worst = max(worst, _largest_ratio(part.data, terms[part.row]))
    return worst


def _largest_cost(program: LinearProgram) -> float:
    return float(np.abs(program.cost).max(initial=0.0))


def bound_from_duals(program: LinearProgram, duals: Vector, passes: int = MOVES) -> Sum:
    r"""Return the bound on the optimum that row duals prove.

    Row duals are first projected onto their sign conditions. A reduced cost that then leans on an
    infinite bound, however small, must be rested on a bound which the rows imply (a lower bound 0
    and a row :math:`\sum_j x_j \le 1` imply :math:`x_j \le 1`), or removed by a change of the
    duals. Of what these prove, the best counts. A reduced cost within the rounding of the sum that
    it comes from counts as 0.
    """
    if not program.cost.any():
        return Sum(program.offset, abs(program.offset))
    (value, size), _ = best_multipliers(program, duals, passes)
    return Sum(program.sign * value + program.offset, size + abs(program.offset))


def best_multipliers(
    program: LinearProgram, duals: Vector, passes: int = MOVES
) -> tuple[tuple[float, float], Vector]:
    """Return the best bound on the minimisation that duals prove, its size, and the duals moved."""
    best, kept = (-np.inf, np.inf), np.asarray(duals, dtype=float)
    if not np.isfinite(duals).all():
        return best, kept
    for moved in close_duals(program, projected(program, program.sign * kept), passes):
        if not np.isfinite(moved).all():
            break
        value, size, lost = _proven(program, moved)
        if value > best[0]:
            best, kept = (value, size), moved
        if np.isfinite(value) and lost <= TIGHT * size:
            break
    return best, kept


def _proven(program: LinearProgram, signed: Vector) -> tuple[float, float, float]:
    """Return the bound on the minimisation, its size, and how much of it implied bounds cost."""
    reduced = program.sign * program.cost - program.matrix.T @ signed
    low, high = program.lower, program.upper
    leaning = unsupported(reduced, low, high) > 0.0
    if leaning.any():
        reduced, rounding = reduced_costs(program, signed)
        reduced[leaning & (np.abs(reduced) <= rounding)] = 0.0
        leaning &= reduced != 0.0
    if leaning.any():
        low, high = _implied_bounds(program, leaning)
        if unsupported(reduced, low, high).any():
            return -np.inf, np.inf, np.inf
    rows = _rest(signed, program.row_lower, program.row_upper)
    columns = _rest(reduced, low, high)
    size = float(np.abs(rows).sum() + np.abs(columns).sum())
    return float(rows.sum() + columns.sum()), size, float(np.abs(columns[leaning]).sum())


def _rest(multiplier: Vector, low: Vector, high: Vector) -> Vector:
    """Return each multiplier times the side that it rests on."""
    resting = multiplier != 0.0
    products = np.zeros_like(multiplier)
    side = np.where(multiplier > 0.0, low, high)
    products[resting] = multiplier[resting] * side[resting]
    return products


def _implied_bounds(program: LinearProgram, wanted: Mask) -> tuple[Vector, Vector]:
    """Return column bounds, those of the wanted columns tightened by the rows they stand in."""
    columns = np.flatnonzero(wanted)
    by_column = program.matrix[:, columns].tocoo()
    rows, position, value = by_column.row, by_column.col, by_column.data
    signs = program.matrix.maximum(0), program.matrix.minimum(0)
    low, high = program.lower.copy(), program.upper.copy()
    for _ in range(PASSES):
        least, most = activity_range(*signs, low, high)
        # What the other columns of the row contribute at least (at most) leaves the rest.
        own_low, own_high = low[columns][position], high[columns][position]
        own_least = np.where(value > 0, value * own_low, value * own_high)
        own_most = np.where(value > 0, value * own_high, value * own_low)
        room_high = program.row_upper[rows] - _without(least, rows, own_least)
        room_low = program.row_lower[rows] - _without(most, rows, own_most)
        above = np.where(value > 0, room_high, room_low) / value
        below = np.where(value > 0, room_low, room_high) / value
        above[np.isnan(above)], below[np.isnan(below)] = np.inf, -np.inf
        new_low, new_high = low[columns], high[columns]
        np.minimum.at(new_high, position, above)
        np.maximum.at(new_low, position, below)
        # A crossing of implied bounds means an infeasible program: then any bound is a bound.
        crossed = new_low > new_high
        new_low[crossed], new_high[crossed] = new_high[crossed], new_low[crossed]
        before = int(np.isfinite(low).sum() + np.isfinite(high).sum())
        low[columns], high[columns] = new_low, new_high
        if np.isfinite(low).sum() + np.isfinite(high).sum() == before:
            break
    return low, high


def activity_range(
    positive: sparse.csc_array, negative: sparse.csc_array, low: Vector, high: Vector
) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Return least and most activity of each row as (finite part, number of infinite terms)."""

    def total(on_positive: Vector, on_negative: Vector) -> tuple[Vector, Vector]:
        finite = positive @ np.where(np.isfinite(on_positive), on_positive, 0.0)
        finite = finite + negative @ np.where(np.isfinite(on_negative), on_negative, 0.0)
        infinite = (positive > 0) @ np.isinf(on_positive).astype(float)
        infinite = infinite + (negative < 0) @ np.isinf(on_negative).astype(float)
        return finite, infinite

    return total(low, high), total(high, low)


def _without(activity: tuple[Vector, Vector], rows: NDArray[np.integer], own: Vector) -> Vector:
    """Return the activity of the other columns; nan where it is infinite."""
    finite, infinite = activity[0][rows], activity[1][rows]
    own_infinite = np.isinf(own)
    others = np.where(own_infinite, finite, finite - np.where(own_infinite, 0.0, own))
    return np.where(infinite - own_infinite > 0, np.nan, others)
