"""Algorithm 4 as printed, and with wasted slots: what becomes of Theorem 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.verdict import Relation
from edgeopt.models.oinc import named as named_instances
from edgeopt_papers.claims.paper import one
from edgeopt_papers.oinc.claims.evaluation import Evaluation, about_jobs
from edgeopt_papers.oinc.claims.instances import ALL_JOBS, NAMED_JOBS
from edgeopt_papers.oinc.claims.theorem1 import (
    costs_in_sum,
    ratio,
    ratio_to_program,
    violation_in_time,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def _late_costs(view: Evaluation) -> Iterator[Measurement]:
    """Compare the weighted flow time with the costs less what moves save."""
    for epsilon in (0.0, *view.epsilons):
        run = view.run(epsilon, late_binding=True)
        saved = float(run.cost.sum() - run.saved.sum())
        yield Measurement(run.weighted_flow, saved, {"epsilon": epsilon})


def _flow_at_unit_speed(view: Evaluation, **how: Any) -> Measurement:
    return Measurement(
        view.run(0.0, **how).weighted_flow, view.run(0.0).weighted_flow, {"run": view.run(0.0)}
    )


def _augmented(view: Evaluation) -> Measurement:
    """Compare the fastest run that wastes the rest of slots with the slowest."""
    fastest = view.run(max(view.epsilons), service="slot").weighted_flow
    slowest = view.run(0.0, service="slot").weighted_flow
    return Measurement(fastest, slowest / (1.0 + max(view.epsilons)))


def _augmented_fluid(view: Evaluation) -> Measurement:
    """Compare the same runs where the next job uses the rest, with everything there at once."""
    if view.problem.arrival.any():
        raise NotApplicableError("jobs that arrive later do not come faster")
    fastest = view.run(max(view.epsilons)).weighted_flow
    return Measurement(fastest, view.run(0.0).weighted_flow / (1.0 + max(view.epsilons)))


def _whole_slots(view: Evaluation) -> Iterator[Measurement]:
    """Compare both services where every duration is whole at the speed of the sites."""
    for epsilon in (0.0, *view.epsilons):
        time = view.problem.duration[np.isfinite(view.problem.duration)] / (1.0 + epsilon)
        if (time == np.round(time)).all():
            run = view.run(epsilon, service="slot")
            yield Measurement(run.weighted_flow, view.run(epsilon).weighted_flow)


def _unserved(view: Evaluation) -> Iterator[Measurement]:
    """Take for completion the first slot after its arrival that does nothing for a job."""
    runs, completion = view.run(0.0).runs, view.run(0.0).completion
    for k, arrival in enumerate(view.problem.arrival.tolist()):
        slot = arrival + 1
        while ((runs.job == k) & (runs.begin < slot + 1) & (runs.end > slot)).any():
            slot += 1
        yield Measurement(slot, completion[k], {"job": k})


def _last_slot(view: Evaluation) -> Measurement:
    """Take for completion the number of the last slot in which a job is served."""
    run = view.run(0.0, service="slot")
    if run.completion.size == 0:
        raise NotApplicableError("there is no job")
    k = int(np.argmax(run.completion))
    return Measurement(run.completion[k] - 1.0, run.completion[k], {"job": k})


CLAIMS = (
    about_jobs(
        "sequence.published",
        r"$F = \sum_k C_{kj^*}$ if the job of least density is served, as printed.",
        "Algorithm 4, line 6",
        lambda view: costs_in_sum(view, serve="argmin"),
        Relation.EQUAL,
        one(named_instances.two_densities),
        corrected_by=("oinc.costs",),
    ),
    about_jobs(
        "sequence.competitive",
        r"F is at most $2 / \epsilon$ times the weighted flow time of any schedule at unit speed, "
        r"$\epsilon \le 1$, if the job of least density is served, as printed. No factor does: it "
        "grows with the length of the light job.",
        "Algorithm 4, line 6, and Theorem 1",
        lambda view: ratio(view, serve="argmin"),
        Relation.AT_MOST,
        one(named_instances.light_and_long, 10),
        corrected_by=("oinc.theorem1",),
    ),
    about_jobs(
        "equation6.published",
        r"$F = \sum_k C_{kj^*}$ with $\sum_{Q^2} l_{k'} h_{k'j}$ as the third sum, as printed. But "
        r"a job that goes ahead delays each of the others by its own length, $h_{kj} \sum_{Q^2} "
        r"l_{k'}$.",
        "Equation (6)",
        lambda view: costs_in_sum(view, formula="published"),
        Relation.EQUAL,
        one(named_instances.delaying, 2),
        corrected_by=("oinc.costs",),
    ),
    about_jobs(
        "equation6.dispatch",
        "Dispatching by the printed sum costs no more than by the corrected one.",
        "Equation (6)",
        lambda view: _flow_at_unit_speed(view, formula="published"),
        Relation.AT_MOST,
        one(named_instances.wrong_site),
        corrected_by=("oinc.costs", "oinc.theorem1"),
    ),
    about_jobs(
        "equation6.certificate",
        "The costs by the printed sum make a dual point that breaks no constraint.",
        "Equation (6) and Theorem 1",
        lambda view: violation_in_time(view, formula="published"),
        Relation.AT_MOST,
        one(named_instances.delaying, 3),
        corrected_by=("oinc.theorem1.certificate",),
    ),
    about_jobs(
        "late.costs",
        r"If jobs that have not been served move to where they cost less, F is $\sum_k C_{kj^*}$ "
        "less what they save as they move.",
        "Equation (6), with late binding",
        _late_costs,
        Relation.EQUAL,
        {**ALL_JOBS, **one(named_instances.greedy_move)},
    ),
    about_jobs(
        "late.never_worse",
        "Late binding never raises the weighted flow time. Each move lowers that of the jobs at "
        "hand, but it may raise that of jobs which arrive later.",
        "Algorithm 4, with late binding",
        lambda view: _flow_at_unit_speed(view, late_binding=True),
        Relation.AT_MOST,
        one(named_instances.greedy_move),
        corrected_by=("oinc.late.costs",),
    ),
    about_jobs(
        "waste.costs",
        r"$F = \sum_k C_{kj^*}$ if a site serves one job in a slot and wastes the rest, as "
        "published.",
        "Algorithm 4, lines 5 to 9",
        lambda view: costs_in_sum(view, service="slot"),
        Relation.EQUAL,
        one(named_instances.short_jobs, 1),
        corrected_by=("oinc.costs", "oinc.waste.whole"),
    ),
    about_jobs(
        "waste.published",
        r"F is at most $2 / \epsilon$ times the optimum of P1, the time of a slot counted from its "
        r"middle, $\epsilon \le 1$, if a site serves one job in a slot and wastes the rest, as "
        "printed. No factor does: it grows with the number of short jobs.",
        "Algorithm 4, lines 5 to 9, and Theorem 1",
        lambda view: ratio_to_program(view, service="slot"),
        Relation.AT_MOST,
        one(named_instances.short_jobs, 10),
        corrected_by=("oinc.theorem1.program", "oinc.waste.whole"),
    ),
    about_jobs(
        "waste.speed",
        r"At speed $1 + \epsilon$ jobs that are there at once flow for $1 / (1 + \epsilon)$ of the "
        "time if a site serves one job in a slot and wastes the rest.",
        "Algorithm 4, lines 5 to 9, and Theorem 1",
        _augmented,
        Relation.AT_MOST,
        one(named_instances.short_jobs, 1, 1.0),
        corrected_by=("oinc.fluid.speed",),
    ),
    about_jobs(
        "fluid.speed",
        r"At speed $1 + \epsilon$ jobs that are there at once flow for $1 / (1 + \epsilon)$ of the "
        "time if the next job uses what one leaves of a slot.",
        "Theorem 1",
        _augmented_fluid,
        Relation.EQUAL,
        {**NAMED_JOBS, **one(named_instances.short_jobs, 1, 1.0)},
    ),
    about_jobs(
        "waste.whole",
        "Nothing is wasted where every duration is a whole number of slots at the speed of the "
        "sites.",
        "Algorithm 4, lines 5 to 9",
        _whole_slots,
        Relation.EQUAL,
        ALL_JOBS,
    ),
    about_jobs(
        "completion.published",
        r"A job is complete at $b_k = \arg\min_{t > a_k} (\sum_j x_{kj}^t u_{kj}^t f_j \le 0)$, "
        "the first slot after its arrival that does nothing for it. It may still have to wait.",
        "Section III-C",
        _unserved,
        Relation.EQUAL,
        one(named_instances.in_turn),
        corrected_by=("oinc.costs", "oinc.theorem1.value"),
    ),
    about_jobs(
        "completion.algorithm",
        "A job is complete at $b_k = t$, the number of the last slot that serves it. That slot "
        "ends at t + 1.",
        "Algorithm 4, line 10",
        _last_slot,
        Relation.EQUAL,
        one(named_instances.short_jobs, 1, 1.0),
        corrected_by=("oinc.costs", "oinc.waste.whole"),
    ),
)
