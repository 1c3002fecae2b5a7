r"""The linear relaxation of the time-indexed program, and what its prices prove.

Any prices :math:`\pi_{nrt}, \sigma_{ns} \ge 0` of what is scarce prove that every plan costs at
least

.. math::

   \sum_j \min_{n,x,s} \Big(w_j (s + d - a_j) + \sum_r x_r \sum_{t=s}^{s+d-1} \pi_{nrt}
       + \sigma_{ns}\Big)
   - \sum_{nrt} \pi_{nrt} (C_{nr} - O_{tnr}) - \sum_{ns} \sigma_{ns},

whatever solver they come from, and however late its last slot was: behind the last price a start
only costs more.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.checked import checked
from edgeopt.models.tapfinger.list_scheduling import quick_list
from edgeopt.models.tapfinger.programs import (
    assembled,
    horizon,
    interchangeable,
    start_cost,
    starts,
)
from edgeopt.representation import compact_repr
from edgeopt.solvers import solve
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from edgeopt.instances.fields import Floats
    from edgeopt.models.tapfinger.problem import Schedule, SchedulingProblem
    from edgeopt.models.tapfinger.programs import Starts


@compact_repr
@dataclass(frozen=True, eq=False)
class SlotPrices:
    """Prices of what is scarce: any such prices, not negative, prove a bound.

    Attributes
    ----------
    resource
        Price of a CPU core and of a GPU of each cluster in each slot, shape [N, 2, T]; nothing
        costs anything behind the last slot.
    start
        Price of the only start of a cluster in each slot, shape [N, T]; counts with `single_start`.
    """

    resource: Floats
    start: Floats


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class Relaxation:
    """A lower bound on the weighted sum of flow times of every plan, with its proof.

    Attributes
    ----------
    value
        The bound, recomputed from the prices and the data.
    objective
        Value of the relaxation on the slots that the solver was given, by which no bound in them
        can be better; NaN where the solver ran out of time.
    prices
        The proof.
    least
        Least priced cost of each task, shape [J]; their sum less the value is the worth of all
        that is free.
    mean_start
        Mean start of each task in the relaxation, shape [J]; NaN where there is none. An order for
        `list_schedule`.
    seconds
        Time that it took, s.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import Relaxation, relaxation, scheduling_problem
    >>> relaxation(scheduling_problem(small(1))).mean_start.shape
    (4,)
    """

    value: float
    objective: float
    prices: SlotPrices
    least: Floats
    mean_start: Floats
    seconds: float


@checked()
def relaxation(
    problem: SchedulingProblem,
    *,
    known: Schedule | None = None,
    time_limit: float | None = None,
    **solver: Any,
) -> Relaxation:
    """Bound all plans by the linear relaxation.

    The solver is given the slots that a known plan needs, and more where its prices do not prove
    as much for all later slots as for those.

    Parameters
    ----------
    problem
        The tasks.
    known
        A known plan; by default that of `best_list` with few moves.
    time_limit
        Seconds after which the solver stops; the prices that it has then still prove a bound.
    **solver
        Further options for `edgeopt.solve`, such as ``algorithm="ipm"``.

    Returns
    -------
    The bound with prices that prove it.

    Raises
    ------
    OptionError
        If an option has a value that it cannot take.

    Notes
    -----
    Li et al., problem (1) to (8) with parts of tasks. It bounds plans without preemption and
    without noise.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import relaxation, scheduling_problem
    >>> round(relaxation(scheduling_problem(small(1))).value, 3)
    13.396
    """
    began = time.perf_counter()
    known = quick_list(problem) if known is None else known
    slots = int(known.completion(problem).max(initial=0))
    enough = horizon(problem)
    options: dict[str, Any] = {"threads": 1} | solver
    while True:
        left = None if time_limit is None else time_limit - (time.perf_counter() - began)
        found = _solved(problem, slots, left, options, began)
        solved = np.isfinite(found.objective)
        short = solved and relative_gap(found.objective, found.value) > 1e-6
        if not short or slots >= enough or (left is not None and left <= 0):
            return found
        slots = min(slots + max(8, slots // 2), enough)


def _solved(
    problem: SchedulingProblem,
    slots: int,
    time_limit: float | None,
    options: dict[str, Any],
    began: float,
) -> Relaxation:
    """Solve the relaxation on some slots, and turn its duals into a proof for all."""
    groups = interchangeable(problem)
    listed = starts(problem, tasks=groups.first, latest=slots)
    program = assembled(problem, groups, listed, slots, relax=True)
    limit = None if time_limit is None else max(time_limit, 0.0)
    solution = solve(program, time_limit=limit, raises=False, **options)
    clusters, heads = problem.clusters, groups.first.size
    duals = np.zeros(program.shape[0])
    if solution.duals is not None:
        # Projection of duals on their cone: any prices there prove a bound.
        duals = np.maximum(-np.nan_to_num(solution.duals), 0.0)
    cut = heads + 2 * clusters * slots
    resource = duals[heads:cut].reshape(clusters, 2, slots)
    single = duals[cut:].reshape(clusters, -1) if problem.single_start else 0.0 * resource[:, 0]
    prices = SlotPrices(resource, single)
    value, least = price_bound(problem, prices)
    mean = np.full(heads, np.nan)
    if solution.values is not None:
        group = groups.group[listed.task]
        total = np.bincount(group, weights=solution.values * listed.start, minlength=heads)
        mean = total / groups.size
    seconds = time.perf_counter() - began
    optimum = solution.objective if solution.quality.usable else np.nan
    return Relaxation(value, optimum, prices, least, mean[groups.group], seconds)


def price_bound(problem: SchedulingProblem, prices: SlotPrices) -> tuple[float, Floats]:
    """Return what prices prove for all plans, and the least priced cost of each task, [J]."""
    slots = prices.resource.shape[2]
    groups = interchangeable(problem)
    last = max(slots, int(problem.arrival.max(initial=0)))
    listed = starts(problem, tasks=groups.first, last=last)
    least = np.full(groups.first.size, np.inf)
    np.minimum.at(least, groups.group[listed.task], priced(problem, listed, prices))
    free = np.repeat(problem.capacity[:, :, None], slots, axis=2).astype(np.float64)
    held = problem.occupied[:slots]
    free[:, :, : held.shape[0]] -= held.transpose(1, 2, 0)
    worth = float((prices.resource * free).sum())
    if problem.single_start:
        worth += float(prices.start.sum() - prices.start[problem.started, :1].sum())
    return float(groups.size @ least) - worth, least[groups.group]


def priced(problem: SchedulingProblem, listed: Starts, prices: SlotPrices) -> Floats:
    """Return what each start costs if everything scarce that it takes is paid for, shape [n]."""
    slots = prices.resource.shape[2]
    paid = np.zeros((problem.clusters, 2, slots + 1))
    # Running sums: the price of an interval is a difference of two.
    prices.resource.cumsum(axis=2, out=paid[:, :, 1:])
    begin = np.minimum(listed.start, slots)
    end = np.minimum(listed.start + listed.duration, slots)
    cost = start_cost(problem, listed)
    for resource, amount in enumerate((listed.cpu, listed.gpu)):
        of = paid[:, resource]
        cost = cost + amount * (of[listed.cluster, end] - of[listed.cluster, begin])
    if problem.single_start:
        single = np.concatenate([prices.start, np.zeros((problem.clusters, 1))], axis=1)
        cost = cost + single[listed.cluster, begin]
    return np.asarray(cost)
