"""Points moved until they satisfy their rows, each to rounding of what meets in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from edgeopt.solvers.residuals.linear import least_change, row_scales, without_unnoticed
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.program import LinearProgram


PASSES: Final = 5
LESS: Final = 0.5  # of the violation before: what a further pass must come down to
CLOSE: Final = 1e-7  # of its size: a row that is no further from a side stays there
SNAP: Final = 1e-6  # of its old distance: a column that comes so close to a bound goes onto it
FREE: Final = 1e-8  # how much columns without bounds may move at least
SHARE: Final = 1e-3  # of the room between its bounds: how far a column at 0 may move


def repaired(program: LinearProgram, values: Vector) -> Vector:
    """Return the point close to another one that violates its rows least.

    Equations, rows that are violated and rows at a side are held there by the least change of the
    columns, in proportion to their distance from their bounds: so they keep to them, and what is
    nearly 0 stays so. Bounds hold in any case, and no row is worse than before.
    """
    low, high = program.lower, program.upper
    matrix = program.matrix.tocsr()
    point = np.clip(values, low, high)
    held = program.row_lower == program.row_upper
    best, least = point, np.inf
    for _ in range(PASSES):
        size, activity = row_scales(program, point), matrix @ point
        gap = np.maximum(program.row_lower - activity, 0.0)
        gap -= np.maximum(activity - program.row_upper, 0.0)
        worst = float((np.abs(gap)[size > 0.0] / size[size > 0.0]).max(initial=0.0))
        improved = worst < LESS * least
        if worst < least:
            best, least = point, worst
        if worst <= TIGHT or not improved:
            break
        near = np.minimum(activity - program.row_lower, program.row_upper - activity)
        held = held | (gap != 0.0)
        rows = np.flatnonzero((held | (near <= CLOSE * size)) & (size > 0.0))
        room = np.minimum(
            np.where(np.isfinite(low), point - low, np.inf),
            np.where(np.isfinite(high), high - point, np.inf),
        )
        # Distances from bounds as weights: the ellipsoid of affine scaling (Dikin, Soviet
        # Mathematics Doklady 8, 1967).
        weight = _mobility(point, room, free=np.isinf(low) & np.isinf(high))
        stuck = np.flatnonzero(np.abs(gap) > TIGHT * size)
        weight = np.maximum(weight, _needed(matrix[stuck], gap[stuck], point, low, high))
        used = np.flatnonzero(weight > 0.0)
        block = sparse.diags_array(1.0 / size[rows]) @ matrix[rows][:, used]
        change = least_change(block @ sparse.diags_array(weight[used]), gap[rows] / size[rows])
        if change is None:
            break
        point = point.copy()
        point[used] += weight[used] * change
        point = np.clip(point, low, high)
        # A row of columns that have all come next to their bounds holds exactly there.
        point = np.where(np.isfinite(low) & (point - low <= SNAP * room), low, point)
        point = np.where(np.isfinite(high) & (high - point <= SNAP * room), high, point)
    return best


def _mobility(point: Vector, room: Vector, *, free: NDArray[np.bool_]) -> Vector:
    """Return how readily each column moves."""
    moderate = np.maximum(np.abs(point), np.where(np.isfinite(room), SHARE * room, 0.0))
    weight = np.where(np.isfinite(room), np.minimum(room, moderate), np.abs(point))
    return np.where(free, np.maximum(np.abs(point), FREE), weight)


def _needed(rows: Any, gap: Vector, point: Vector, low: Vector, high: Vector) -> Vector:
    """Return how far a column at a bound would have to leave it for a violated row to hold."""
    entries = rows.tocoo()
    step = gap[entries.row] / entries.data
    at_low, at_high = (point == low)[entries.col], (point == high)[entries.col]
    leaves = (at_low & ~at_high & (step > 0.0)) | (at_high & ~at_low & (step < 0.0))
    needed = np.zeros(len(point))
    np.maximum.at(needed, entries.col[leaves], np.abs(step[leaves]))
    return np.minimum(needed, high - low)


def cleaned(program: LinearProgram, values: Vector) -> Vector:
    """Return a point of which columns go to their bounds where no row notices."""
    low, high = program.lower, program.upper
    values = np.clip(values, low, high)
    near = np.where(np.abs(values - low) <= np.abs(high - values), low, high)
    sides = row_scales(program, np.zeros_like(values))
    return without_unnoticed(program.matrix, values, near, sides)
