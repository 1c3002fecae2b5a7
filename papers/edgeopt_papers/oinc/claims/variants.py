"""Algorithm 4 as printed, and with wasted slots: what becomes of Theorem 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt_papers.claims.paper import named_instance
from edgeopt_papers.oinc.claims import problems as named_problems
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
        run: Any = view.run(epsilon, late_binding=True)
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
        lambda view: costs_in_sum(view, serve="argmin"),
        named_problems.two_densities,
    ),
    about_jobs(
        "sequence.competitive",
        lambda view: ratio(view, serve="argmin"),
        named_instance(named_problems.light_and_long, 10),
    ),
    about_jobs(
        "equation6.published",
        lambda view: costs_in_sum(view, formula="published"),
        named_instance(named_problems.delaying, 2),
    ),
    about_jobs(
        "equation6.dispatch",
        lambda view: _flow_at_unit_speed(view, formula="published"),
        named_problems.wrong_site,
    ),
    about_jobs(
        "equation6.certificate",
        lambda view: violation_in_time(view, formula="published"),
        named_instance(named_problems.delaying, 3),
    ),
    about_jobs("late.costs", _late_costs, (ALL_JOBS, named_problems.greedy_move)),
    about_jobs(
        "late.never_worse",
        lambda view: _flow_at_unit_speed(view, late_binding=True),
        named_problems.greedy_move,
    ),
    about_jobs(
        "waste.costs",
        lambda view: costs_in_sum(view, service="slot"),
        named_instance(named_problems.short_jobs, 1),
    ),
    about_jobs(
        "waste.published",
        lambda view: ratio_to_program(view, service="slot"),
        named_instance(named_problems.short_jobs, 10),
    ),
    about_jobs("waste.speed", _augmented, named_instance(named_problems.short_jobs, 1, 1.0)),
    about_jobs(
        "fluid.speed",
        _augmented_fluid,
        (NAMED_JOBS, named_instance(named_problems.short_jobs, 1, 1.0)),
    ),
    about_jobs("waste.whole", _whole_slots, ALL_JOBS),
    about_jobs("completion.published", _unserved, named_problems.in_turn),
    about_jobs(
        "completion.algorithm", _last_slot, named_instance(named_problems.short_jobs, 1, 1.0)
    ),
)
