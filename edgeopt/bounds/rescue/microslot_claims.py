"""Theorem 1 for independent arrivals: the variant that orders the tasks within a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.named import one
from edgeopt.bounds.rescue import counterexamples
from edgeopt.bounds.rescue.assumptions import INDEPENDENT as INDEPENDENT_ARRIVALS
from edgeopt.bounds.rescue.families import INDEPENDENT
from edgeopt.bounds.rescue.statement import EXACT, claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = ["CLAIMS"]


def _half(view: Evaluation) -> Measurement:
    earned = view.microslot_earned
    return view.against_bound(earned.sum(), {"earned": earned})


def _value(view: Evaluation) -> Measurement:
    start = view.by_turn.baseline[:, 0]
    proof = {"earned": view.microslot_earned, "baseline": view.by_turn.baseline}
    return Measurement(view.microslot_earned.sum(), start.sum(), proof)


def _occupancy(view: Evaluation) -> Measurement:
    return _share(view, view.microslot_occupancy.max(axis=(1, 2)))


def _slot_occupancy(view: Evaluation) -> Measurement:
    return _share(view, view.occupancy.max(axis=1))


def _share(view: Evaluation, occupied: np.ndarray) -> Measurement:
    promised = float(np.sum(view.planned_profit / (1 + occupied)))
    proof = {
        "earned": view.microslot_earned,
        "planned_profit": view.planned_profit,
        "largest_occupation": occupied,
    }
    return Measurement(view.microslot_earned.sum(), promised, proof)


CLAIMS = (
    claim(
        "microslot",
        r"With independent arrivals, accepting iff $\mathcal{A}_{ikl}(t) > M_k(t, i+1)$ in the "
        r"turn of device i earns at least $\frac12 \mathrm{OPT}(LP)$.",
        "Theorem 1, for independent arrivals",
        _half,
        Relation.AT_LEAST,
        INDEPENDENT,
        assumptions=(INDEPENDENT_ARRIVALS,),
    ),
    claim(
        "microslot.value",
        r"With independent arrivals the micro-slot variant earns $\sum_k M_k(1, 1)$.",
        "equation (10), for independent arrivals",
        _value,
        Relation.EQUAL,
        INDEPENDENT,
        assumptions=(INDEPENDENT_ARRIVALS,),
        tolerance=EXACT,
    ),
    claim(
        "microslot.occupancy",
        r"With independent arrivals the micro-slot variant earns at least "
        r"$\sum_k V_k / (1 + \max_{t,i} u_k(t, i))$, where $u_k(t, i)$ adds to the planned "
        "occupation by earlier slots what the devices before i plan in slot t.",
        "Theorem 1, sharpened for independent arrivals",
        _occupancy,
        Relation.AT_LEAST,
        INDEPENDENT,
        assumptions=(INDEPENDENT_ARRIVALS,),
    ),
    claim(
        "microslot.occupancy.by_slot",
        r"With independent arrivals the micro-slot variant earns at least "
        r"$\sum_k V_k / (1 + \max_t u_k(t))$, the occupation counted by slots alone.",
        "Theorem 1, sharpened too far",
        _slot_occupancy,
        Relation.AT_LEAST,
        one(counterexamples.contested_slot),
        assumptions=(INDEPENDENT_ARRIVALS,),
        counterexample="contested_slot()",
        corrected_by=("rescue.microslot.occupancy",),
    ),
)
