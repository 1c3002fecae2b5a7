"""What the claims measure on one retraining problem, each piece of work done once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.bounds.oinc.certificate import DualCertificate, dual_certificate
from edgeopt.bounds.oinc.schedule import Schedule, drawn_schedule
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.retraining import flow_bound, flow_matrix, retraining_problem
from edgeopt.online.oinc.retraining import run_density
from edgeopt.solvers import solve

if TYPE_CHECKING:
    from edgeopt.models.oinc.retraining import FlowBound, RetrainingProblem
    from edgeopt.online.oinc.retraining import RetrainingRun

__all__ = ["EPSILONS", "SHARE", "Evaluation", "schedule_of"]

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0)
"""By how much sites are faster, unless the caller says."""

SHARE = 0.5
"""Share of every CPU that is kept for the jobs of an instance, unless the caller says."""

DRAWN = 3
"""Schedules that are drawn beside those of algorithms."""


class Evaluation:
    """Jobs, ways to serve them, and runs of Algorithm 4.

    Parameters
    ----------
    given
        The jobs, one schedule of them, or an instance.
    epsilon
        By how much the sites of Algorithm 4 are faster; several values by default.
    share
        Share of every CPU that is kept for the jobs of an instance; the theory is about one that
        stays as it is.
    """

    def __init__(
        self,
        given: RetrainingProblem | Schedule | OincInstance,
        epsilon: float | None = None,
        share: float = SHARE,
    ) -> None:
        self.given = given if isinstance(given, Schedule) else None
        if isinstance(given, OincInstance):
            self.problem = retraining_problem(given, share)
        else:
            self.problem = given.problem if isinstance(given, Schedule) else given
        self.epsilons = EPSILONS if epsilon is None else (float(epsilon),)
        self._runs: dict[Any, RetrainingRun] = {}
        self._bounds: dict[Any, FlowBound] = {}

    def run(self, epsilon: float, **how: Any) -> RetrainingRun:
        """Run Algorithm 4 on sites that are faster; see `run_density`."""
        key = epsilon, *sorted(how.items())
        if key not in self._runs:
            self._runs[key] = run_density(self.problem, epsilon=epsilon, **how)
        return self._runs[key]

    def certificate(
        self, epsilon: float, scale: float | None = None, **how: Any
    ) -> DualCertificate:
        """Build the dual point of a run."""
        run = self.run(epsilon, **how)
        return dual_certificate(self.problem, run, epsilon, scale=scale)

    def bound(self, **how: Any) -> FlowBound:
        """Bound the flow time of schedules; see `flow_bound`."""
        key = tuple(sorted(how.items()))
        if key not in self._bounds:
            self._bounds[key] = flow_bound(self.problem, **how)
        return self._bounds[key]

    def program(self, **how: Any) -> float:
        """Return the optimum of the program of `flow_matrix`."""
        solution = solve(flow_matrix(self.problem, **how), raises=False)
        if solution.values is None:
            raise NotApplicableError("the slots of the program leave too little time for the jobs")
        return float(solution.objective)

    @cached_property
    def fluid(self) -> tuple[Schedule, ...]:
        """Schedules that serve each job at one site, and may end it within a slot."""
        if self.given is not None:
            if self.given.moves:
                raise NotApplicableError("the schedule serves a job at several sites")
            return (self.given,)
        drawn = (drawn_schedule(self.problem, seed) for seed in range(DRAWN))
        return (schedule_of(self.problem, self.run(0.0)), *drawn)

    @cached_property
    def by_slots(self) -> tuple[Schedule, ...]:
        """Schedules that serve each job at one site, and end it with a slot."""
        if self.given is not None:
            if self.given.moves or not self.given.ends_with_slots:
                raise NotApplicableError("the schedule moves a job, or ends it within a slot")
            return (self.given,)
        drawn = (drawn_schedule(self.problem, seed, whole_slots=True) for seed in range(DRAWN))
        run = self.run(0.0, service="slot")
        return (schedule_of(self.problem, run, whole_slots=True), *drawn)

    @cached_property
    def middle(self) -> float:
        """Optimum of P1 with the time of a slot counted from its middle, from its dual point."""
        assert self.problem.weight is not None
        begin = self.bound(service="fluid", strong=False, midpoint=False)
        return begin.value + float(self.problem.weight.sum()) / 2.0

    @property
    def whole(self) -> bool:
        """Whether every duration is a whole number of slots."""
        time = self.problem.duration[np.isfinite(self.problem.duration)]
        return bool((time == np.round(time)).all())


def schedule_of(
    problem: RetrainingProblem, run: RetrainingRun, *, whole_slots: bool = False
) -> Schedule:
    """Read the schedule off a run at unit speed."""
    runs = run.runs
    end = runs.end
    if whole_slots:
        # The run is told until the end of its last slot; the work may be done before.
        end = _cut(problem, runs)
    return Schedule(problem, runs.job, runs.site, runs.begin, end, whole_slots=whole_slots)


def _cut(problem: RetrainingProblem, runs: Any) -> Any:
    """Return ends of runs no later than the work of their job is done."""
    end, left = np.array(runs.end), np.ones(problem.jobs)
    for r in np.argsort(runs.begin, kind="stable"):
        k, j = runs.job[r], runs.site[r]
        end[r] = min(end[r], runs.begin[r] + left[k] * problem.duration[k, j])
        left[k] -= (end[r] - runs.begin[r]) / problem.duration[k, j]
    return end
