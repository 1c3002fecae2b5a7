r"""Prices on jobs from a coarse grid of slots, to start from.

If the prices of slots are linear between the points of a grid, then so is everything in (9a), and
it holds in between if it holds at the points. The best prices of this kind are the duals of a
program over the points alone, in which a point may be used as much as its neighbourhood allows:
its value is a lower bound too, and its prices are close to the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.models.oinc.retraining.matrix import Service, unit_cost
from edgeopt.solvers import LinearProgram, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining.problem import RetrainingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["coarse_prices", "grid_points"]


def grid_points(problem: RetrainingProblem, slots: int, step: int) -> tuple[Ints, Floats]:
    """Choose points at most `step` slots apart, and at every arrival and in the slot before it."""
    arrival = np.unique(problem.arrival)
    fixed = np.unique(np.clip(np.concatenate([[0, slots - 1], arrival, arrival - 1]), 0, slots - 1))
    pieces = np.maximum(1, np.ceil(np.diff(fixed) / step).astype(np.int64))
    between = [
        np.round(np.linspace(a, b, n, endpoint=False)).astype(np.int64)
        for a, b, n in zip(fixed[:-1], fixed[1:], pieces, strict=True)
    ]
    point = np.concatenate([*between, fixed[-1:]])
    # The sum over all slots of the function that is 1 at a point and 0 at its neighbours.
    gap = np.diff(point)
    share = np.ones(point.size)
    share[:-1] += (gap - 1) / 2.0
    share[1:] += (gap - 1) / 2.0
    return point, share


def coarse_prices(
    problem: RetrainingProblem, slots: int, step: int, *, midpoint: bool, one_site: bool
) -> Floats:
    """Return the prices of jobs that are best with prices of slots linear on a grid, shape [K]."""
    point, share = grid_points(problem, slots, step)
    job, site = np.nonzero(np.isfinite(problem.duration))
    count = point.size
    job, site = np.repeat(job, count), np.repeat(site, count)
    at = np.tile(np.arange(count), job.size // count)
    known = point[at] >= problem.arrival[job]
    job, site, at = job[known], site[known], at[known]
    column = np.arange(job.size)
    blocks = [(job, 1.0 / problem.duration[job, site])]
    height = problem.jobs
    for owner, owners in ((site, problem.sites), (job, problem.jobs))[: 1 + one_site]:
        blocks.append((height + owner * count + at, np.ones(job.size)))
        height += owners * count
    rows, values = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    matrix = sparse.csc_array(
        (values, (rows, np.tile(column, len(blocks)))), shape=(height, job.size)
    )
    lower, upper = np.full(height, -np.inf), np.full(height, np.inf)
    lower[: problem.jobs] = 1.0
    upper[problem.jobs :] = np.tile(share, (height - problem.jobs) // count)
    cost = unit_cost(problem, Service(job, site, point[at]), midpoint=midpoint)
    duals: Floats = solve(LinearProgram(cost, matrix, lower, upper), threads=1).duals
    return duals[: problem.jobs]
