r"""The cheapest relaxation of an infeasible program: an elastic program.

.. math::
    \min_{x, s \ge 0} \sum_i \frac{s_i^- }{\max(r_i, |\underline{b}_i|)}
    + \frac{s_i^+}{\max(r_i, |\overline{b}_i|)}
    \quad \text{s.t.} \quad \underline{b} - s^- \le A x \le \overline{b} + s^+

A change of a side counts relative to that side, or to the unit :math:`r_i` of its row
(`edgeopt.solvers.units`) where that is larger: no row's own unit matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.solvers.backend import highs
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.request import Request
from edgeopt.solvers.scaling import solve_scaled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cheapest_point", "elastic_program"]


def elastic_program(program: LinearProgram, *, bounds: bool = False) -> LinearProgram:
    """Return the program in which sides may give way at a price."""
    rows, columns = program.shape
    matrix, row_lower, row_upper = program.matrix, program.row_lower, program.row_upper
    lower, upper = program.lower, program.upper
    unit_size = np.ldexp(1.0, -program.units.rows)
    if bounds:
        matrix = sparse.vstack([matrix, sparse.eye_array(columns)], format="csc")
        row_lower = np.concatenate([row_lower, lower])
        row_upper = np.concatenate([row_upper, upper])
        lower, upper = np.full(columns, -np.inf), np.full(columns, np.inf)
        unit_size = np.concatenate([unit_size, program.units.column_unit])
        rows += columns
    give_low, give_high = (
        np.flatnonzero(np.isfinite(row_lower)),
        np.flatnonzero(np.isfinite(row_upper)),
    )
    unit = sparse.eye_array(rows, format="csc")
    price = np.concatenate(
        [
            np.zeros(columns),
            1.0 / np.maximum(unit_size, np.abs(row_lower))[give_low],
            1.0 / np.maximum(unit_size, np.abs(row_upper))[give_high],
        ]
    )
    gives = len(give_low) + len(give_high)
    return LinearProgram(
        price,
        sparse.hstack([matrix, unit[:, give_low], -unit[:, give_high]], format="csc"),
        row_lower,
        row_upper,
        np.concatenate([lower, np.zeros(gives)]),
        np.concatenate([upper, np.full(gives, np.inf)]),
        np.concatenate([program.integer, np.zeros(gives, dtype=bool)]),
    )


def cheapest_point(
    program: LinearProgram, time_limit: float | None = None
) -> tuple[NDArray[np.float64] | None, float]:
    """Return the point of least total give, and that total.

    Rows give way first; bounds of columns only if rows alone cannot repair the program, as when no
    whole number lies between the bounds of an integer column.
    """
    for bounds in (False, True):
        elastic = elastic_program(program, bounds=bounds)
        found = solve_scaled(highs.solve, elastic, Request(time_limit=time_limit))
        if found.values is not None:
            return found.values[: program.shape[1]], found.objective
    return None, float("nan")
