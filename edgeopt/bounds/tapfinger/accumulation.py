"""Tasks in the system, slot by slot, and what they sum to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, worst
from edgeopt.bounds.named import one
from edgeopt.bounds.tapfinger import counterexamples as named
from edgeopt.bounds.tapfinger.families import INSTANCES, TASKS
from edgeopt.bounds.tapfinger.statement import PLANNED, claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.bounds.tapfinger.evaluation import Evaluation
    from edgeopt.bounds.tapfinger.plan import Plan

__all__ = [
    "CLAIMS",
]


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


def _counted(view: Evaluation, *, after: bool = False) -> Measurement:
    found = [Measurement(_alive(plan, after=after), plan.flow.sum()) for plan in view.plans]
    if not after:
        found += [
            Measurement(float(run.accumulation.sum()), float(run.flow_time.sum()), {"run": run})
            for run in view.runs
        ]
    return worst(Relation.EQUAL, found)


def _less_one_each(view: Evaluation) -> Measurement:
    found = (
        Measurement(_alive(plan, after=True), plan.flow.sum() - plan.problem.tasks)
        for plan in view.plans
    )
    return worst(Relation.EQUAL, found)


def _local(view: Evaluation, share: Callable[[int], float]) -> Measurement:
    """Sum what clusters count: their own running tasks, and a share of every one that waits."""
    found = []
    for plan in view.plans:
        clusters = plan.problem.eligible.sum(axis=1)
        waits = plan.schedule.start - plan.problem.arrival
        runs = plan.completion - plan.schedule.start
        several = np.array([share(int(n)) for n in clusters]) * clusters
        found.append(Measurement(float((several * waits + runs).sum()), _alive(plan)))
    return worst(Relation.EQUAL, found)


def _held(view: Evaluation, *, after: bool) -> Measurement:
    """Sum the units that tasks hold over slots, as they last or at their ends."""
    found = []
    for plan in view.plans:
        runs = plan.completion - plan.schedule.start
        used = float(plan.held_until(plan.completion - after).sum())
        found.append(Measurement(used, float(plan.schedule.bundle.sum(axis=1) @ runs)))
    return worst(Relation.EQUAL, found)


_FAMILY = {**TASKS, **INSTANCES, **one(named.late_arrivals)}
CLAIMS = (
    claim(
        "accumulation",
        r"$\sum_t R_t = \sum_j \phi_j$: the tasks in the system, counted while each slot lasts, "
        "sum to the flow times.",
        "Section IV-A, reward",
        _counted,
        Relation.EQUAL,
        _FAMILY,
        **PLANNED,
    ),
    claim(
        "accumulation.end",
        "They do if they are counted as each slot ends, when the tasks that complete are gone. "
        "Recorded figures of the paper count so.",
        "Section V-B, task accumulation",
        lambda view: _counted(view, after=True),
        Relation.EQUAL,
        one(named.started_at_once),
        counterexample="started_at_once()",
        corrected_by=("tapfinger.accumulation", "tapfinger.accumulation.less"),
        **PLANNED,
    ),
    claim(
        "accumulation.less",
        "Counted as each slot ends, they sum to the flow times less a slot for every task.",
        "Section V-B, task accumulation, corrected",
        _less_one_each,
        Relation.EQUAL,
        {**_FAMILY, **one(named.started_at_once)},
        **PLANNED,
    ),
    claim(
        "reward.local",
        r"$\sum_n R_{n,t} = R_t$ if a cluster counts the tasks that run on it, and those that wait "
        "for it divided by the number of clusters for which they do.",
        "Section IV-A, reward, corrected",
        lambda view: _local(view, lambda clusters: 1.0 / clusters),
        Relation.EQUAL,
        {**_FAMILY, **one(named.waiting_twice)},
        **PLANNED,
    ),
    claim(
        "reward.local.printed",
        r"$\sum_n R_{n,t} = R_t$ if a cluster counts the tasks associated with it. A task that "
        "waits for several clusters is counted by each.",
        "Section IV-A, reward",
        lambda view: _local(view, lambda _: 1.0),
        Relation.EQUAL,
        one(named.waiting_twice),
        counterexample="waiting_twice()",
        corrected_by=("tapfinger.reward.local", "tapfinger.accumulation"),
        **PLANNED,
    ),
    claim(
        "usage",
        "The units held in each slot, before any are released, sum to what bundles and running "
        "times of tasks multiply to.",
        "Section V-C, resource use, corrected",
        lambda view: _held(view, after=False),
        Relation.EQUAL,
        {**_FAMILY, **one(named.started_at_once)},
        **PLANNED,
    ),
    claim(
        "usage.end",
        "They do if they are counted at the end of each slot, after what is complete has released "
        "its units. Recorded figures of the paper count so.",
        "Section V-C, resource use",
        lambda view: _held(view, after=True),
        Relation.EQUAL,
        one(named.started_at_once),
        counterexample="started_at_once()",
        corrected_by=("tapfinger.usage",),
        **PLANNED,
    ),
)
