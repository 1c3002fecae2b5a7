"""A proven lower bound on what a slot costs, and its best plan.

Only few columns can be part of the best plan, and a search picks among them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.checked import checked
from edgeopt.instances.validate import frozen
from edgeopt.models.oinc.slot.columns.master import MANY, Pool, gap_of, gather
from edgeopt.models.oinc.slot.columns.pricing import search
from edgeopt.models.oinc.slot.solve import evaluate
from edgeopt.representation import compact_repr
from edgeopt.solvers import LinearProgram, solve
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.oinc.slot.columns.master import Evidence
    from edgeopt.models.oinc.slot.problem import SlotPlan, SlotProblem


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class SlotBound:
    r"""A proven lower bound on the weighted sum of latencies of a slot.

    Parameters
    ----------
    value
        No assignment of all requests costs less, s. Infinite if objectives cannot all be met.
    prices
        Prices of the requests that prove it, not negative, s, shape [n].
    reduced
        What any set of requests costs on each site less their prices, at least, s, shape [J]. So
        ``value`` is ``prices.sum() + reduced.sum()`` if it is finite.
    upper
        What the value could rise to at most by better prices, as far as is known: the cost of the
        best mix of columns, or of an assignment. Infinite if neither is known.
    seconds
        Time that it took, s.
    columns
        Number of sets whose cost was computed for it.
    certified
        Whether `gap` is at most the requested one.

    Notes
    -----
    Ours: prices of the requests of problem (3) of Zeng et al.; the bound of its master problem,
    whose columns are sets of requests at a site.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import slot_problem
    >>> from edgeopt.models.oinc.slot.columns import SlotBound, slot_bound
    >>> round(slot_bound(slot_problem(small(1), 0)).value, 3)
    0.252
    """

    value: float
    prices: Floats
    reduced: Floats
    upper: float
    seconds: float
    columns: int
    certified: bool

    @property
    def gap(self) -> float:
        """Relative gap between the value and what it could rise to."""
        return gap_of(self.upper, self.value)


@checked()
def slot_bound(
    problem: SlotProblem,
    *,
    objectives: bool = False,
    gap: float = 1e-4,
    site: Ints | None = None,
    time_limit: float | None = None,
) -> SlotBound:
    r"""Bound from below what the requests of a slot cost, wherever they go.

    For prices :math:`\pi \ge 0`, every assignment costs at least
    :math:`\sum_i \pi_i + \sum_j \min_N (c_j(N) - \sum_{i \in N} \pi_i)`, the minimum being over the
    sets of requests that a site can answer, found by an exact search. Prices are first raised by a
    bundle method, then by column generation over sites and sets of requests.

    Parameters
    ----------
    problem
        The requests.
    objectives
        Whether all objectives have to be met. Without them the value also bounds what plans cost
        that meet none.
    gap
        Relative gap at which to stop.
    site
        A good assignment to begin with, shape [n]; searched for by default.
    time_limit
        Seconds after which to stop with the best value so far; it may take a little longer.

    Returns
    -------
    SlotBound
        A bound whatever the time that it was given.

    Raises
    ------
    OptionError
        If the gap is not positive.
    InputError
        If `site` does not name a site for every request.

    Notes
    -----
    On problem (3) of Zeng et al. It lies between that of the continuous relaxation and the optimum.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import assign, assignment_cost, slot_problem
    >>> from edgeopt.models.oinc.slot.columns import slot_bound
    >>> problem = slot_problem(small(1), 0)
    >>> slot_bound(problem).value <= assignment_cost(problem, assign(problem)) * (1 + 1e-9)
    True
    """
    began = time.perf_counter()
    evidence = gather(
        problem,
        objectives=objectives,
        gap=gap,
        site=site,
        time_limit=time_limit,
    )
    return SlotBound(
        evidence.unit * evidence.bound,
        frozen(evidence.unit * evidence.prices),
        frozen(evidence.unit * evidence.reduced),
        evidence.unit * evidence.upper,
        time.perf_counter() - began,
        evidence.pool.count,
        evidence.gap <= gap,
    )


STEPS: Final = (3e-5, 3e-4, 3e-3, 3e-2, np.inf)
"""How far above the bound to look for a plan, relatively, one after the other."""

MOST: Final = 20_000  # columns of a site that the search picks among at most
ROUNDING: Final = 1e-9
"""Relative differences of costs below it count as none."""


@in_html
class ProvenPlan(NamedTuple):
    """A plan of a slot, and how much better another could be.

    Attributes
    ----------
    plan
        The plan; None if the objectives cannot all be met, or no plan that meets them is known.
    objective
        Weighted sum of its latencies, s; infinite without a plan.
    bound
        No plan that answers all requests costs less, s; infinite if there is none.
    lagrangian
        The part of the bound that prices prove, see `slot_bound`; the rest is HiGHS's branch and
        bound on `columns`.
    columns
        Number of columns that a better plan could be made of.
    seconds
        Time that it took, s.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import slot_problem
    >>> from edgeopt.models.oinc.slot.columns import ProvenPlan, solve_by_columns
    >>> solve_by_columns(slot_problem(small(1), 0)).plan.site
    array([1])
    """

    plan: SlotPlan | None
    objective: float
    bound: float
    lagrangian: float
    columns: int
    seconds: float

    @property
    def gap(self) -> float:
        """Relative gap between objective and bound."""
        return gap_of(self.objective, self.bound)


@checked()
def solve_by_columns(
    problem: SlotProblem,
    *,
    objectives: bool = False,
    gap: float = 1e-6,
    time_limit: float | None = None,
) -> ProvenPlan:
    r"""Find the best plan of a slot, and prove it.

    Column generation gives a bound and prices; a column whose cost less prices is more than the
    least of its site by the gap to a known plan is part of no better plan. The other columns are
    enumerated, and a mixed-integer program picks among them.

    Parameters
    ----------
    problem
        The requests.
    objectives
        Whether all objectives have to be met.
    gap
        Relative gap at which to stop.
    time_limit
        Seconds after which to stop with the best plan so far; it may take a little longer.

    Returns
    -------
    ProvenPlan
        The plan and its bound.

    Raises
    ------
    OptionError
        If the gap is not positive.

    Notes
    -----
    Problem (3) of Zeng et al.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import slot_problem
    >>> from edgeopt.models.oinc.slot.columns import solve_by_columns
    >>> plan = solve_by_columns(slot_problem(small(1), 0))
    >>> plan.objective - plan.bound <= 1e-6 * plan.objective
    True
    """
    began = time.perf_counter()
    evidence = gather(problem, objectives=objectives, gap=gap, site=None, time_limit=time_limit)
    bound, columns = evidence.bound, 0
    for step in STEPS:
        left = None if time_limit is None else time_limit - (time.perf_counter() - began)
        over = left is not None and left <= 0.0
        if over or gap_of(evidence.known, bound) <= gap:
            break
        above = step * evidence.bound if evidence.bound > 0.0 else np.inf
        ceiling = min(evidence.known, evidence.bound + above)
        pool = _below(evidence, ceiling)
        if pool is None:
            break
        columns = pool.count
        bound = max(bound, min(ceiling, _pick(evidence, pool, gap, left)))
    plan = None
    if evidence.known < np.inf:
        plan = evaluate(problem, evidence.site, objectives=objectives)
    return ProvenPlan(
        plan,
        evidence.unit * evidence.known,
        evidence.unit * min(bound, evidence.known),
        evidence.unit * evidence.bound,
        columns,
        time.perf_counter() - began,
    )


def _below(evidence: Evidence, ceiling: float) -> Pool | None:
    """Return all columns of assignments that cost less than a ceiling; None if they are too many.

    An assignment costs the bound, and what each of its columns costs less prices above the least
    of the site. So none of these is more than the ceiling lies above the bound.
    """
    roots = evidence.pool.roots
    sites, n = roots.a.shape
    pool = Pool(roots, 0)
    slack = ceiling - evidence.bound + ROUNDING * abs(evidence.bound)
    members = np.empty(n, dtype=np.int64)
    for j in range(sites):
        a, e, cutoff = roots.a[j], roots.e[j], evidence.reduced[j] + slack
        found = np.empty((MOST, n + 1), dtype=np.int64)
        _, count, _, examined = search(
            a, e, roots.s, evidence.prices, 0.0, 0.0, cutoff, MANY, members, found
        )
        if count > MOST or examined >= MANY:
            return None
        pool.extend(j, found[:count])
    return pool


def _pick(evidence: Evidence, pool: Pool, gap: float, time_limit: float | None) -> float:
    """Find the best assignment that columns make up, and return a bound on all that they do."""
    if pool.count == 0:
        return np.inf
    sites, n = pool.roots.a.shape
    program = LinearProgram(
        pool.cost[: pool.count],
        pool.matrix(),
        np.concatenate([np.ones(n), np.full(sites, -np.inf)]),
        np.ones(n + sites),
        upper=1.0,
        integer=True,
    )
    solution = solve(program, gap=gap / 2.0, time_limit=time_limit, raises=False)
    if solution.status.infeasible:
        return np.inf
    if solution.quality.usable:
        chosen = np.flatnonzero(np.asarray(solution.values) > 0.5)
        cost = float(pool.cost[chosen].sum())
        if cost < evidence.known:
            evidence.known, evidence.site = cost, pool.assignment(chosen)
    return -np.inf if solution.bound is None else float(solution.bound)
