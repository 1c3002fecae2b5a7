"""The linear programs of retraining as arrays, and prices on jobs from a coarse grid of slots.

If the prices of slots are linear between the points of a grid, then so is everything in (9a), and
it holds in between if it holds at the points. The best prices of this kind are the duals of a
program over the points alone, in which a point may be used as much as its neighbourhood allows:
its value is a lower bound too, and its prices are close to the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.models.oinc.retraining.problem import check_horizon
from edgeopt.solvers import LabelBlock, LinearProgram, solve

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.oinc.retraining.problem import RetrainingProblem


class _Service(NamedTuple):
    """What may be served where and when, each entry one column of a program."""

    job: Ints  # each of shape [n], sorted by job, then site, then slot
    site: Ints
    slot: Ints


def _services(problem: RetrainingProblem, horizon: int) -> _Service:
    """List all services: a job at a site that can serve it, from its arrival to the horizon."""
    job, site = np.nonzero(np.isfinite(problem.duration))
    first = problem.arrival[job]
    length = np.maximum(horizon - first, 0)
    end = np.cumsum(length)
    slot = np.arange(end[-1] if end.size else 0) - np.repeat(end - length - first, length)
    return _Service(np.repeat(job, length), np.repeat(site, length), slot)


def _unit_cost(problem: RetrainingProblem, service: _Service, *, midpoint: bool) -> Floats:
    """Return what serving through a whole slot costs, shape [n]."""
    job, site, slot = service
    time = slot - problem.arrival[job] + (0.5 if midpoint else 0.0)
    cost: Floats = problem.weight[job] * (time / problem.duration[job, site] + 0.5)
    return cost


@checked(horizon=1)
def flow_matrix(
    problem: RetrainingProblem,
    *,
    midpoint: bool = False,
    one_site: bool = False,
    horizon: int | None = None,
) -> LinearProgram:
    r"""Build the time-indexed relaxation of the weighted flow time by array operations.

    Columns are the services m[job, site, slot]. Rows are (8a) by job, (8b) by site and slot, and
    with `one_site` by job and slot.

    Parameters
    ----------
    problem
        The jobs.
    midpoint
        Count the time of a slot from its middle instead of its beginning: the cost of a job rises
        by half its weight.
    one_site
        Add the row that a job is served at one site at a time, which strengthens the bound.
    horizon
        Number of slots; `horizon` of the problem by default, which is long enough.

    Returns
    -------
    A minimisation problem.

    Raises
    ------
    OptionError
        If the horizon ends before the last arrival.

    Notes
    -----
    Zeng et al., problem (8), where the right-hand side 1 of (8a) is missing; `flow_lp` declares it
    in Pyomo and says what it bounds.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.retraining import (
    ...     dual_matrix,
    ...     flow_matrix,
    ...     retraining_problem,
    ... )
    >>> from edgeopt.solvers import solve
    >>> problem = retraining_problem(small(1))
    >>> primal, dual = solve(flow_matrix(problem)), solve(dual_matrix(problem))
    >>> abs(primal.objective - dual.objective) <= 1e-6 * primal.objective
    True
    """
    slots = check_horizon(problem, horizon)
    service = _services(problem, slots)
    job, site, slot = service
    jobs, count = problem.jobs, job.size
    at = np.arange(count)
    entries = [
        (job, at, 1.0 / problem.duration[job, site]),
        (jobs + site * slots + slot, at, np.ones(count)),
    ]
    height = jobs + problem.sites * slots
    row_names = [
        LabelBlock("eq_8a", ("job",), (jobs,)),
        LabelBlock("eq_8b", ("site", "slot"), (problem.sites, slots)),
    ]
    if one_site:
        entries.append((height + job * slots + slot, at, np.ones(count)))
        height += jobs * slots
        row_names.append(LabelBlock("one_site", ("job", "slot"), (jobs, slots)))
    rows, columns, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    row_lower, row_upper = np.full(height, -np.inf), np.ones(height)
    row_lower[:jobs], row_upper[:jobs] = 1.0, np.inf
    return LinearProgram(
        _unit_cost(problem, service, midpoint=midpoint),
        sparse.csc_array((values, (rows, columns)), shape=(height, count)),
        row_lower,
        row_upper,
        row_names=row_names,
        column_names=[LabelBlock("m", ("job", "site", "slot"), np.column_stack(service))],
    )


@checked(horizon=1)
def dual_matrix(
    problem: RetrainingProblem,
    *,
    midpoint: bool = False,
    one_site: bool = False,
    horizon: int | None = None,
) -> LinearProgram:
    r"""Build the dual of `flow_matrix` by array operations.

    Columns are theta[job], eta[site, slot], and zeta[job, slot] with `one_site`; rows are (9a) by
    job, site and slot.

    Parameters
    ----------
    problem, midpoint, one_site, horizon
        As for `flow_matrix`.

    Returns
    -------
    A maximisation problem.

    Raises
    ------
    OptionError
        If the horizon ends before the last arrival.

    Notes
    -----
    Zeng et al., problem (9); `flow_dual` declares it in Pyomo.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.retraining import dual_matrix, retraining_problem
    >>> from edgeopt.solvers import solve
    >>> solve(dual_matrix(retraining_problem(small(1)))).quality.value
    'optimal'
    """
    primal = flow_matrix(problem, midpoint=midpoint, one_site=one_site, horizon=horizon)
    jobs = problem.jobs
    sign = np.full(primal.shape[0], -1.0)
    sign[:jobs] = 1.0
    names = {"eq_8a": "theta", "eq_8b": "eta", "one_site": "zeta"}
    columns = [LabelBlock(names[b.name], b.dims, b.index) for b in primal.row_names.blocks]
    (served,) = primal.column_names.blocks
    return LinearProgram(
        sign,
        (sparse.diags_array(sign) @ primal.matrix).T,
        -np.inf,
        primal.cost,
        sense="max",
        row_names=[LabelBlock("eq_9a", served.dims, served.index)],
        column_names=columns,
    )


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
    cost = _unit_cost(problem, _Service(job, site, point[at]), midpoint=midpoint)
    duals: Floats = solve(LinearProgram(cost, matrix, lower, upper), threads=1).duals
    return duals[: problem.jobs]
