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

A solver's duals leave reduced costs of about 1e-10 on infinite sides, where any multiplier makes
the bound worthless. They are moved until none does. The changes tried, in this order: towards 0;
the least change, relative to the size of each multiplier, that brings those reduced costs to 0 or
beyond; the same with a margin for rounding; the same after multipliers that no column notices have
become 0. A least change is the shortest solution of a few linear equations, by one sparse
factorisation.
"""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from edgeopt.solvers.tolerance import DEFAULT, EPSILON, ROUNDING_UNITS, TIGHT, Sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.arrays import Flags as Mask
    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.solution import Solution


PASSES: Final = 4
"""How often bounds are passed on from rows to columns."""

FLOOR: Final = 1e-6
"""Part of the largest column that counts in every row: at a tolerance of 1e-6, its rounding.

Interior points have rows whose activity is all noise: 0 = 1e-12 - 0."""

MOVES: Final = 3  # how often multipliers are moved in each way
NEAR: Final = 1e-8
"""Part of a column's terms below which its reduced cost is held where it is."""

MARGIN: Final = 1e-11  # of a column's terms, kept from the side that it lacks; grows by each pass
WIDER: Final = 8.0
UNPRICED: Final = 1e-4
"""Part of what its columns would notice by which an equation without a price may get one."""

UNNOTICED: Final = 1e-8  # of what else meets in a line: what changes it by less is not missed

MOST: Final = 12
"""Factorisations for one solve or one certificate at most."""

LARGEST: Final = 2_000_000
"""Entries of a system that is still factorised."""

SHIFT: Final = 1e-13
"""Taken from the diagonal, so that equations that repeat another one do no harm."""

REFINEMENTS: Final = 6

_allowances: ContextVar[tuple[list[int], ...]] = ContextVar("factorisations", default=())


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
        return Sum(
            solution.bound, max(abs(solution.bound), float(np.abs(program.cost).max(initial=0.0)))
        )
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
    return max(worst, program.conditions.violation(values)) if program.conditions else worst


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
    return max(largest_ratio(broken, scales), largest_ratio(np.maximum(outside, 0.0), own))


def _broken(program: LinearProgram, activity: Vector) -> Vector:
    """Return by how much each row is violated, 0 where it is not."""
    over = np.maximum(program.row_lower - activity, activity - program.row_upper)
    return np.maximum(over, 0.0)


def row_scales(program: LinearProgram, values: Vector) -> Vector:
    """Return what meets in each row: its sides, and the sum of its terms, shape [m]."""
    scales: Vector = program.sizes[0] @ np.abs(values)
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
    return largest_ratio(broken, row_scales(program, values)[deciding])


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


def largest_ratio(numerator: Vector | float, denominator: Vector | float) -> float:
    """Return the largest quotient of numbers >= 0; infinite over 0, and of what is no number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.asarray(np.divide(numerator, denominator))
    worst = float(ratio[~(np.asarray(numerator) <= 0.0)].max(initial=0.0))
    return float("inf") if np.isnan(worst) else worst


def dual_violation(program: LinearProgram, duals: Vector, terms: Vector | None = None) -> float:
    """Return how far row duals are from dual feasibility, relative to the terms of each column.

    `terms` are sizes of the costs, where they are more than their sum.
    """
    if not np.isfinite(duals).all():
        return float("inf")
    signed = program.sign * np.asarray(duals, dtype=float)
    terms = np.abs(program.cost) if terms is None else terms
    terms = terms + program.sizes[1] @ np.abs(signed)
    reduced = program.sign * program.cost - program.transposed @ signed
    columns = unsupported(reduced, program.lower, program.upper)
    rows = unsupported(signed, program.row_lower, program.row_upper)
    worst = largest_ratio(columns, terms)
    wrong = np.flatnonzero(rows > 0.0)
    if len(wrong):
        part = (abs(program.matrix.tocsr()[wrong]).T * rows[wrong]).tocoo()
        worst = max(worst, largest_ratio(part.data, terms[part.row]))
    return worst


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
    # Safe dual bounds: Neumaier and Shcherbina, Mathematical Programming 99, 2004.
    reduced = program.sign * program.cost - program.transposed @ signed
    low, high = program.lower, program.upper
    leaning = unsupported(reduced, low, high) > 0.0
    if leaning.any():
        reduced, rounding = reduced_costs(program, signed)
        reduced[leaning & (np.abs(reduced) <= rounding)] = 0.0
        leaning &= reduced != 0.0
    if leaning.any():
        low, high = implied_bounds(program, leaning)
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


def implied_bounds(program: LinearProgram, wanted: Mask) -> tuple[Vector, Vector]:
    """Return column bounds, those of the wanted columns tightened by the rows they stand in."""
    # Bound propagation: Brearley, Mitra, Williams, Mathematical Programming 8, 1975.
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


def unsupported(multiplier: Vector, low: Vector, high: Vector) -> Vector:
    """Return how much of each multiplier leans on an infinite side."""
    below = np.where(low == -np.inf, np.maximum(multiplier, 0.0), 0.0)
    above = np.where(high == np.inf, np.maximum(-multiplier, 0.0), 0.0)
    return below + above


def projected(program: LinearProgram, signed: Vector) -> Vector:
    """Return row duals of the minimisation without what leans on infinite sides."""
    signed = np.where(program.row_lower == -np.inf, np.minimum(signed, 0.0), signed)
    return np.where(program.row_upper == np.inf, np.maximum(signed, 0.0), signed)


def cost_terms(program: LinearProgram, signed: Vector) -> Vector:
    """Return the sum of the sizes of the terms that each reduced cost is made of, shape [n]."""
    terms: Vector = np.abs(program.cost) + program.sizes[1] @ np.abs(signed)
    return terms


def reduced_costs(program: LinearProgram, signed: Vector) -> tuple[Vector, Vector]:
    """Return reduced costs of the minimisation, and how much of each may be rounding."""
    reduced = program.sign * program.cost - program.transposed @ signed
    return reduced, ROUNDING_UNITS * EPSILON * cost_terms(program, signed)


def close_duals(program: LinearProgram, signed: Vector, passes: int = MOVES) -> Iterator[Vector]:
    """Yield the duals, then others close to them whose reduced costs lean on less.

    Without passes, what costs a factorisation is left out.
    """
    yield signed
    yield from _towards_zero(program, signed)
    if not passes:
        return
    yield from _least_changes(program, signed, passes)
    yield from _with_margin(program, signed, passes)
    nothing, size = np.zeros_like(signed), np.abs(program.cost)
    clean = without_unnoticed(program.transposed, signed, nothing, size)
    if (clean != signed).any():
        yield clean
        yield from _least_changes(program, clean, passes)


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


def leaning_columns(
    program: LinearProgram, reduced: Vector, terms: Vector
) -> tuple[Mask, Mask, Vector]:
    """Return which columns lean on nothing, which are to be held, and what is to change there.

    Beyond 0 where there is a finite side, so that rounding does not bring it back.
    """
    leaning = unsupported(reduced, program.lower, program.upper) > 0.0
    open_side = np.isinf(program.lower) | np.isinf(program.upper)
    free = np.isneginf(program.lower) & np.isposinf(program.upper)
    held = leaning | (open_side & (np.abs(reduced) <= NEAR * terms))
    return leaning, held, np.where(leaning, np.where(free, 1.0, 2.0) * reduced, 0.0)


def _least_changes(program: LinearProgram, signed: Vector, passes: int) -> Iterator[Vector]:
    """Yield duals moved as little as will do, in proportion to their size."""
    held = np.zeros(program.shape[1], dtype=bool)
    for _ in range(passes):
        reduced, _rounding = reduced_costs(program, signed)
        terms = cost_terms(program, signed)
        leaning, near, aim = leaning_columns(program, reduced, terms)
        held |= near
        step = least_step(program, signed, held, aim, terms) if leaning.any() else None
        if step is None:
            break
        signed = projected(program, signed + step)
        yield signed


def _with_margin(program: LinearProgram, signed: Vector, passes: int) -> Iterator[Vector]:
    """Yield duals whose reduced costs keep a margin from the side that a column lacks."""
    below, above = np.isfinite(program.lower), np.isfinite(program.upper)
    need = np.where(below & ~above, 1.0, np.where(above & ~below, -1.0, 0.0))
    free = ~below & ~above
    margin = MARGIN
    for _ in range(passes):
        terms = cost_terms(program, signed)
        reduced, _rounding = reduced_costs(program, signed)
        held = (free | (need != 0.0)) & (need * reduced <= NEAR * terms)
        wrong = held & ((need * reduced < 0.5 * margin * terms) | free)
        if not wrong.any():
            break
        aim = np.where(wrong, reduced - need * margin * terms, 0.0)
        step = least_step(program, signed, held, aim, terms)
        if step is None:
            break
        signed = projected(program, signed + step)
        margin *= WIDER
        yield signed


def least_step(
    program: LinearProgram,
    signed: Vector,
    held: Mask,
    aim: Vector,
    terms: Vector,
    more: tuple[Any, Vector] | None = None,
) -> Vector | None:
    """Return the least change of row duals, relative to their size, by which costs change.

    Every equation is divided by the terms that meet in it: no unit is left. `more` are a matrix of
    further unknowns and the size of each.
    """
    weight = np.maximum(np.abs(signed), _room(program, terms))
    used = np.flatnonzero(weight > 0.0)
    columns = np.flatnonzero(held & (terms > 0.0))
    per_column = sparse.diags_array(1.0 / terms[columns])
    rows = program.matrix[:, columns].T.tocsr()[:, used]
    block = per_column @ rows @ sparse.diags_array(weight[used])
    if more is not None:
        others, sizes = more
        block = sparse.hstack([block, per_column @ others[columns] @ sparse.diags_array(sizes)])
    found = least_change(block, aim[columns] / terms[columns])
    if found is None:
        return None
    step = np.zeros(program.shape[0])
    step[used] = weight[used] * found[: len(used)]
    return step if more is None else np.concatenate([step, more[1] * found[len(used) :]])


def _room(program: LinearProgram, terms: Vector) -> Vector:
    """Return how much an equation may be priced, if it has no price, before its columns notice."""
    entries = program.matrix.tocoo()
    most = np.zeros(program.shape[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        np.maximum.at(most, entries.row, np.abs(entries.data) / terms[entries.col])
        room = np.where((most > 0.0) & np.isfinite(most), UNPRICED / most, 0.0)
    return np.where(program.row_lower == program.row_upper, room, 0.0)


def without_unnoticed(matrix: Any, values: Vector, near: Vector, sides: Vector) -> Vector:
    """Return values of which those go to the number near them that no row of any size notices.

    A row counts by its side and by what else stays in it; one where everything goes holds exactly.
    """
    entries = matrix.tocoo()
    size, moved = np.abs(entries.data), np.abs(values - near)
    going = np.isfinite(moved) & (moved > 0.0)
    while going.any():
        scale = sides.copy()
        np.maximum.at(scale, entries.row, size * np.where(going, 0.0, np.abs(values))[entries.col])
        seen = going[entries.col] & (scale[entries.row] > 0.0)
        seen &= size * moved[entries.col] > UNNOTICED * scale[entries.row]
        if not seen.any():
            break
        going[entries.col[seen]] = False
    return np.where(going, near, values)


@contextlib.contextmanager
def few_factorisations(most: int = MOST) -> Iterator[None]:
    """Allow so many factorisations inside, and never more than an outer block has left."""
    token = _allowances.set((*_allowances.get(), [most]))
    try:
        yield
    finally:
        _allowances.reset(token)


def _allowed() -> bool:
    """Count one more factorisation, if all blocks around it have one left."""
    allowances = _allowances.get()
    if not all(left for (left,) in allowances):
        return False
    for allowance in allowances:
        allowance[0] -= 1
    return True


def least_change(block: Any, right: Vector) -> Vector | None:
    r"""Return the shortest z with :math:`B z = r`, nearly; None if it is not to be had.

    The optimality conditions of :math:`\min |z|^2 / 2`, a saddle-point system, are factorised as

    .. math::
        \begin{pmatrix} I & B^\top \\ B & -\varepsilon I \end{pmatrix}

    (Benzi, Golub, Liesen: Numerical solution of saddle point problems, Acta Numerica 14, 2005), and
    what the shift leaves of the equations is taken out by refinement.
    """
    from scipy.sparse.linalg import splu

    block = sparse.csc_array(block)
    count, unknowns = block.shape
    if not count or not unknowns or 2 * block.nnz + count + unknowns > LARGEST or not _allowed():
        return None
    system = sparse.block_array(
        [[sparse.eye_array(unknowns), block.T], [block, -SHIFT * sparse.eye_array(count)]]
    )
    try:
        factors = splu(sparse.csc_matrix(system))
    except RuntimeError:  # exactly singular
        return None
    z = np.zeros(unknowns)
    for _ in range(1 + REFINEMENTS):
        rest = right - block @ z
        z = z + factors.solve(np.concatenate([np.zeros(unknowns), rest]))[:unknowns]
    return z if np.isfinite(z).all() else None
