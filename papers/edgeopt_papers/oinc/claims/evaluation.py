"""What the claims measure on one retraining problem, each piece of work done once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.errors import InputError
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.retraining import (
    FlowBound,
    RetrainingProblem,
    flow_bound,
    flow_matrix,
    retraining_problem,
)
from edgeopt.online.oinc.retraining import RetrainingRun, run_density
from edgeopt.solvers import solve
from edgeopt_papers.claims.paper import EXACT, Paper, memoised
from edgeopt_papers.oinc.claims.certificate import DualCertificate, dual_certificate
from edgeopt_papers.oinc.claims.dispatch import run_variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.arrays import Floats, Ints


TINY = 1e-9
"""Seconds that rounding may cost."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """What ran where and when, each job with the whole of what its site has for jobs.

    Raises
    ------
    InputError
        If a run begins before its job arrives, two runs of a site or of a job overlap, or a job is
        not complete after all of its runs.
    """

    problem: RetrainingProblem
    # Job and site of each run, shape [r]
    job: Ints
    site: Ints
    # When it began and ended, s since the start, shape [r]
    begin: Floats
    end: Floats
    # Whether a job counts as complete when its last slot ends, whatever is left of that
    whole_slots: bool = False

    def __post_init__(self) -> None:
        for name, kind in (("job", np.int64), ("site", np.int64), ("begin", float), ("end", float)):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=kind))
        if (self.begin < self.problem.arrival[self.job] - TINY).any():
            raise InputError("begin", "must not be before the job arrives")
        for owner in (self.job, self.site):
            order = np.lexsort((self.begin, owner))
            same = np.diff(owner[order]) == 0
            late = self.end[order][:-1] > self.begin[order][1:] + TINY
            if (same & late).any():
                raise InputError("runs", "must not overlap at a site, nor those of a job")
        done = np.bincount(self.job, self._parts, self.problem.jobs)
        if (np.abs(done - 1.0) > 1e-6).any():
            raise InputError("runs", "must serve every job once", value=done)

    @property
    def _parts(self) -> Floats:
        """Which part of its job each run does, shape [r]."""
        parts: Floats = (self.end - self.begin) / self.problem.duration[self.job, self.site]
        return parts

    @cached_property
    def completion(self) -> Floats:
        """When each job is complete, s since the start, shape [K]."""
        last = np.zeros(self.problem.jobs)
        np.maximum.at(last, self.job, self.end)
        return np.ceil(last - TINY) if self.whole_slots else last

    @cached_property
    def flow(self) -> Floats:
        """Weighted flow time of each job, shape [K]."""
        flow: Floats = self.problem.weight * (self.completion - self.problem.arrival)
        return flow

    @property
    def objective(self) -> float:
        """Weighted flow time of all jobs."""
        return float(self.flow.sum())

    @property
    def moves(self) -> bool:
        """Whether some job is served at more than one site."""
        pairs = np.unique(np.column_stack([self.job, self.site]), axis=0)
        return len(pairs) > len(np.unique(self.job))

    @property
    def ends_with_slots(self) -> bool:
        """Whether every job is complete at the end of a slot."""
        return bool((np.abs(self.completion - np.round(self.completion)) < TINY).all())

    def potential(self, *, midpoint: bool = False) -> Floats:
        r"""Return what the linear program counts for each job, shape [K].

        .. math:: \phi_k = l_k \sum_{j,t} m_{kj}^t \Bigl(\frac{t - a_k}{h_{kj}} + \frac12\Bigr)

        Zeng et al., equation (7).
        """
        problem = self.problem
        if problem.jobs == 0:
            return np.zeros(0)
        # Schedules of about the same length share a matrix.
        slots = 1 << (int(np.ceil(self.end.max())) - 1).bit_length()
        cost, first = _unit_costs(problem, midpoint, slots)
        start = np.maximum(np.floor(self.begin).astype(np.int64), problem.arrival[self.job])
        length = np.ceil(self.end).astype(np.int64) - start
        run = np.repeat(np.arange(length.size), length)
        slot = np.arange(run.size) - np.repeat(np.cumsum(length) - length - start, length)
        used = np.minimum(self.end[run], slot + 1) - np.maximum(self.begin[run], slot)
        job = self.job[run]
        column = first[job, self.site[run]] + slot
        return np.asarray(np.bincount(job, used * cost[column], problem.jobs), dtype=np.float64)


@lru_cache(maxsize=2)
def _unit_costs(problem: RetrainingProblem, midpoint: bool, slots: int) -> tuple[Floats, Ints]:
    """Return the costs of `flow_matrix`, and where those of a job at a site begin, shape [K, J]."""
    cost = flow_matrix(problem, midpoint=midpoint, horizon=slots).cost
    # Columns go by job, site and slot.
    length = np.where(np.isfinite(problem.duration), slots - problem.arrival[:, None], 0)
    return cost, np.cumsum(length).reshape(length.shape) - length - problem.arrival[:, None]


def drawn_schedule(
    problem: RetrainingProblem,
    rng: int | np.random.Generator,
    *,
    move: bool = False,
    whole_slots: bool = False,
) -> Schedule:
    """Serve jobs at random: sites, order, preemptions and pauses are drawn."""
    draw = np.random.default_rng(rng)
    left = [1.0] * problem.jobs
    able = [np.flatnonzero(row) for row in np.isfinite(problem.duration)]
    home = [int(draw.choice(sites)) for sites in able]
    arrival, duration = problem.arrival.tolist(), problem.duration.tolist()
    step = 1.0 if whole_slots else 1.0 / 3.0
    runs: list[tuple[int, int, float, float]] = []
    count = 0
    unfinished = list(range(problem.jobs))
    while unfinished:
        start, stop = count * step, (count + 1) * step
        count += 1
        waiting: dict[int, list[int]] = {}
        for k in unfinished:
            if arrival[k] <= start + TINY:
                if move:
                    home[k] = int(draw.choice(able[k]))
                waiting.setdefault(home[k], []).append(k)
        for j in draw.permutation(problem.sites).tolist():
            now = start
            # Drawing an order of one job takes no random number.
            here = waiting.get(j, [])
            for k in here if len(here) < 2 else draw.permutation(here).tolist():
                if now >= stop - TINY or draw.random() < 0.2:
                    break
                time = duration[k][j]
                end = min(stop, now + left[k] * time)
                left[k] -= (end - now) / time
                runs.append((k, j, now, end))
                now = stop if whole_slots else end
        unfinished = [k for k in unfinished if left[k] > TINY]
    columns = list(zip(*runs, strict=True)) if runs else [(), (), (), ()]
    job, site, begin, end = (np.array(column) for column in columns)
    return Schedule(problem, job, site, begin, end, whole_slots)


EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0)
"""By how much sites are faster, unless the caller says."""

SHARE = 0.5
"""Share of every CPU that is kept for the jobs of an instance, unless the caller says."""

DRAWN = 3
"""Schedules that are drawn in addition to those of algorithms."""


class Evaluation:
    """Jobs of an instance or a schedule, ways to serve them, and runs of Algorithm 4.

    Its sites are faster by `epsilon`, several values by default; `share` of every CPU is kept for
    the jobs of an instance, since the theory is about a share that stays as it is.
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

    @memoised
    def run(self, epsilon: float, **how: Any) -> RetrainingRun:
        """Run Algorithm 4 on sites that are faster; see `run_density` and `run_variant`."""
        run = run_density if how.keys() <= {"service"} else run_variant
        return run(self.problem, epsilon=epsilon, **how)

    def certificates(self, scale: float | None = None, **how: Any) -> Iterator[DualCertificate]:
        """Yield the dual points of runs, at each of the speeds."""
        for epsilon in self.epsilons:
            yield dual_certificate(self.problem, self.run(epsilon, **how), epsilon, scale=scale)

    @memoised
    def bound(self, **how: Any) -> FlowBound:
        """Bound the flow time of schedules; see `flow_bound`."""
        return flow_bound(self.problem, **how)

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
    """Return the schedule of a run at unit speed."""
    runs = run.runs
    end = runs.end
    if whole_slots:
        # The run lasts until the end of its last slot; the work may be done before.
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


_paper = Paper(
    "oinc",
    instance_type=(RetrainingProblem, Schedule, OincInstance),
    view=Evaluation,
    tolerance=EXACT,
)

claim, erratum = _paper.claim, _paper.erratum
"""Build a claim, by default about jobs and how they are served."""

about_jobs = partial(claim, instance_type=(RetrainingProblem, OincInstance))
"""Build a claim about jobs alone."""
