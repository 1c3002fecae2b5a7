"""Routing slot by slot with one price of energy for all slots of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, worst
from edgeopt.bounds.edr.families import DRAWN, STEADY
from edgeopt.bounds.edr.planned import Planned
from edgeopt.bounds.edr.statement import SOLVED, claim
from edgeopt.bounds.edr.value import FEW, frame_problem
from edgeopt.bounds.named import one
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.edr import EdrInstance, special
from edgeopt.models.edr.routing import dual_bound, solve_frame, solve_routing

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


def _mixed(view: Evaluation) -> Measurement:
    """Compare slots with one price, both sides of it mixed, with what that price proves."""
    found = []
    for problem in _problems(view):
        plan = solve_frame(problem, budget="price")
        proven = dual_bound(problem, plan.prices, plan.penalties)
        found.append(Measurement(plan.objective, proven, size=plan.size))
    return worst(Relation.EQUAL, found)


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
