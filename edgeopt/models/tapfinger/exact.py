"""The best plan of all, by branch and bound over the time-indexed program."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.models.tapfinger.horizon import latest_completion, shortest
from edgeopt.models.tapfinger.listing import best_list
from edgeopt.models.tapfinger.matrix import assembled
from edgeopt.models.tapfinger.schedule import Schedule, verify
from edgeopt.models.tapfinger.starts import interchangeable, starts
from edgeopt.solvers import Status, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem
    from edgeopt.models.tapfinger.starts import Choice, Groups, Starts

    Ints = NDArray[np.int64]

__all__ = ["OptimalSchedule", "optimal_schedule"]


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
        return (self.objective - self.bound) / max(1.0, abs(self.objective))


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
    value = known.flow_time(problem)
    assert problem.weight is not None
    trivial = float(problem.weight @ shortest(problem))
    if value <= trivial:
        seconds = time.perf_counter() - began
        return OptimalSchedule(known, value, value, Status.CONVERGENCE_CRITERIA_SATISFIED, seconds)
    groups = interchangeable(problem)
    latest = latest_completion(problem, value)
    listed = starts(problem, bundles=bundles, tasks=groups.first, latest=latest)
    program = assembled(problem, groups, listed, int(latest.max()))
    solution = solve(program, backend, time_limit=time_limit, gap=gap, threads=1, raises=False)
    found = known
    if solution.values is not None and solution.quality.usable:
        found = schedule_of(problem, groups, listed, np.rint(solution.values).astype(np.int64))
        verify(problem, found)
        found = min(known, found, key=lambda plan: plan.flow_time(problem))
    objective = found.flow_time(problem)
    bound = min(max(solution.bound, trivial), objective)
    seconds = time.perf_counter() - began
    return OptimalSchedule(found, objective, bound, solution.status, seconds)


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
