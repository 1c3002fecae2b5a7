"""The offline program (1) to (8): what is minimised, and over which plans."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.named import one
from edgeopt.bounds.tapfinger import counterexamples as named
from edgeopt.bounds.tapfinger.counterexamples import INSTANCES, TASKS
from edgeopt.bounds.tapfinger.evaluation import SOLVED, claim
from edgeopt.bounds.tapfinger.plan import best_plan, least_flow
from edgeopt.bounds.verdict import Relation
from edgeopt.models.tapfinger.matrix import start_matrix
from edgeopt.solvers import solve

if TYPE_CHECKING:
    from edgeopt.bounds.tapfinger.evaluation import Evaluation
    from edgeopt.solvers import LinearProgram

__all__ = ["CLAIMS"]


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


_FAMILY = {**TASKS, **INSTANCES}

CLAIMS = (
    claim(
        "program",
        r"The least sum of flow times of all plans is the optimum of (1) to (8) with $\sum_{n,t} "
        r"y_{j,n,t} = 1$ in (3), $\phi_j$ the time from the arrival to the completion, and t in "
        "slots.",
        "Problem (1) to (8), corrected",
        _program,
        Relation.EQUAL,
        {**_FAMILY, **one(named.lone_task)},
        tolerance=SOLVED,
    ),
    claim(
        "equation3.printed",
        r"It is with $\sum_{n,t} y_{j,n,t} \le 1$, as printed. But then nothing need be served.",
        "Equation (3)",
        lambda view: _program(view, all_served=False),
        Relation.EQUAL,
        one(named.lone_task),
        corrected_by=("tapfinger.program",),
        tolerance=SOLVED,
    ),
    claim(
        "equation1.printed",
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
        {**_FAMILY, **one(named.both_or_halves), **one(named.last_unit)},
    ),
    claim(
        "bundles.printed",
        r"It stays the same if a task is given $0, 1, \ldots, C_{r,n} - 1$ units, as printed in "
        "section III-A: never all of a cluster.",
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
        {**_FAMILY, **one(named.at_once)},
    ),
    claim(
        "equation2.slots",
        "They flow for the same time: (2) covers both modes. It does so in timesteps, of which a "
        "slot may have several; in slots it does not.",
        "Equation (2) and section III-B",
        _one_start,
        Relation.EQUAL,
        one(named.at_once),
        corrected_by=("tapfinger.single_start",),
    ),
)
