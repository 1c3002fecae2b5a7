"""Constraints and formulas that mean something else than they are used for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measured, Measurement, NotApplicableError
from edgeopt.models.edr.routing import RoutingPlan, conditions, routing_problem, solve_routing
from edgeopt_papers.claims.paper import SOLVED, named_instance
from edgeopt_papers.edr.claims import instances as named
from edgeopt_papers.edr.claims.evaluation import TASKS, Evaluation, about_requests
from edgeopt_papers.edr.claims.instances import DRAWN, STEADY
from edgeopt_papers.edr.claims.theorem1 import fractions_of
from edgeopt_papers.edr.claims.value import FEW

if TYPE_CHECKING:
    from collections.abc import Iterator


def _plans(view: Evaluation) -> Iterator[tuple[int, RoutingPlan]]:
    """Serve all slots of the first frames, without training."""
    instance = view.instance
    for frame in range(min(FEW, instance.frames)):
        shown = [conditions(instance, frame, slot) for slot in range(instance.slots)]
        price = float(instance.price[frame])
        cap = float(instance.cap[frame])
        yield frame, solve_routing(routing_problem(instance, shown, price=price, budget=cap))


def _spare_capacity(view: Evaluation) -> np.ndarray:
    """Capacity less load of every single route, over all frames."""
    spare = [
        view.instance.capacity[plan.problem.site] - plan.flow * plan.problem.work[plan.problem.type]
        for _, plan in _plans(view)
    ]
    routes = np.concatenate(spare)
    if routes.size == 0:
        raise NotApplicableError("there are no requests")
    return routes


def _h2(view: Evaluation) -> Measurement:
    return Measurement(_spare_capacity(view).min(), 0.0, size=float(view.instance.capacity.max()))


def _h2_as_published(view: Evaluation) -> Measurement:
    return Measurement(-_spare_capacity(view).max(), 0.0, size=float(view.instance.capacity.max()))


def _spent(view: Evaluation, known: str) -> Iterator[Measurement]:
    """Find the outcome of rounding whose energy, less reported excess, is most above the cap.

    The budget of a slot counts the rounds that are trained, or the fractional ones.
    """
    instance = view.instance
    for t, frame in fractions_of(view):
        if not np.isfinite(instance.cap[t]):
            continue
        for outcome in frame.distribution("bernoulli"):
            rounds = [float(z) for z in outcome]
            trained = float(instance.round_energy[t] @ rounds)
            counted = rounds if known == "rounds" else [float(x) for x in frame.rounds]
            served = view.serving.slot_by_slot(t, counted)
            energy = trained + served.energy - sum(plan.excess for plan in served.plans)
            yield Measurement(energy, float(instance.cap[t]), {"frame": t})


def _unserved_work(view: Evaluation) -> Measured:
    """Compare the work of unserved requests with what able sites cannot do, slot by slot."""
    instance, found = view.instance, []
    able = instance.capable.any(axis=1)
    for _, plan in _plans(view):
        lost = plan.unserved.sum(axis=1) @ plan.problem.work
        demand = plan.problem.demand.sum(axis=1) @ plan.problem.work
        able_to = float(instance.capacity[able].sum())
        found += [
            Measurement(a, b - able_to, size=float(b + able_to))
            for a, b in zip(lost, demand, strict=True)
        ]
    return found


def _unserved(view: Evaluation) -> Measurement:
    """Give every site the capacity that its own requests need at most."""
    instance = view.instance
    local = (instance.requests @ instance.request_work).max(axis=(0, 1))
    other = instance.replace(capacity=local)
    from edgeopt_papers.edr.claims.evaluation import Evaluation

    lost = sum(float(plan.unserved.sum()) for _, plan in _plans(Evaluation(other)))
    return Measurement(lost, 0.0, size=float(instance.requests.sum()))


def _compliance(view: Evaluation) -> Measurement:
    """Share of the served requests that meet their objective, whatever is decided."""
    met, all_served = 0.0, 0.0
    for frame, plan in _plans(view):
        limit = view.instance.slo[frame][plan.problem.slot, plan.problem.type]
        met += float(plan.flow[plan.problem.seconds <= limit].sum())
        all_served += float(plan.flow.sum())
    if all_served == 0:
        raise NotApplicableError("no request is served")
    return Measurement(met / all_served, 1.0)


_DEAR = named_instance(named.dear_requests)

CLAIMS = (
    about_requests("h2", _h2, (_DEAR, STEADY, DRAWN)),
    about_requests("h2.published", _h2_as_published, _DEAR),
    about_requests(
        "equation8",
        lambda view: _spent(view, "rounds"),
        (named.rounded_up, STEADY, DRAWN),
        assumptions=(TASKS,),
        tolerance=SOLVED,
    ),
    about_requests(
        "equation8.published",
        lambda view: _spent(view, "fractions"),
        named.rounded_up,
        assumptions=(TASKS,),
        tolerance=SOLVED,
    ),
    about_requests(
        "capacity", _unserved_work, (named.local_peaks, STEADY, DRAWN), tolerance=SOLVED
    ),
    about_requests("capacity.published", _unserved, named.local_peaks, tolerance=SOLVED),
    about_requests("compliance", _compliance, (STEADY, DRAWN)),
)
