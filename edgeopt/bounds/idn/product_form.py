"""The product form that stands between the gain and its expectation under rounding."""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption, Measurement, worst
from edgeopt.bounds.idn import counterexamples
from edgeopt.bounds.idn.adversary import Adversary
from edgeopt.bounds.idn.assumptions import COVERED, IN_SET, WHOLE
from edgeopt.bounds.idn.evaluation import NOISE, Evaluation, alike
from edgeopt.bounds.idn.families import DRAWN
from edgeopt.bounds.idn.statement import claim
from edgeopt.bounds.named import one
from edgeopt.bounds.regret import PSI
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.idn import IdnInstance

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.bounds.idn.slot import Slot

__all__ = ["CLAIMS", "BudgetAdditive", "large_weight"]


@dataclass(frozen=True)
class BudgetAdditive:
    r"""A budget-additive function :math:`\min\{c, \sum_i x_i q_i\}` of a random set.

    Parameters
    ----------
    share
        Probability :math:`y_i` of each element.
    weight
        Weight :math:`q_i` of each element.
    cap
        Cap c, positive.
    """

    share: tuple[float, ...]
    weight: tuple[float, ...]
    cap: float

    def fingerprint(self) -> str:
        """Return a hash of the numbers."""
        text = repr((self.share, self.weight, self.cap))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def fractional(self) -> float:
        r""":math:`\min\{c, \sum y q\}`."""
        return min(self.cap, math.fsum(np.multiply(self.share, self.weight)))

    @property
    def product(self) -> float:
        r""":math:`c - c \prod (1 - y q / c)`."""
        return self.cap * (1 - math.prod(1 - np.multiply(self.share, self.weight) / self.cap))

    @property
    def expected(self) -> float:
        """Expectation when every element is drawn by itself."""
        total = 0.0
        for taken in itertools.product([False, True], repeat=len(self.share)):
            chance = math.prod(y if x else 1 - y for x, y in zip(taken, self.share, strict=True))
            total += chance * min(self.cap, float(np.dot(taken, self.weight)))
        return total


@cache
def large_weight() -> BudgetAdditive:
    """One element of weight 10 under a cap of 1, taken with probability 0.1.

    The fractional value is min(1, 0.1 x 10) = 1, the expectation 0.1 x min(1, 10) = 0.1.
    """
    return BudgetAdditive((0.1,), (10.0,), 1.0)


def _cases(given: IdnInstance | Adversary | BudgetAdditive) -> list[BudgetAdditive]:
    """Read one case off every type, slot and allocation of a network, at its middle rank."""
    if isinstance(given, BudgetAdditive):
        return [given]
    view, cases = Evaluation(given), []
    for slot, y in itertools.product(view.slots, view.fractional):
        for kind in slot.types:
            if kind.requests > 0:
                upto = slice(0, (len(kind.cell) + 1) // 2)
                share, weight = y.ravel()[kind.cell[upto]], kind.potential[upto]
                cases.append(BudgetAdditive(tuple(share), tuple(weight), kind.requests))
    return cases


def _below(cases: list[BudgetAdditive]) -> Measurement:
    return worst(
        Relation.AT_LEAST,
        (Measurement(_near(one.fractional, one.product, one.cap), one.product) for one in cases),
    )


def _above(cases: list[BudgetAdditive]) -> Measurement:
    return worst(
        Relation.AT_LEAST, (Measurement(one.product, PSI * one.fractional) for one in cases)
    )


def _expected(cases: list[BudgetAdditive]) -> Measurement:
    return worst(
        Relation.AT_LEAST,
        (
            Measurement(one.expected, PSI * one.fractional)
            for one in cases
            if len(one.share) <= MOST_ELEMENTS
        ),
    )


MOST_ELEMENTS = 10
"""Largest number of elements of which all subsets are formed."""


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
    return _sandwich(view, lambda slot, x: slot.capped(x), lambda slot, x: slot.capped_bounding(x))


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


def _capped_weights(given: IdnInstance | Adversary | BudgetAdditive) -> bool:
    if isinstance(given, BudgetAdditive):
        return all(weight <= given.cap for weight in given.weight)
    return IN_SET.holds(given)


CAPPED = Assumption("no weight above the cap", r"$q_i \le c$", _capped_weights)

_ELEMENTS: dict[str, object] = {
    "instance_type": (IdnInstance, Adversary, BudgetAdditive),
    "view": _cases,
}

CLAIMS = (
    claim(
        "lemma_f7",
        r"$\min\{c, \sum y q\} \ge c - c \prod (1 - y q / c)$ for $q \le c$.",
        "Lemma F.7",
        _below,
        Relation.AT_LEAST,
        DRAWN,
        assumptions=(CAPPED,),
        **_ELEMENTS,
    ),
    claim(
        "lemma_f8",
        r"$c - c \prod (1 - y q / c) \ge (1 - 1/e) \min\{c, \sum y q\}$ for $q \le c$.",
        "Lemma F.8",
        _above,
        Relation.AT_LEAST,
        DRAWN,
        assumptions=(CAPPED,),
        **_ELEMENTS,
    ),
    claim(
        "rounding_gap",
        r"$\mathbb{E} \min\{c, \sum x q\} \ge (1 - 1/e) \min\{c, \sum y q\}$ for independent x "
        r"with means y, when $q \le c$.",
        "Lemmas F.7 and F.8 together",
        _expected,
        Relation.AT_LEAST,
        DRAWN,
        assumptions=(CAPPED,),
        **_ELEMENTS,
    ),
    claim(
        "rounding_gap.uncapped",
        r"$\mathbb{E} \min\{c, \sum x q\} \ge (1 - 1/e) \min\{c, \sum y q\}$ for independent x "
        "with means y, whatever the weights q.",
        "Lemmas F.7 and F.8 together",
        _expected,
        Relation.AT_LEAST,
        {"large_weight()": large_weight},
        counterexample="large_weight()",
        corrected_by=("idn.lemma_f8", "idn.rounding_gap", "idn.lemma_f9.capped"),
        **_ELEMENTS,
    ),
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
