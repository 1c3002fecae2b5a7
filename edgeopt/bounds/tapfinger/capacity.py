"""What a plan holds, and what (5) takes it to hold in several readings of the time in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.named import one
from edgeopt.bounds.tapfinger import counterexamples as named
from edgeopt.bounds.tapfinger.families import INSTANCES, TASKS
from edgeopt.bounds.tapfinger.statement import PLANNED, claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.bounds.tapfinger.evaluation import Evaluation
    from edgeopt.bounds.tapfinger.plan import Plan

__all__ = ["CLAIMS"]


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


def _by_flow_time(view: Evaluation) -> Measurement:
    """Read the end of (5) as the arrival and the flow time."""
    return worst(
        Relation.EQUAL,
        (
            Measurement(_excess(plan, plan.problem.arrival + plan.flow), _really(plan))
            for plan in view.plans
        ),
    )


def _by_completion(view: Evaluation) -> Measurement:
    """Read it as the arrival and the time of completion."""
    return worst(
        Relation.AT_MOST,
        (
            Measurement(_excess(plan, plan.problem.arrival + plan.completion), 0.0)
            for plan in view.feasible
        ),
    )


def _by_running_time(view: Evaluation) -> Measurement:
    """Take what keeps (5) with the arrival and the time for which a task runs."""
    found = []
    for plan in view.plans:
        running = plan.completion - plan.schedule.start
        if _excess(plan, plan.problem.arrival + running) <= 0.0:
            found.append(Measurement(_really(plan), 0.0))
    if not found:
        raise NotApplicableError("the plan breaks (5)")
    return worst(Relation.AT_MOST, found)


_FAMILY = {**TASKS, **INSTANCES}

CLAIMS = (
    claim(
        "equation5",
        r"A plan holds by $\sum_{j: t \in [t_j^*, \hat t_j + \phi_j)} x_{j,r,n}$ what it holds, "
        r"if $\phi_j$ is the time from the arrival to the completion of task j.",
        "Equation (5), corrected",
        _by_flow_time,
        Relation.EQUAL,
        {**_FAMILY, **one(named.late_arrivals), **one(named.cut_off)},
        **PLANNED,
    ),
    claim(
        "equation5.printed",
        r"A plan that can be carried out keeps (5) if $\phi_j$ is the completion time of task j, "
        "as it is called. But a task would hold its bundle the longer the later it arrives.",
        "Equation (5) and section III-C",
        _by_completion,
        Relation.AT_MOST,
        one(named.late_arrivals),
        counterexample="late_arrivals()",
        corrected_by=("tapfinger.equation5",),
        **PLANNED,
    ),
    claim(
        "equation5.running",
        r"A plan that keeps (5) can be carried out if $\phi_j$ is the time for which task j runs. "
        "But a task that has waited would hold its bundle for too short a time.",
        "Equation (5), with phi counted from the start",
        _by_running_time,
        Relation.AT_MOST,
        one(named.cut_off),
        counterexample="cut_off()",
        corrected_by=("tapfinger.equation5",),
        **PLANNED,
    ),
)
