"""Routing in parts with one price of energy: clusters of sites, and slots of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.edr.families import DRAWN, STEADY, one
from edgeopt.bounds.edr.planned import Planned
from edgeopt.bounds.edr.statement import SOLVED, claim
from edgeopt.bounds.edr.value import FEW, compared, frame_problem
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.edr import EdrInstance, special
from edgeopt.models.edr.clusters import cluster_sites, site_distance, solve_clusters, solve_frame
from edgeopt.models.edr.routing import solve_routing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.bounds.edr.evaluation import Evaluation
    from edgeopt.models.edr.routing import RoutingProblem

__all__ = ["CLAIMS"]

HALVINGS = 60
"""Halvings of the interval of prices; the plans on both sides do not change any more."""


def _problems(view: Evaluation) -> Iterator[RoutingProblem]:
    for frame in range(min(FEW, view.instance.frames)):
        yield frame_problem(view, frame, "even")


def _clustered(view: Evaluation) -> Measurement:
    """Compare the cost within clusters of two sites with the cost without clusters."""
    label = cluster_sites(site_distance(view.instance), size=2)
    return worst(
        Relation.AT_LEAST,
        (
            compared(solve_clusters(problem, label).objective, solve_routing(problem))
            for problem in _problems(view)
        ),
    )


def _clustered_apart(view: Evaluation) -> Measurement:
    """Do the same for the clusters that the best plan itself falls into."""
    found = []
    for problem in _problems(view):
        best = solve_routing(problem)
        label = np.arange(problem.sites)
        used = best.flow > 1e-9 * problem.demand.max(initial=0.0)
        pairs = set(zip(problem.origin[used].tolist(), problem.site[used].tolist(), strict=True))
        for here, there in sorted(pairs):
            label[label == label[there]] = label[here]
        if len(set(label.tolist())) > 1:
            clustered = solve_clusters(problem, label)
            found.append(compared(clustered.objective, best))
    if not found:
        raise NotApplicableError("the best plans do not fall apart")
    return worst(Relation.EQUAL, found)


def _mixed(view: Evaluation) -> Measurement:
    """Compare slots with one price, both sides of it mixed, with all slots in one program."""
    return worst(
        Relation.EQUAL,
        (
            compared(solve_frame(problem, budget="price").objective, solve_routing(problem))
            for problem in _problems(view)
        ),
    )


def _one_side(view: Evaluation) -> Measurement:
    """Compare the plan at the least price that keeps the budget with the best plan."""
    found = []
    for problem in _problems(view):
        best = solve_routing(problem)
        if best.excess > 0 or best.unserved.sum() > 0 or np.isinf(problem.budget):
            continue
        free = problem.replace(budget=np.inf)
        low, high = 0.0, best.penalties.excess
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            kept = solve_routing(free.with_price(middle)).energy <= problem.budget
            low, high = (low, middle) if kept else (middle, high)
        plan = solve_routing(free.with_price(high))
        cost = float(plan.flow @ problem.cost)
        found.append(Measurement(cost, best.cost, {"price": high}, size=best.size))
    return worst(Relation.EQUAL, found)


_INSTANCES = {"instance_type": (EdrInstance, Planned), "tolerance": 10 * SOLVED}

CLAIMS = (
    claim(
        "clusters",
        "Serving within clusters costs at least as much as without them.",
        "Section 3.7",
        _clustered,
        Relation.AT_LEAST,
        {**DRAWN, **STEADY},
        **_INSTANCES,
    ),
    claim(
        "clusters.apart",
        "Serving within clusters costs the same if a best plan has no flow between them.",
        "Section 3.7",
        _clustered_apart,
        Relation.EQUAL,
        {**DRAWN, **STEADY},
        **_INSTANCES,
    ),
    claim(
        "price.mix",
        "With one price of energy for all slots of a frame, the mix of the plans just below and "
        "just above it that meets the budget is optimal for the frame.",
        "Section 3.7, with a common price",
        _mixed,
        Relation.EQUAL,
        {**one(special.mixed_price), **DRAWN, **STEADY},
        **_INSTANCES,
    ),
    claim(
        "price.one_side",
        "With one price of energy for all slots of a frame, the plan at the least price that keeps "
        "the budget is optimal for the frame.",
        "Section 3.7, with a common price",
        _one_side,
        Relation.EQUAL,
        one(special.mixed_price),
        counterexample="mixed_price()",
        corrected_by=("edr.price.mix",),
        **_INSTANCES,
    ),
)
