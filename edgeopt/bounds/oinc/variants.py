"""Algorithm 4 to the letter: what becomes of Theorem 1 when a line of it is not corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.claim import Measurement, worst
from edgeopt.bounds.named import one
from edgeopt.bounds.oinc.certificate import competitive_factor
from edgeopt.bounds.oinc.families import JOBS, NAMED_JOBS
from edgeopt.bounds.oinc.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc import special
from edgeopt.models.oinc.retraining import RetrainingProblem

if TYPE_CHECKING:
    from edgeopt.bounds.oinc.evaluation import Evaluation

__all__ = ["CLAIMS"]


def _costs(view: Evaluation, **how: Any) -> Measurement:
    """Compare the weighted flow time with the costs in sum, at several speeds."""
    found = []
    for epsilon in (0.0, *view.epsilons):
        run = view.run(epsilon, **how)
        found.append(Measurement(run.weighted_flow, float(run.cost.sum()), {"epsilon": epsilon}))
    return worst(Relation.EQUAL, found)


def _late_costs(view: Evaluation) -> Measurement:
    """Compare the weighted flow time with the costs less what moves save."""
    found = []
    for epsilon in (0.0, *view.epsilons):
        run = view.run(epsilon, late_binding=True)
        saved = float(run.cost.sum() - run.saved.sum())
        found.append(Measurement(run.weighted_flow, saved, {"epsilon": epsilon}))
    return worst(Relation.EQUAL, found)


def _flow_at_unit_speed(view: Evaluation, **how: Any) -> Measurement:
    return Measurement(
        view.run(0.0, **how).weighted_flow, view.run(0.0).weighted_flow, {"run": view.run(0.0)}
    )


def _ratio(view: Evaluation, **how: Any) -> Measurement:
    """Compare a run with what Theorem 1 allows over a schedule at unit speed."""
    best = min(view.fluid, key=lambda schedule: schedule.objective)
    return worst(
        Relation.AT_MOST,
        (
            Measurement(
                view.run(epsilon, **how).weighted_flow,
                competitive_factor(epsilon) * best.objective,
                {"epsilon": epsilon, "schedule": best},
            )
            for epsilon in view.epsilons
        ),
    )


def _violation(view: Evaluation, **how: Any) -> Measurement:
    return worst(
        Relation.AT_MOST,
        (
            Measurement(point.violation_in_time, 0.0, size=point.heaviest)
            for point in (view.certificate(epsilon, **how) for epsilon in view.epsilons)
        ),
    )


_JOBS = {"instance_type": (RetrainingProblem, OincInstance)}
_FAMILY = {**JOBS, **NAMED_JOBS}

CLAIMS = (
    claim(
        "sequence.printed",
        r"$F = \sum_k C_{kj^*}$ if the job of least density is served, as printed.",
        "Algorithm 4, line 6",
        lambda view: _costs(view, serve="argmin"),
        Relation.EQUAL,
        one(special.two_densities),
        counterexample="two_densities()",
        corrected_by=("oinc.costs",),
        **_JOBS,
    ),
    claim(
        "sequence.competitive",
        r"F is at most $2 / \epsilon$ times the weighted flow time of any schedule at unit speed, "
        r"$\epsilon \le 1$, if the job of least density is served, as printed. No factor does: it "
        "grows with the length of the light job.",
        "Algorithm 4, line 6, and Theorem 1",
        lambda view: _ratio(view, serve="argmin"),
        Relation.AT_MOST,
        one(special.light_and_long, 10),
        counterexample="light_and_long(10)",
        corrected_by=("oinc.theorem1",),
        **_JOBS,
    ),
    claim(
        "equation6.printed",
        r"$F = \sum_k C_{kj^*}$ with $\sum_{Q^2} l_{k'} h_{k'j}$ as the third sum, as printed. But "
        r"a job that goes ahead delays each of the others by its own length, $h_{kj} \sum_{Q^2} "
        r"l_{k'}$.",
        "Equation (6)",
        lambda view: _costs(view, formula="printed"),
        Relation.EQUAL,
        one(special.delaying, 2),
        counterexample="delaying(2)",
        corrected_by=("oinc.costs",),
        **_JOBS,
    ),
    claim(
        "equation6.dispatch",
        "Dispatching by the printed sum costs no more than by the corrected one.",
        "Equation (6)",
        lambda view: _flow_at_unit_speed(view, formula="printed"),
        Relation.AT_MOST,
        one(special.wrong_site),
        counterexample="wrong_site()",
        corrected_by=("oinc.costs", "oinc.theorem1"),
        **_JOBS,
    ),
    claim(
        "equation6.certificate",
        "The costs by the printed sum make a dual point that breaks no constraint.",
        "Equation (6) and Theorem 1",
        lambda view: _violation(view, formula="printed"),
        Relation.AT_MOST,
        one(special.delaying, 3),
        counterexample="delaying(3)",
        corrected_by=("oinc.theorem1.certificate",),
        **_JOBS,
    ),
    claim(
        "late.costs",
        r"If jobs that have not been served move to where they cost less, F is $\sum_k C_{kj^*}$ "
        "less what they save as they move.",
        "Equation (6), with late binding",
        _late_costs,
        Relation.EQUAL,
        {**_FAMILY, **one(special.greedy_move)},
        **_JOBS,
    ),
    claim(
        "late.never_worse",
        "Such moves never raise the weighted flow time. Each lowers what the jobs at hand come to; "
        "those that come later may find less.",
        "Algorithm 4, with late binding",
        lambda view: _flow_at_unit_speed(view, late_binding=True),
        Relation.AT_MOST,
        one(special.greedy_move),
        counterexample="greedy_move()",
        corrected_by=("oinc.late.costs",),
        **_JOBS,
    ),
)
