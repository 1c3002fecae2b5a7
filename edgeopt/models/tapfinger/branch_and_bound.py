"""The best plan of all: branch and bound over the time-indexed program, improved by windows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.checked import checked
from edgeopt.models.tapfinger.list_scheduling import list_schedule, quick_list
from edgeopt.models.tapfinger.problem import Schedule, verify
from edgeopt.models.tapfinger.programs import (
    Starts,
    assembled,
    interchangeable,
    latest_completion,
    starts,
)
from edgeopt.models.tapfinger.relaxation import priced, relaxation
from edgeopt.solvers import Status, solve
from edgeopt.solvers.tolerance import gap_closed, relative_gap
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.models.tapfinger.problem import SchedulingProblem
    from edgeopt.models.tapfinger.programs import Choice, Groups
    from edgeopt.models.tapfinger.relaxation import Relaxation


WINDOW: Final = 24  # tasks that are planned anew at a time
WHOLE: Final = 2.0**40
"""Largest multiple of a power of two as which a weight counts as a short number."""


def improved(
    problem: SchedulingProblem,
    plan: Schedule,
    *,
    size: int = WINDOW,
    stride: int = 8,
    time_limit: float | None = None,
) -> Schedule:
    """Improve a plan until no window of tasks that start after each other can be planned better."""
    end = np.inf if time_limit is None else time.perf_counter() + time_limit
    each = 5.0 if time_limit is None else min(5.0, 0.1 * time_limit)
    firsts = list(range(0, max(1, problem.tasks - size + stride), stride))
    value, at, in_vain = plan.flow_time(problem), 0, 0
    while in_vain < len(firsts) and time.perf_counter() < end:
        # Fix and optimise: all but a window of tasks stays (Shaw, 1998: large neighbourhood).
        window = np.argsort(plan.start, kind="stable")[firsts[at] : firsts[at] + size]
        plan = replanned(problem, plan, window, each)
        now = plan.flow_time(problem)
        in_vain = 0 if now < value else in_vain + 1
        value, at = now, (at + 1) % len(firsts)
    return plan


def value_step(problem: SchedulingProblem) -> float:
    """Return a number that divides the difference of any two values; 0 where none is known.

    All weights are multiples of a power of two. Where these multiples are no more than `WHOLE`, as
    those of short numbers are in whatever unit, it is their greatest common divisor.
    """
    heavy = problem.weight[problem.weight > 0]
    if not heavy.size:
        return 0.0
    mantissa, exponent = np.frexp(heavy)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    finest = int((exponent - 53 + np.log2(digits & -digits)).min())
    multiples = np.ldexp(heavy, -finest)
    if multiples.max() > WHOLE:
        return 0.0
    return float(np.ldexp(float(np.gcd.reduce(multiples.astype(np.int64))), finest))


def replanned(
    problem: SchedulingProblem, plan: Schedule, window: Ints, time_limit: float
) -> Schedule:
    """Plan some tasks anew, none of which may end later than the last of them does."""
    completion, value = plan.completion(problem), plan.flow_time(problem)
    groups = interchangeable(problem, grouped=False)
    free = np.zeros(problem.tasks, dtype=bool)
    free[window] = True
    listed = starts(problem, tasks=np.flatnonzero(free), latest=int(completion[free].max()))
    rest = np.flatnonzero(~free)
    fixed = (rest, plan.cluster[rest], *plan.bundle[rest].T, plan.start[rest])
    pairs = zip(listed, (*fixed, (completion - plan.start)[rest]), strict=True)
    listed = Starts(*map(np.concatenate, pairs))
    slots = int(completion.max())
    relaxed = solve(
        assembled(problem, groups, listed, slots, relax=True),
        threads=1, time_limit=time_limit, raises=False,
    )  # fmt: skip
    if relaxed.duals is None or not np.isfinite(relaxed.bound):
        return plan
    spare = value - value_step(problem) - relaxed.bound + 1e-6 * value
    # Fixing by reduced costs (Dantzig, Fulkerson and Johnson, 1954).
    kept = relaxed.reduced_costs() <= spare
    listed = Starts(*(field[kept] for field in listed))
    if spare < 0 or np.unique(listed.task).size < problem.tasks:
        return plan
    program = assembled(problem, groups, listed, slots)
    found = solve(program, threads=1, time_limit=time_limit, raises=False)
    if not (found.quality.usable and found.objective < value - 1e-9 * value):
        return plan
    return schedule_of(problem, groups, listed, np.rint(found.values).astype(np.int64))


@in_html
@dataclass(frozen=True, eq=False)
class OptimalSchedule:
    """A plan with a bound on how good any plan can be.

    Attributes
    ----------
    schedule
        The plan, checked against the raw data.
    objective
        Its weighted sum of flow times, slots.
    bound
        Lower bound on that of every plan, slots; the solver's.
    status
        Why the search stopped.
    seconds
        Time that it took, s.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import (
    ...     OptimalSchedule,
    ...     optimal_schedule,
    ...     scheduling_problem,
    ... )
    >>> plan = optimal_schedule(scheduling_problem(small(1)))
    >>> round(plan.objective - plan.bound, 6)
    0.0
    """

    schedule: Schedule
    objective: float
    bound: float
    status: Status
    seconds: float

    @property
    def gap(self) -> float:
        """Relative gap between objective and bound."""
        return relative_gap(self.objective, self.bound)


@checked(gap="[0, inf]")
def optimal_schedule(
    problem: SchedulingProblem,
    *,
    bundles: Choice = "efficient",
    time_limit: float | None = None,
    gap: float = 0.0,
    start: Schedule | None = None,
    backend: str = "highs",
) -> OptimalSchedule:
    """Find a plan of least weighted flow time.

    Starts that no plan better than a known one can have are left out, and tasks that agree in all
    that counts share their columns.

    Parameters
    ----------
    problem
        The tasks.
    bundles
        Which bundles to choose from: the efficient ones are enough.
    time_limit
        Seconds after which the best plan so far is returned.
    gap
        Relative gap at which the search may stop.
    start
        A known plan; by default that of `best_list` with few moves.
    backend
        Any solver of mixed-integer programs that `edgeopt.solve` knows.

    Returns
    -------
    OptimalSchedule
        The plan and what is proven of it; never worse than the known one.

    Raises
    ------
    OptionError
        If the known plan cannot be carried out, or an option has a value that it cannot take.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import optimal_schedule, scheduling_problem
    >>> plan = optimal_schedule(scheduling_problem(small(1)))
    >>> round(plan.objective, 3), round(plan.bound, 3), plan.schedule.start
    (13.396, 13.396, array([0, 3, 7, 5]))
    """
    began = time.perf_counter()
    known = quick_list(problem) if start is None else start
    verify(problem, known)

    def left() -> float | None:
        spent = time.perf_counter() - began
        return None if time_limit is None else max(time_limit - spent, 0.0)

    relaxed = relaxation(problem, known=known, time_limit=left())
    order = np.argsort(relaxed.mean_start, kind="stable")
    known = min(known, list_schedule(problem, order), key=lambda plan: plan.flow_time(problem))
    step = value_step(problem)
    bound = raised(relaxed.value, step)
    if problem.tasks > WINDOW and not gap_closed(known.flow_time(problem), bound, gap):
        limit = left()
        known = improved(problem, known, time_limit=None if limit is None else limit / 3)
    value = known.flow_time(problem)
    bound = min(bound, value)
    status = Status.CONVERGENCE_CRITERIA_SATISFIED
    if not gap_closed(value, bound, gap):
        groups = interchangeable(problem)
        listed = promising(problem, groups, bundles, relaxed, value - step)
        if np.unique(listed.task).size < groups.first.size:  # nothing is better
            bound = value
        else:
            known, proven, status = _searched(
                problem, groups, listed, known, backend=backend, time_limit=left(), gap=gap
            )
            bound = min(max(raised(proven, step), bound), value)
    verify(problem, known)
    objective = known.flow_time(problem)
    seconds = time.perf_counter() - began
    return OptimalSchedule(known, objective, min(bound, objective), status, seconds)


def _searched(
    problem: SchedulingProblem,
    groups: Groups,
    listed: Starts,
    known: Schedule,
    *,
    backend: str,
    time_limit: float | None,
    gap: float,
) -> tuple[Schedule, float, Status]:
    """Search the plans of some starts for one that is better than a known one."""
    slots = int((listed.start + listed.duration).max())
    program = assembled(problem, groups, listed, slots)
    solution = solve(program, backend, time_limit=time_limit, gap=gap, threads=1, raises=False)
    if solution.status.infeasible:
        return known, np.inf, Status.CONVERGENCE_CRITERIA_SATISFIED
    if solution.quality.usable:
        count = np.rint(solution.values).astype(np.int64)
        found = schedule_of(problem, groups, listed, count)
        known = min(known, found, key=lambda plan: plan.flow_time(problem))
    return known, solution.bound if np.isfinite(solution.bound) else -np.inf, solution.status


def raised(bound: float, step: float) -> float:
    """Return the least value of a plan that a bound leaves."""
    if step == 0.0 or not np.isfinite(bound):
        return bound
    # Rounding up to the lattice of possible values, as Chvatal and Gomory do with rows.
    return step * float(np.ceil(bound / step - 1e-6))


def promising(
    problem: SchedulingProblem,
    groups: Groups,
    bundles: Choice,
    relaxed: Relaxation,
    value: float,
) -> Starts:
    """List the starts of plans that are at least as good as a value.

    The priced cost of a start above the least one of its task adds to the bound of a plan that has
    it. No price is negative, so that the flow time itself is limited by it too.
    """
    spare = value - relaxed.value + 1e-6 * value
    latest = latest_completion(problem, value)
    with np.errstate(divide="ignore", invalid="ignore"):
        flow = np.floor((relaxed.least + spare) / problem.weight)
    within = np.where(problem.weight > 0, flow, np.inf) < latest - problem.arrival
    latest[within] = problem.arrival[within] + np.maximum(flow[within], 0).astype(np.int64)
    listed = starts(problem, bundles=bundles, tasks=groups.first, latest=latest)
    # Fixing by reduced costs, here of the priced relaxation.
    kept = priced(problem, listed, relaxed.prices) - relaxed.least[listed.task] <= spare
    return Starts(*(field[kept] for field in listed))


def schedule_of(
    problem: SchedulingProblem, groups: Groups, listed: Starts, count: Ints
) -> Schedule:
    """Return the plan that takes each start so often, shape [n].

    Interchangeable tasks start in their order.
    """
    chosen = np.repeat(np.flatnonzero(count), count[count > 0])
    group, begin = groups.group[listed.task[chosen]], listed.start[chosen]
    chosen = chosen[np.lexsort((begin, group))]
    task = np.argsort(groups.group, kind="stable")
    cluster, start = np.empty((2, problem.tasks), dtype=np.int64)
    bundle = np.empty((problem.tasks, 2), dtype=np.int64)
    cluster[task], start[task] = listed.cluster[chosen], listed.start[chosen]
    bundle[task] = np.stack([listed.cpu[chosen], listed.gpu[chosen]], axis=1)
    return Schedule(cluster, bundle, start)
