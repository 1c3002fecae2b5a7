r"""Certificates of linear programs.

For duals y of the rows, signed as derivatives of the optimum, the reduced costs are
:math:`d = c - A^\top y`. When minimising, every feasible x satisfies

.. math::
    c^\top x \ge \sum_i \big( y_i^+ \underline{b}_i - y_i^- \overline{b}_i \big)
               + \sum_j \big( d_j^+ \underline{x}_j - d_j^- \overline{x}_j \big),

whatever y is, as long as no infinite side is multiplied by a positive number. This is the bound;
how far y is from meeting that condition is the dual residual.

Residuals have no unit. A column is counted in a power of two :math:`u_j` read off the program
(`edgeopt.solvers.units`), the size of a point is :math:`s = \max_j |x_j| / u_j`, and the largest
cost per unit is :math:`\hat c = \max_j |c_j| u_j`. Violations are relative to
:math:`\max(|\text{side}|, s \max_j |a_{ij}| u_j)` and :math:`\max(|\text{side}|, s u_j)`,
multipliers without support to :math:`\hat c`, as :math:`y_i \max_j |a_{ij}| u_j` and
:math:`d_j u_j`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.sparse.linalg import lsqr

from edgeopt.solvers.tolerance import EPSILON, ROUNDING_UNITS, TIGHT, Sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy import sparse

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.solution import Solution
    from edgeopt.solvers.units import Units

    Vector = NDArray[np.float64]
    Mask = NDArray[np.bool_]

PASSES: Final = 4
"""How often bounds are passed on from rows to columns, and how often duals are moved."""


def primal_residual(solution: Solution) -> float:
    """Return the largest relative violation of a row, a bound or a whole-number condition."""
    return primal_violation(solution.problem, solution.values)


def dual_residual(solution: Solution) -> float:
    """Return the largest wrong-signed dual or reduced cost; nan for mixed-integer programs."""
    if solution.problem.is_mixed_integer or solution.duals is None:
        return float("nan")
    return dual_violation(solution.problem, solution.duals)


def dual_bound(solution: Solution) -> Sum:
    """Return the bound that the duals prove; without duals the solver's own bound.

    The terms that a search has added up for its bound are not known: the largest cost of a unit is
    one of them.
    """
    if solution.problem.is_mixed_integer or solution.duals is None:
        return Sum(solution.bound, max(abs(solution.bound), _largest_cost(solution.problem)))
    return bound_from_duals(solution.problem, solution.duals)


def objective(solution: Solution) -> Sum:
    """Return the objective at the solution's values."""
    program, values = solution.problem, solution.values
    size = float(np.abs(program.cost) @ np.abs(values)) + abs(program.offset)
    return Sum(program.objective(values), size)


def primal_violation(
    program: LinearProgram, values: Vector, activity: Vector | None = None
) -> float:
    """Return the largest violation at a point."""
    if not np.isfinite(values).all():
        return float("inf")
    unit = program.units.column_unit
    size = float((np.abs(values) / unit).max(initial=0.0))
    worst = 0.0
    if activity is None:
        activity = program.matrix @ values
    for point, low, high, reach in (
        (activity, program.row_lower, program.row_upper, size * program.row_size),
        (values, program.lower, program.upper, size * unit),
    ):
        for violation, side in ((low - point, low), (point - high, high)):
            broken = violation > 0.0
            scale = np.maximum(np.abs(side[broken]), reach[broken])
            worst = max(worst, _largest_ratio(violation[broken], scale))
    if program.is_mixed_integer:
        whole = values[program.integer]
        worst = max(worst, float(np.abs(whole - np.round(whole)).max()))
    return worst


def _largest_ratio(numerator: Vector, denominator: Vector | float) -> float:
    """Return the largest quotient of numbers >= 0; what is not 0 over 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = numerator / denominator
    return float(ratio[numerator > 0.0].max(initial=0.0))


def unsupported(multiplier: Vector, low: Vector, high: Vector) -> Vector:
    """Return how much of each multiplier leans on an infinite side."""
    below = np.where(np.isneginf(low), np.maximum(multiplier, 0.0), 0.0)
    above = np.where(np.isposinf(high), np.maximum(-multiplier, 0.0), 0.0)
    return below + above


def dual_violation(
    program: LinearProgram, duals: Vector, least: float = 0.0, units: Units | None = None
) -> float:
    """Return how far row duals are from dual feasibility."""
    if not np.isfinite(duals).all():
        return float("inf")
    signed = program.sign * np.asarray(duals, dtype=float)
    reduced = program.sign * program.cost - program.matrix.T @ signed
    units = program.units if units is None else units
    columns = unsupported(reduced, program.lower, program.upper) * units.column_unit
    sizes = units.row_size(program)
    rows = unsupported(signed, program.row_lower, program.row_upper) * sizes
    largest = max(float((np.abs(program.cost) * units.column_unit).max(initial=0.0)), least)
    return max(_largest_ratio(columns, largest), _largest_ratio(rows, largest))


def _largest_cost(program: LinearProgram) -> float:
    return float((np.abs(program.cost) * program.units.column_unit).max(initial=0.0))


def bound_from_duals(program: LinearProgram, duals: Vector) -> Sum:
    r"""Return the bound on the optimum that row duals prove.

    Row duals are first projected onto their sign conditions. A reduced cost that then leans on an
    infinite bound, however small, must be rested on a bound which the rows imply (a lower bound 0
    and a row :math:`\sum_j x_j \le 1` imply :math:`x_j \le 1`), or removed by a change of the
    duals: towards 0, or by the smallest change that will do. Of what these prove, the best counts.
    A reduced cost within the rounding of the sum that it comes from counts as 0.
    """
    if not program.cost.any():
        return Sum(program.offset, abs(program.offset))
    best = -np.inf, np.inf
    if np.isfinite(duals).all():
        signed = projected(program, program.sign * np.asarray(duals, dtype=float))
        for moved in close_duals(program, signed):
            if not np.isfinite(moved).all():
                break
            value, size, lost = _proven(program, moved)
            best = max(best, (value, size))
            if np.isfinite(value) and lost <= TIGHT * size:
                break
    value, size = best
    return Sum(program.sign * value + program.offset, size + abs(program.offset))


def reduced_costs(program: LinearProgram, signed: Vector) -> tuple[Vector, Vector]:
    """Return reduced costs of the minimisation, and how much of each may be rounding."""
    cost = program.sign * program.cost
    terms = np.abs(cost) + abs(program.matrix).T @ np.abs(signed)
    return cost - program.matrix.T @ signed, ROUNDING_UNITS * EPSILON * terms


def _proven(program: LinearProgram, signed: Vector) -> tuple[float, float, float]:
    """Return the bound on the minimisation, its size, and how much of it implied bounds cost."""
    reduced = program.sign * program.cost - program.matrix.T @ signed
    low, high = program.lower, program.upper
    leaning = unsupported(reduced, low, high) > 0.0
    if leaning.any():
        low, high = _implied_bounds(program, leaning)
        bare = unsupported(reduced, low, high) > 0.0
        if bare.any():
            reduced, rounding = reduced_costs(program, signed)
            if (np.abs(reduced[bare]) > rounding[bare]).any():
                return -np.inf, np.inf, np.inf
            reduced[bare] = 0.0
    rows = _rest(signed, program.row_lower, program.row_upper)
    columns = _rest(reduced, low, high)
    size = float(np.abs(rows).sum() + np.abs(columns).sum())
    return float(rows.sum() + columns.sum()), size, float(np.abs(columns[leaning]).sum())


def projected(program: LinearProgram, signed: Vector) -> Vector:
    """Return row duals of the minimisation without what leans on infinite sides."""
    signed = np.where(np.isneginf(program.row_lower), np.minimum(signed, 0.0), signed)
    return np.where(np.isposinf(program.row_upper), np.maximum(signed, 0.0), signed)


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


def close_duals(program: LinearProgram, signed: Vector) -> Iterator[Vector]:
    """Yield the duals, then others close to them whose reduced costs lean on less."""
    yield signed
    yield from _towards_zero(program, signed)
    yield from _least_changes(program, signed)


def _towards_zero(program: LinearProgram, signed: Vector) -> Iterator[Vector]:
    """Yield duals shrunk until costs of the right sign make up for what leans, if they can."""
    reduced, rounding = reduced_costs(program, signed)
    leaning = unsupported(reduced, program.lower, program.upper) > 0.0
    wrong = np.abs(reduced[leaning])
    cost = -np.sign(reduced[leaning]) * program.sign * program.cost[leaning]
    margin = 2.0 * rounding[leaning]
    if (cost > margin).all():
        share = float(((wrong + margin) / (wrong + cost)).max(initial=0.0))
        yield (1.0 - share) * signed


def _least_changes(program: LinearProgram, signed: Vector) -> Iterator[Vector]:
    """Yield duals moved as little as will do, in units of rows and columns."""
    unit, factor = program.units.column_unit, np.ldexp(1.0, program.units.rows)
    free = np.isneginf(program.lower) & np.isposinf(program.upper)
    held = np.zeros(program.shape[1], dtype=bool)
    for _ in range(PASSES):
        reduced, _rounding = reduced_costs(program, signed)
        leaning = unsupported(reduced, program.lower, program.upper) > 0.0
        held |= leaning
        if not leaning.any():
            break
        # Beyond 0 where there is a finite side, so that rounding does not bring it back.
        aim = np.where(leaning, np.where(free, 1.0, 2.0) * reduced, 0.0) * unit
        block = (program.matrix[:, held] * unit[held]).T * factor
        step = lsqr(block, aim[held], atol=1e-15, btol=1e-15)[0] * factor
        signed = projected(program, signed + step)
        yield signed
