"""Better plans: a window of tasks at a time is planned anew beside all others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.models.tapfinger.matrix import assembled
from edgeopt.models.tapfinger.schedule import Schedule
from edgeopt.models.tapfinger.starts import Starts, interchangeable, starts
from edgeopt.solvers import solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem

    Ints = NDArray[np.int64]

__all__ = ["WINDOW", "improved", "replanned", "value_step"]

WINDOW: Final = 24
"""Tasks that are planned anew at a time."""

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
    assert problem.weight is not None
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
    kept = relaxed.reduced_costs() <= spare
    listed = Starts(*(field[kept] for field in listed))
    if spare < 0 or np.unique(listed.task).size < problem.tasks:
        return plan
    program = assembled(problem, groups, listed, slots)
    found = solve(program, threads=1, time_limit=time_limit, raises=False)
    if not (found.quality.usable and found.objective < value - 1e-9 * value):
        return plan
    chosen = np.flatnonzero(np.rint(found.values))
    by_task = chosen[np.argsort(listed.task[chosen])]
    bundle = np.stack([listed.cpu[by_task], listed.gpu[by_task]], axis=1)
    return Schedule(listed.cluster[by_task], bundle, listed.start[by_task])
