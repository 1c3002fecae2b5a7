"""The offline program (1) to (8), capacities, and the tasks in the system slot by slot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measured, Measurement, NotApplicableError
from edgeopt.bounds.verdict import Relation
from edgeopt.models.tapfinger.programs import start_matrix
from edgeopt.solvers import LinearProgram, solve
from edgeopt_papers.claims.paper import SOLVED, one
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


_ACCUMULATION_INSTANCES = {**TASKS, **INSTANCES, **one(named.late_arrivals)}

CLAIMS = (
    claim(
        "program",
        r"The least sum of flow times of all plans is the optimum of (1) to (8) with $\sum_{n,t} "
        r"y_{j,n,t} = 1$ in (3), $\phi_j$ the time from the arrival to the completion, and t in "
        "slots.",
        "Problem (1) to (8), corrected",
        _program,
        Relation.EQUAL,
        {**_INSTANCES, **one(named.lone_task)},
        tolerance=SOLVED,
    ),
    claim(
        "equation3.published",
        r"The least sum of flow times of all plans is the optimum of (1) to (8) with $\sum_{n,t} "
        r"y_{j,n,t} \le 1$, as printed, which lets tasks go unserved.",
        "Equation (3)",
        lambda view: _program(view, all_served=False),
        Relation.EQUAL,
        one(named.lone_task),
        corrected_by=("tapfinger.program",),
        tolerance=SOLVED,
    ),
    claim(
        "equation1.published",
        r"Of the plans that minimise $\sum_j \phi_j$ one has the least flow time if $\phi_j$ is "
        "the time for which task j runs, which bundle and cluster determine.",
        "Equation (1), with phi counted from the start",
        _least_running,
        Relation.EQUAL,
        one(named.both_or_halves),
        corrected_by=("tapfinger.program",),
    ),
    claim(
        "bundles",
        "The least sum of flow times stays the same without the bundles that another one equals in "
        "speed and exceeds in nothing.",
        "Problem (1) to (8), its bundles",
        _efficient,
        Relation.EQUAL,
        {**_INSTANCES, **one(named.both_or_halves), **one(named.last_unit)},
    ),
    claim(
        "bundles.published",
        r"The least sum of flow times stays the same if a task is given $0, 1, \ldots, C_{r,n} - "
        "1$ units, as printed in section III-A: never all of a cluster.",
        "Section III-A",
        _without_the_last,
        Relation.EQUAL,
        one(named.last_unit),
        corrected_by=("tapfinger.program", "tapfinger.bundles"),
    ),
    claim(
        "single_start",
        "With at most one start per cluster and slot tasks flow for no less time than with "
        "several.",
        "Equation (2), in slots",
        _one_start,
        Relation.AT_LEAST,
        {**_INSTANCES, **one(named.at_once)},
    ),
    claim(
        "equation2.slots",
        "Tasks flow for the same time with one start per cluster and slot as with several: (2) "
        "covers both modes. It does so in timesteps, of which a slot may have several, but not "
        "in slots.",
        "Equation (2) and section III-B",
        _one_start,
        Relation.EQUAL,
        one(named.at_once),
        corrected_by=("tapfinger.single_start",),
    ),
    about_plans(
        "equation5",
        r"A plan holds by $\sum_{j: t \in [t_j^*, \hat t_j + \phi_j)} x_{j,r,n}$ what it holds, "
        r"if $\phi_j$ is the time from the arrival to the completion of task j.",
        "Equation (5), corrected",
        _by_flow_time,
        Relation.EQUAL,
        {**_CAPACITY_INSTANCES, **one(named.late_arrivals), **one(named.cut_off)},
    ),
    about_plans(
        "equation5.published",
        r"A plan that can be carried out keeps (5) if $\phi_j$ is the completion time of task j, "
        "as it is called. But a task would hold its bundle the longer the later it arrives.",
        "Equation (5) and section III-C",
        _by_completion,
        Relation.AT_MOST,
        one(named.late_arrivals),
        corrected_by=("tapfinger.equation5",),
    ),
    about_plans(
        "equation5.running",
        r"A plan that keeps (5) can be carried out if $\phi_j$ is the time for which task j runs. "
        "But a task that has waited would hold its bundle for too short a time.",
        "Equation (5), with phi counted from the start",
        _by_running_time,
        Relation.AT_MOST,
        one(named.cut_off),
        corrected_by=("tapfinger.equation5",),
    ),
    about_plans(
        "accumulation",
        r"$\sum_t R_t = \sum_j \phi_j$: the tasks in the system, counted while each slot lasts, "
        "sum to the flow times.",
        "Section IV-A, reward",
        _counted,
        Relation.EQUAL,
        _ACCUMULATION_INSTANCES,
    ),
    about_plans(
        "accumulation.end",
        "The tasks in the system sum to the flow times if they are counted as each slot ends, "
        "when those that complete are gone. Recorded figures of the paper count so.",
        "Section V-B, task accumulation",
        lambda view: _counted(view, after=True),
        Relation.EQUAL,
        one(named.started_at_once),
        corrected_by=("tapfinger.accumulation", "tapfinger.accumulation.less"),
    ),
    about_plans(
        "accumulation.less",
        "Counted as each slot ends, the tasks in the system sum to the flow times less a slot "
        "for every task.",
        "Section V-B, task accumulation, corrected",
        _less_one_each,
        Relation.EQUAL,
        {**_ACCUMULATION_INSTANCES, **one(named.started_at_once)},
    ),
    about_plans(
        "reward.local",
        r"$\sum_n R_{n,t} = R_t$ if a cluster counts the tasks that run on it, and those that wait "
        "for it divided by the number of clusters for which they do.",
        "Section IV-A, reward, corrected",
        lambda view: _local(view, lambda clusters: 1.0 / clusters),
        Relation.EQUAL,
        {**_ACCUMULATION_INSTANCES, **one(named.waiting_twice)},
    ),
    about_plans(
        "reward.local.published",
        r"$\sum_n R_{n,t} = R_t$ if a cluster counts the tasks associated with it. A task that "
        "waits for several clusters is counted by each.",
        "Section IV-A, reward",
        lambda view: _local(view, lambda _: 1.0),
        Relation.EQUAL,
        one(named.waiting_twice),
        corrected_by=("tapfinger.reward.local", "tapfinger.accumulation"),
    ),
    about_plans(
        "usage",
        "The units held in each slot, before any are released, sum to what bundles and running "
        "times of tasks multiply to.",
        "Section V-C, resource use, corrected",
        lambda view: _held(view, after=False),
        Relation.EQUAL,
        {**_ACCUMULATION_INSTANCES, **one(named.started_at_once)},
    ),
    about_plans(
        "usage.end",
        "The units held sum to the products of bundles and running times if they are counted at "
        "the end of each slot, after complete tasks have released theirs. Recorded figures of "
        "the paper count so.",
        "Section V-C, resource use",
        lambda view: _held(view, after=True),
        Relation.EQUAL,
        one(named.started_at_once),
        corrected_by=("tapfinger.usage",),
    ),
)
