"""Theorem 2 on a gamble of two slots, and tasks of a slot that take turns."""

from __future__ import annotations

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.online.rescue import Rescue, policy_value
from edgeopt_papers.rescue.claims import instances as named
from edgeopt_papers.rescue.claims.assumptions import INDEPENDENT as INDEPENDENT_ARRIVALS
from edgeopt_papers.rescue.claims.assumptions import TWO_SLOT_GAMBLE, gamble_probability
from edgeopt_papers.rescue.claims.evaluation import EXACT, Evaluation, claim
from edgeopt_papers.rescue.claims.instances import INDEPENDENT, TIGHT


def _epsilon(view: Evaluation) -> float:
    epsilon = gamble_probability(view.instance)
    if epsilon is None:
        raise AssertionError("the assumption of the claim was not tested")
    return epsilon


def _kept(view: Evaluation) -> tuple[float, dict[str, float]]:
    """Return what the best policy keeps of the offline optimum, that of the package among them."""
    best = max(view.online, policy_value(view.instance, Rescue(plan=view.plan)))
    return best / view.offline, {"online_optimum": view.online, "offline_optimum": view.offline}


def _against_offline(view: Evaluation) -> Measurement:
    ratio, proof = _kept(view)
    return Measurement(ratio, 1 / (2 - _epsilon(view)), proof)


def _against_plan(view: Evaluation) -> Measurement:
    proof = {"online_optimum": view.online, "bound": view.plan.bound}
    return Measurement(view.online / view.plan.bound, 1 / (2 - _epsilon(view)), proof)


def _as_published(view: Evaluation) -> Measurement:
    ratio, proof = _kept(view)
    return Measurement(ratio, 0.5 - _epsilon(view), proof)


def _algorithm(view: Evaluation) -> Measurement:
    ratio = view.earned.sum() / view.plan.bound
    return Measurement(ratio, 1 / (2 - _epsilon(view)), {"earned": view.earned})


def _half(view: Evaluation) -> Measurement:
    earned = view.microslot_earned
    return view.against_bound(earned.sum(), {"earned": earned})


def _value(view: Evaluation) -> Measurement:
    start = view.by_turn.baseline[:, 0]
    proof = {"earned": view.microslot_earned, "baseline": view.by_turn.baseline}
    return Measurement(view.microslot_earned.sum(), start.sum(), proof)


def _share(view: Evaluation, occupied: np.ndarray) -> Measurement:
    promised = float(np.sum(view.planned_profit / (1 + occupied)))
    proof = {
        "earned": view.microslot_earned,
        "planned_profit": view.planned_profit,
        "largest_occupation": occupied,
    }
    return Measurement(view.microslot_earned.sum(), promised, proof)


CLAIMS = (
    claim("theorem2", _against_offline, TIGHT, assumptions=(TWO_SLOT_GAMBLE,), tolerance=EXACT),
    claim("theorem2.plan", _against_plan, TIGHT, assumptions=(TWO_SLOT_GAMBLE,)),
    claim("theorem2.algorithm", _algorithm, TIGHT, assumptions=(TWO_SLOT_GAMBLE,)),
    claim(
        "theorem2.published",
        _as_published,
        TIGHT,
        assumptions=(TWO_SLOT_GAMBLE,),
        counterexample="tight(0.1)",
    ),
    claim("microslot", _half, INDEPENDENT, assumptions=(INDEPENDENT_ARRIVALS,)),
    claim(
        "microslot.value", _value, INDEPENDENT, assumptions=(INDEPENDENT_ARRIVALS,), tolerance=EXACT
    ),
    claim(
        "microslot.occupancy",
        lambda view: _share(view, view.microslot_occupancy.max(axis=(1, 2))),
        INDEPENDENT,
        assumptions=(INDEPENDENT_ARRIVALS,),
    ),
    claim(
        "microslot.occupancy.by_slot",
        lambda view: _share(view, view.occupancy.max(axis=1)),
        named.contested_slot,
        assumptions=(INDEPENDENT_ARRIVALS,),
    ),
)
