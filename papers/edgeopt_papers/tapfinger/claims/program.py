"""The offline program (1) to (8), capacities, and the tasks in the system slot by slot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measured, Measurement, NotApplicableError
from edgeopt.models.tapfinger.programs import start_matrix
from edgeopt.solvers import LinearProgram, solve
from edgeopt_papers.claims.paper import SOLVED, named_instance
from edgeopt_papers.tapfinger.claims import instances as named
from edgeopt_papers.tapfinger.claims.evaluation import Evaluation, about_plans, claim
from edgeopt_papers.tapfinger.claims.instances import INSTANCES, TASKS
from edgeopt_papers.tapfinger.claims.plan import Plan, best_plan, least_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


def _program(view: Evaluation, *, all_served: bool = True) -> Measurement:
    """Solve the program, with (3) as an equation or as printed."""
    optimum = view.optimum
    program: LinearProgram = start_matrix(view.problem)
    if not all_served:
        sides = np.array(program.row_lower)
        sides[: view.problem.tasks] = -np.inf
        program = replace(program, row_lower=sides)
    solution = solve(program)
    return Measurement(float(solution.objective or 0.0), optimum, {"starts": solution.values})


def _efficient(view: Evaluation) -> Measurement:
    plan = view.best("efficient")
    return Measurement(plan.schedule.flow_time(view.problem), view.optimum, {"plan": plan})


def _without_the_last(view: Evaluation) -> Measurement:
    """Leave out the bundles with all CPU cores or all GPUs of a cluster."""
    optimum, problem = view.optimum, view.problem
    size = np.indices(problem.duration.shape[2:])
    capacity = problem.capacity[:, :, None, None]
    duration = np.where((size == capacity).any(axis=1)[:, None], 0, problem.duration)
    some = np.asarray((duration > 0).any(axis=(2, 3))).T[problem.kind] & problem.eligible
    stuck = np.flatnonzero(~some.any(axis=1))
    if stuck.size:
        return Measurement(np.inf, optimum, {"tasks without a bundle": stuck})
    return Measurement(least_flow(replace(problem, duration=duration)), optimum)


def _one_start(view: Evaluation) -> Measurement:
    optimum = {view.problem.single_start: view.optimum}
    other = not view.problem.single_start
    optimum[other] = least_flow(replace(view.problem, single_start=other))
    return Measurement(optimum[True], optimum[False])


def _least_running(view: Evaluation) -> Measurement:
    """Find the best plan among those in which every task runs for as few slots as it can."""
    optimum, problem = view.optimum, view.problem
    never = np.iinfo(np.int64).max
    slots = np.where(problem.duration > 0, problem.duration, never)
    least = slots.min(axis=(2, 3))
    shortest = np.where(problem.eligible, least.T[problem.kind], never)
    quick = replace(
        problem,
        duration=np.where(slots == least[:, :, None, None], problem.duration, 0),
        eligible=problem.eligible & (shortest == shortest.min(axis=1, keepdims=True)),
    )
    plan = best_plan(quick)
    return Measurement(plan.schedule.flow_time(problem), optimum, {"plan": plan})


_INSTANCES = {**TASKS, **INSTANCES}


def _excess(plan: Plan, end: NDArray[np.int64]) -> float:
    """Return by how much a capacity is exceeded if bundles are held until then, at most."""
    problem = plan.problem
    assert problem.occupied is not None
    held = plan.held_until(end)
    before = problem.occupied[: len(held)]
    held[: len(before)] += before
    return float((held - problem.capacity).max())


def _really(plan: Plan) -> float:
    return _excess(plan, plan.completion)


def _by_flow_time(view: Evaluation) -> Iterator[Measurement]:
    """Read the end of (5) as the arrival and the flow time."""
    for plan in view.plans:
        yield Measurement(_excess(plan, plan.problem.arrival + plan.flow), _really(plan))


def _by_completion(view: Evaluation) -> Iterator[Measurement]:
    """Read it as the arrival and the time of completion."""
    for plan in view.feasible:
        yield Measurement(_excess(plan, plan.problem.arrival + plan.completion), 0.0)


def _by_running_time(view: Evaluation) -> Measured:
    """Take what keeps (5) with the arrival and the time for which a task runs."""
    found = []
    for plan in view.plans:
        running = plan.completion - plan.schedule.start
        if _excess(plan, plan.problem.arrival + running) <= 0.0:
            found.append(Measurement(_really(plan), 0.0))
    if not found:
        raise NotApplicableError("the plan breaks (5)")
    return found


_CAPACITY_INSTANCES = {**TASKS, **INSTANCES}


def _alive(plan: Plan, *, after: bool = False) -> float:
    """Sum the tasks that have arrived and are not complete over all slots.

    They are counted while the slot lasts, or at its end, when those that complete are gone.
    """
    slots = int(plan.completion.max(initial=0))
    return float(
        sum(
            ((plan.problem.arrival <= t) & (plan.completion > t + after)).sum()
            for t in range(slots)
        )
    )


def _counted(view: Evaluation, *, after: bool = False) -> Measured:
    found = [Measurement(_alive(plan, after=after), plan.flow.sum()) for plan in view.plans]
    if not after:
        found += [
            Measurement(float(run.accumulation.sum()), float(run.flow_time.sum()), {"run": run})
            for run in view.runs
        ]
    return found


def _less_one_each(view: Evaluation) -> Measured:
    return (
        Measurement(_alive(plan, after=True), plan.flow.sum() - plan.problem.tasks)
        for plan in view.plans
    )


def _local(view: Evaluation, share: Callable[[int], float]) -> Iterator[Measurement]:
    """Sum what clusters count: their own running tasks, and a share of every one that waits."""
    for plan in view.plans:
        clusters = plan.problem.eligible.sum(axis=1)
        waits = plan.schedule.start - plan.problem.arrival
        runs = plan.completion - plan.schedule.start
        several = np.array([share(int(n)) for n in clusters]) * clusters
        yield Measurement(float((several * waits + runs).sum()), _alive(plan))


def _held(view: Evaluation, *, after: bool) -> Iterator[Measurement]:
    """Sum the units that tasks hold over slots, as they last or at their ends."""
    for plan in view.plans:
        runs = plan.completion - plan.schedule.start
        used = float(plan.held_until(plan.completion - after).sum())
        yield Measurement(used, float(plan.schedule.bundle.sum(axis=1) @ runs))


_ACCUMULATION_INSTANCES = {**TASKS, **INSTANCES, **named_instance(named.late_arrivals)}

CLAIMS = (
    claim("program", _program, (_INSTANCES, named.lone_task), tolerance=SOLVED),
    claim(
        "equation3.published",
        lambda view: _program(view, all_served=False),
        named.lone_task,
        tolerance=SOLVED,
    ),
    claim("equation1.published", _least_running, named.both_or_halves),
    claim("bundles", _efficient, (_INSTANCES, named.both_or_halves, named.last_unit)),
    claim("bundles.published", _without_the_last, named.last_unit),
    claim("single_start", _one_start, (_INSTANCES, named.at_once)),
    claim("equation2.slots", _one_start, named.at_once),
    about_plans(
        "equation5", _by_flow_time, (_CAPACITY_INSTANCES, named.late_arrivals, named.cut_off)
    ),
    about_plans("equation5.published", _by_completion, named.late_arrivals),
    about_plans("equation5.running", _by_running_time, named.cut_off),
    about_plans("accumulation", _counted, _ACCUMULATION_INSTANCES),
    about_plans("accumulation.end", lambda view: _counted(view, after=True), named.started_at_once),
    about_plans(
        "accumulation.less", _less_one_each, (_ACCUMULATION_INSTANCES, named.started_at_once)
    ),
    about_plans(
        "reward.local",
        lambda view: _local(view, lambda clusters: 1.0 / clusters),
        (_ACCUMULATION_INSTANCES, named.waiting_twice),
    ),
    about_plans(
        "reward.local.published", lambda view: _local(view, lambda _: 1.0), named.waiting_twice
    ),
    about_plans(
        "usage",
        lambda view: _held(view, after=False),
        (_ACCUMULATION_INSTANCES, named.started_at_once),
    ),
    about_plans("usage.end", lambda view: _held(view, after=True), named.started_at_once),
)
