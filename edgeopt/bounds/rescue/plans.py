"""Different optimal plans of one instance, found by pushing single cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import NotApplicableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = ["CELL_LIMIT", "optimal_plans"]

CELL_LIMIT = 100
"""Largest number of cells (t, j, k, l) for which plans are searched."""


def optimal_plans(view: Evaluation) -> list[tuple[NDArray[np.float64], float]]:
    """Find optimal plans by making each cell as large and as small as the optimum allows."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    from edgeopt.models.rescue import p1_lp_matrix
    from edgeopt.online.rescue import value_functions
    from edgeopt.solvers import TIGHT

    shape = view.instance.shape[:4]
    cells = int(np.prod(shape))
    if cells > CELL_LIMIT:
        raise NotApplicableError(f"too large for a search of plans: {cells} cells")
    program = p1_lp_matrix(view.instance)
    below, above = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
    rows = program.matrix.tocsr()
    # An optimum and demands of 1: the solver's tolerances are absolute.
    scale = view.plan.objective if view.worthwhile(view.plan.objective) else view.promise or 1.0
    worth = np.asarray(program.cost) / scale
    least = view.plan.objective / scale - TIGHT
    demand = program.row_lower[above]
    matrix = vstack([rows[below], -rows[above].multiply(1.0 / demand[:, None]), -worth[None, :]])
    side = np.concatenate((program.row_upper[below], np.full(demand.size, -1.0), [-least]))
    found: list[tuple[NDArray[np.float64], float]] = []
    for cell in np.flatnonzero(view.instance.arrival.repeat(shape[2] * shape[3])):
        for sign in (1.0, -1.0):
            push = np.zeros(worth.size)
            push[cell] = sign
            solved = linprog(
                push,
                A_ub=matrix,
                b_ub=side,
                bounds=np.stack((program.lower, program.upper), axis=1),
                method="highs",
            )
            if solved.success:
                y = _within(np.maximum(solved.x[:cells], 0).reshape(shape), view.instance.arrival)
                found.append((y, float(value_functions(view.instance, y)[1][:, 0].sum())))
    if not found:
        raise NotApplicableError("no task ever arrives")
    return found


def _within(y: NDArray[np.float64], arrival: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale rows down that exceed their arrival probability by rounding."""
    mass = y.sum(axis=(2, 3))
    scale = np.divide(arrival, mass, out=np.ones_like(mass), where=mass > arrival)
    within: NDArray[np.float64] = y * scale[:, :, None, None]
    return within
