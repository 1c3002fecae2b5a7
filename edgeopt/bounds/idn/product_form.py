"""The product form that stands between the gain and its expectation under rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, worst
from edgeopt.bounds.idn import counterexamples
from edgeopt.bounds.idn.assumptions import COVERED, WHOLE
from edgeopt.bounds.idn.evaluation import NOISE, Evaluation, alike
from edgeopt.bounds.idn.families import DRAWN
from edgeopt.bounds.idn.statement import claim
from edgeopt.bounds.named import one
from edgeopt.bounds.regret import PSI
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.bounds.idn.slot import Slot

__all__ = [
    "CLAIMS",
]


def _near(measured: float, guaranteed: float, scale: float) -> float:
    return guaranteed if abs(measured - guaranteed) <= NOISE * scale else measured


def _sandwich(
    view: Evaluation,
    gain: Callable[[Slot, NDArray[np.float64]], NDArray[np.float64]],
    bounding: Callable[[Slot, NDArray[np.float64]], NDArray[np.float64]],
) -> Measurement:
    """Return the smallest room in Lambda <= G <= Lambda / psi, as an excess over 0."""
    found = []
    for slot in view.slots:
        scale = sum(kind.cost[-1] * kind.requests for kind in slot.types)
        g, product = gain(slot, view.allocations), bounding(slot, view.allocations)
        excess = np.maximum(product - g, g - product / PSI)
        row = int(np.argmax(excess))
        largest = _near(float(excess[row]), 0.0, scale)
        proof = {"gain": g[row], "bounding": product[row], "allocation": row}
        found.append(Measurement(largest, 0.0, proof))
    return worst(Relation.AT_MOST, found)


def _printed(view: Evaluation) -> Measurement:
    return _sandwich(view, lambda slot, x: slot.ranked(x), lambda slot, x: slot.bounding(x))


def _capped(view: Evaluation) -> Measurement:
    """Caps leave the gain of whole models as it is; elsewhere they belong to the statement."""

    def gain(slot: Slot, x: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = np.isin(x, (0, 1)).all(axis=1)
        return np.where(whole, slot.ranked(x), slot.capped(x))

    return _sandwich(view, gain, lambda slot, x: slot.capped_bounding(x))


def _capped_is_gain(view: Evaluation) -> Measurement:
    whole = view.integral.reshape(len(view.integral), -1)
    whole = whole[((whole == 0) | (whole == 1)).all(axis=1)]
    return worst(
        Relation.EQUAL,
        (
            alike(
                slot.capped(whole),
                slot.ranked(whole),
                sum(kind.cost[-1] * kind.requests for kind in slot.types),
            )
            for slot in view.slots
        ),
    )


CLAIMS = (
    claim(
        "lemma_f9",
        r"$\Lambda \le G \le \Lambda / (1 - 1/e)$ when every repository model can serve "
        "everything; the larger excess is measured.",
        "Lemma F.9",
        _printed,
        Relation.AT_MOST,
        DRAWN,
        assumptions=(WHOLE,),
    ),
    claim(
        "lemma_f9.capped",
        r"$\Lambda \le G \le \Lambda / (1 - 1/e)$ when repositories together can serve everything, "
        r"with every capacity capped at what the rank still needs, $r - Z^k(\omega)$, in both.",
        "Lemma F.9, repaired",
        _capped,
        Relation.AT_MOST,
        {
            **DRAWN,
            **one(counterexamples.two_half_repositories),
            **one(counterexamples.cheap_half_repository),
        },
        assumptions=(COVERED,),
    ),
    claim(
        "capped_gain",
        r"Capping every capacity at $r - Z^k(\omega)$ leaves the gain of whole models as it is.",
        "Lemma F.9, repaired",
        _capped_is_gain,
        Relation.EQUAL,
        {
            **DRAWN,
            **one(counterexamples.two_half_repositories),
            **one(counterexamples.cheap_half_repository),
        },
        assumptions=(COVERED,),
    ),
    claim(
        "lemma_f9.printed",
        r"$\Lambda \le G \le \Lambda / (1 - 1/e)$ as soon as repositories together can serve "
        r"everything, as (9) asks; the bounding function ignores ranks behind a partial one.",
        "Lemma F.9",
        _printed,
        Relation.AT_MOST,
        one(counterexamples.cheap_half_repository),
        assumptions=(COVERED,),
        counterexample="cheap_half_repository()",
        corrected_by=("idn.lemma_f9", "idn.lemma_f9.capped"),
    ),
)
