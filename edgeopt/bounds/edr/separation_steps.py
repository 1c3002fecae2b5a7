"""Single steps of the proof of Lemma 5: what is counted once, and what has a price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.edr import counterexamples
from edgeopt.bounds.edr.assumptions import AFFORDABLE, CAPPED, PRICED
from edgeopt.bounds.edr.families import DRAWN, STEADY
from edgeopt.bounds.edr.separation import parts
from edgeopt.bounds.edr.serving import require_whole
from edgeopt.bounds.edr.statement import SOLVED, claim
from edgeopt.bounds.named import one
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.edr import special

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.bounds.edr.evaluation import Evaluation
    from edgeopt.instances.edr import EdrInstance

__all__ = ["BOUNDED", "CAPPED_FAMILY", "CLAIMS", "SEPARATE_FAMILY"]

BOUNDED = (PRICED, AFFORDABLE, CAPPED)
"""What the constants of Lemma 5 assume."""

CAPPED_FAMILY: dict[str, Callable[[], Any]] = {
    **one(special.lemma5),
    **one(special.theorem3),
    **one(counterexamples.dear_requests),
    **one(counterexamples.cheap_requests),
    **STEADY,
    **DRAWN,
}
"""Instances with caps in all or some frames."""

SEPARATE_FAMILY = {**CAPPED_FAMILY, **one(counterexamples.alternating_price, 16)}
"""Instances on which training and serving apart is compared with both together."""


def _served_energy(view: Evaluation) -> float:
    """Cost of the energy of the requests, served together beside the even rates."""
    total = 0.0
    for t in range(view.problem.frames):
        found = require_whole(view.serving.together(t, view.problem.rate[t]), t)
        total += found.price * found.energy
    return total


def _all_slots(instance: EdrInstance) -> int:
    return instance.frames * instance.slots * instance.sites


def _equation55(view: Evaluation, printed: bool) -> Measurement:
    most = parts(view.instance)
    each = most.serving_energy if printed else most.serving_energy_priced
    return Measurement(_served_energy(view), each * _all_slots(view.instance))


def _equation57(view: Evaluation, printed: bool) -> Measurement:
    least = parts(view.instance)
    each = least.asked_energy if printed else least.asked_energy_priced
    return Measurement(_served_energy(view), each * _all_slots(view.instance) * view.instance.types)


CLAIMS = (
    claim(
        "equation55",
        r"$\sum r d y \le T D J \max_t r^t \max_{kn} (d_{kn} C_k) / \min_n S_n$, energy at its "
        "price.",
        "Lemma 5, proof, equation (55), corrected",
        lambda view: _equation55(view, printed=False),
        Relation.AT_MOST,
        CAPPED_FAMILY,
        assumptions=BOUNDED,
        tolerance=SOLVED,
    ),
    claim(
        "equation55.printed",
        r"$\sum r d y \le T D J \max_{kn} (d_{kn} C_k) / \min_n S_n$, where the proof forgets that "
        "a cost of energy has a price.",
        "Lemma 5, proof, equations (49) and (55)",
        lambda view: _equation55(view, printed=True),
        Relation.AT_MOST,
        one(counterexamples.dear_requests),
        assumptions=BOUNDED,
        tolerance=SOLVED,
        counterexample="dear_requests()",
        corrected_by=("edr.equation55",),
    ),
    claim(
        "equation57",
        r"$\sum r d y^* \ge T D N J \min (r d w)$, energy at its price.",
        "Lemma 5, proof, equation (57), corrected",
        lambda view: _equation57(view, printed=False),
        Relation.AT_LEAST,
        CAPPED_FAMILY,
        assumptions=BOUNDED,
        tolerance=SOLVED,
    ),
    claim(
        "equation57.printed",
        r"$\sum r d y^* \ge T D N J \min (d w)$, where the proof forgets the price.",
        "Lemma 5, proof, equations (49) and (57)",
        lambda view: _equation57(view, printed=True),
        Relation.AT_LEAST,
        one(counterexamples.cheap_requests),
        assumptions=BOUNDED,
        tolerance=SOLVED,
        counterexample="cheap_requests()",
        corrected_by=("edr.equation57",),
    ),
)
