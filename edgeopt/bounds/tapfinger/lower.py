"""Lower bounds on flow times, each beside what it bounds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.named import one
from edgeopt.bounds.tapfinger import counterexamples as named
from edgeopt.bounds.tapfinger.families import INSTANCES, NOISY, TASKS
from edgeopt.bounds.tapfinger.gap import METHODS
from edgeopt.bounds.tapfinger.preempted import least_preempted_flow
from edgeopt.bounds.tapfinger.statement import PLANNED, SOLVED, claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.tapfinger import TapFingerInstance, shortest_durations
from edgeopt.models.tapfinger import list_schedule, scheduling_problem, trivial_bound
from edgeopt.models.tapfinger.volume import fastest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgeopt.bounds.tapfinger.evaluation import Evaluation
    from edgeopt.online.tapfinger import TapFingerTrajectory

__all__ = ["CLAIMS"]


def _below_plans(method: str, view: Evaluation) -> Measurement:
    """Compare a bound with the best plan of all, or with those at hand."""
    value = view.below(method)
    try:
        least = view.optimum
    except NotApplicableError:
        plans = [plan.schedule for plan in view.feasible]
        if view.given is None:
            plans.append(list_schedule(view.problem))
        least = min(plan.flow_time(view.problem) for plan in plans)
    return Measurement(value, least)


def _least(runs: Iterable[TapFingerTrajectory]) -> float:
    return min((float(run.weighted_flow_time().min()) for run in runs), default=np.inf)


def _below_runs(view: Evaluation, *, preemptive: bool) -> Measurement:
    """Compare every bound with the runs of policies, and with the best run if there is no noise."""
    assert view.instance is not None
    least = _least(view.runs if preemptive else view.steady_runs)
    if preemptive:
        least = min(least, _best_run(view))
    found = (
        Measurement(bound.value, least, {"bound": bound})
        for bound in (view.bound(method, preemptive) for method in METHODS)
    )
    return worst(Relation.AT_MOST, found)


def _best_run(view: Evaluation) -> float:
    assert view.instance is not None
    try:
        return least_preempted_flow(view.instance)
    except NotApplicableError:
        return np.inf


def _fixed_bound(view: Evaluation) -> Measurement:
    """Compare the bound for policies that change nothing with a run in which bundles change."""
    assert view.instance is not None
    bound = view.bound("relaxation", preemptive=False)
    return Measurement(bound.value, least_preempted_flow(view.instance), {"bound": bound})


def _far_from_optimum(view: Evaluation) -> Measurement:
    """Compare the relaxation with each cluster by itself with that of all in one."""
    return Measurement(view.below("relaxation"), view.below("pooled"))


def _without_noise(instance: TapFingerInstance) -> Measurement:
    problem = scheduling_problem(instance, duration=shortest_durations(instance))
    return Measurement(trivial_bound(scheduling_problem(instance)), float(fastest(problem).sum()))


_FAMILY = {**TASKS, **INSTANCES}
_ALL = {**INSTANCES, **NOISY, **one(named.overtaken)}
_INSTANCE = {"instance_type": TapFingerInstance}
_WORDS = {
    "trivial": "what each takes with its fastest bundle",
    "volume": "what a machine with all clusters' units of one resource needs if it may interrupt, "
    "each task taking the fewest unit-slots that any bundle does",
    "pooled": "what prices of units and starts prove, all clusters being one",
    "relaxation": "what prices of units and starts prove, each cluster by itself",
}

CLAIMS = (
    *(
        claim(
            f"bound.{method}",
            f"Without noise and preemption tasks flow for no less than {words}.",
            "Problem (1) to (8), its lower bounds",
            partial(_below_plans, method),
            Relation.AT_MOST,
            _FAMILY,
            tolerance=SOLVED,
            **PLANNED,
        )
        for method, words in _WORDS.items()
    ),
    claim(
        "bound.order",
        "Prices of each cluster by itself prove at least as much as prices of all in one, up to "
        "the gap of 0.0001 at which the search for them stops.",
        "Problem (1) to (8), its lower bounds",
        _far_from_optimum,
        Relation.AT_LEAST,
        _FAMILY,
        tolerance=2e-4,
    ),
    claim(
        "bound.steady",
        "No policy that leaves the bundles of running tasks alone falls below its bounds, whatever "
        "the noise.",
        "Section III, lower bounds under noise",
        partial(_below_runs, preemptive=False),
        Relation.AT_MOST,
        _ALL,
        tolerance=SOLVED,
        **_INSTANCE,
    ),
    claim(
        "bound.preemptive",
        "No policy at all falls below the bounds for those that may change bundles in every slot, "
        "whatever the noise.",
        "Sections III and V-A, lower bounds with preemption",
        partial(_below_runs, preemptive=True),
        Relation.AT_MOST,
        _ALL,
        tolerance=SOLVED,
        **_INSTANCE,
    ),
    claim(
        "bound.fixed",
        "No policy falls below the bound on those that change no bundle. A long task may pause "
        "for a short one.",
        "Sections III and V-A, lower bounds with preemption",
        _fixed_bound,
        Relation.AT_MOST,
        one(named.overtaken),
        counterexample="overtaken()",
        corrected_by=("tapfinger.bound.preemptive",),
        tolerance=SOLVED,
        **_INSTANCE,
    ),
    claim(
        "bound.noise",
        "Under noise no policy falls below the bound by the durations without. Noise may be kind.",
        "Section V-B, lower bounds under noise",
        _without_noise,
        Relation.AT_MOST,
        one(named.one_gpu),
        counterexample="one_gpu()",
        corrected_by=("tapfinger.bound.steady",),
        instance_type=TapFingerInstance,
        view=lambda instance: instance,
    ),
)
