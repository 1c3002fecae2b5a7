"""The best plan of all, by branch and bound over the time-indexed program."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.checked import checked
from edgeopt.models.tapfinger.horizon import latest_completion
from edgeopt.models.tapfinger.listing import best_list, list_schedule
from edgeopt.models.tapfinger.matrix import assembled
from edgeopt.models.tapfinger.relaxation import priced, relaxation
from edgeopt.models.tapfinger.schedule import Schedule, verify
from edgeopt.models.tapfinger.starts import Starts, interchangeable, starts
from edgeopt.models.tapfinger.windows import WINDOW, improved, value_step
from edgeopt.solvers import Status, solve
from edgeopt.solvers.gap import gap_closed, relative_gap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem
    from edgeopt.models.tapfinger.relaxation import Relaxation
    from edgeopt.models.tapfinger.starts import Choice, Groups

    Ints = NDArray[np.int64]

__all__ = ["OptimalSchedule", "optimal_schedule", "promising", "raised", "schedule_of"]


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
        A known plan; `best_list` by default.
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
    """
    began = time.perf_counter()
    known = best_list(problem) if start is None else start
    verify(problem, known)

    def left() -> float | None:
        spent = time.perf_counter() - began
        return None if time_limit is None else max(time_limit - spent, 0.0)

    relaxed = relaxation(problem, known=known, time_limit=left())
    order = np.argsort(relaxed.mean_start, kind="stable")
    known = min(known, list_schedule(problem, order), key=lambda plan: plan.flow_time(problem))
    step = value_step(problem)
    bound = raised(relaxed.value, step)
    if problem.tasks > WINDOW and not _close(known.flow_time(problem), bound, gap):
        limit = left()
        known = improved(problem, known, time_limit=None if limit is None else limit / 3)
    value = known.flow_time(problem)
    bound = min(bound, value)
    status = Status.CONVERGENCE_CRITERIA_SATISFIED
    if not _close(value, bound, gap):
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
    if solution.status is Status.PROVEN_INFEASIBLE:
        return known, np.inf, Status.CONVERGENCE_CRITERIA_SATISFIED
    if solution.quality.usable:
        count = np.rint(solution.values).astype(np.int64)
        found = schedule_of(problem, groups, listed, count)
        known = min(known, found, key=lambda plan: plan.flow_time(problem))
    return known, solution.bound if np.isfinite(solution.bound) else -np.inf, solution.status


def _close(value: float, bound: float, gap: float) -> bool:
    return gap_closed(value, bound, gap)


def raised(bound: float, step: float) -> float:
    """Return the least value of a plan that a bound leaves."""
    if step == 0.0 or not np.isfinite(bound):
        return bound
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
    assert problem.weight is not None
    spare = value - relaxed.value + 1e-6 * value
    latest = latest_completion(problem, value)
    with np.errstate(divide="ignore", invalid="ignore"):
        flow = np.floor((relaxed.least + spare) / problem.weight)
    within = np.where(problem.weight > 0, flow, np.inf) < latest - problem.arrival
    latest[within] = problem.arrival[within] + np.maximum(flow[within], 0).astype(np.int64)
    listed = starts(problem, bundles=bundles, tasks=groups.first, latest=latest)
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
