"""Equal ways to write serving cost and gain, and what they need from the repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import worst
from edgeopt.bounds.idn import counterexamples
from edgeopt.bounds.idn.assumptions import COVERED, IN_SET, WHOLE
from edgeopt.bounds.idn.evaluation import alike
from edgeopt.bounds.idn.families import DRAWN
from edgeopt.bounds.idn.statement import claim
from edgeopt.bounds.named import one
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.bounds.claim import Measurement
    from edgeopt.bounds.idn.evaluation import Evaluation
    from edgeopt.bounds.idn.slot import Slot

    Form = Callable[[Slot], NDArray[np.float64]]

__all__ = ["CLAIMS"]


def _scale(slot: Slot) -> float:
    """Magnitude of the costs that cancel when gains are formed, ms."""
    return float(sum(one.cost[-1] * one.requests for one in slot.types))


def _equal(view: Evaluation, left: Form, right: Form) -> Measurement:
    return worst(
        Relation.EQUAL,
        (alike(left(slot), right(slot), _scale(slot)) for slot in view.slots),
    )


def _cost(view: Evaluation) -> Measurement:
    x = view.allocations
    return _equal(view, lambda slot: slot.telescoped_cost(x), lambda slot: slot.serving_cost(x))


def _gain(view: Evaluation) -> Measurement:
    x = view.allocations
    return _equal(view, lambda slot: slot.ranked(x), lambda slot: slot.difference(x))


def _uncovered(view: Evaluation) -> Measurement:
    x = view.allocations
    return _equal(view, lambda slot: slot.uncovered(x), lambda slot: slot.ranked(x))


def _simulated(view: Evaluation) -> Measurement:
    """Serve in every order; compare the cost with (12) at the capacities that were left over."""
    from edgeopt.bounds.idn.slot import Slot
    from edgeopt.online.idn import serve

    draw = np.random.default_rng(3)
    units = view.instance.requests[: len(view.slots)].sum()
    orders: list[Any] = ["sequential", "fluid"] + ["random"] * int(units <= MOST_UNITS)
    found = []
    for slot in view.slots:
        for x in view.integral[:4]:
            for order in orders:
                shuffle = draw.permutation(view.instance.types)
                seed = {"sequential": shuffle, "fluid": None, "random": 5}[order]
                requests = slot.requests.astype(np.int64)
                served = serve(view.instance, requests, x > 0, order=order, draw=seed)
                again = Slot(view.instance, slot.requests, served.potential)
                cost = again.serving_cost(x.reshape(1, -1))
                found.append(alike(np.array([served.cost]), cost, 1e3 * _scale(slot)))
    return worst(Relation.EQUAL, found)


MOST_UNITS = 10_000
"""Largest number of requests that are served one by one in a random order."""

CLAIMS = (
    claim(
        "lemma_c2",
        r"$C = \sum_\rho \sum_{k < K} (\gamma^k - \gamma^{k+1}) Z^k + \gamma^K r$ when "
        "repositories can serve everything.",
        "Lemma C.2, equation (50)",
        _cost,
        Relation.EQUAL,
        DRAWN,
        assumptions=(COVERED,),
    ),
    claim(
        "lemma_c2.printed",
        r"$C = \sum_\rho \sum_{k < K} (\gamma^k - \gamma^{k+1}) Z^k + \gamma^K r$ for all requests "
        "and capacities of the set (10), which lets the adversary cut repository models too.",
        "Lemma C.2, equation (50)",
        _cost,
        Relation.EQUAL,
        one(counterexamples.starved_repository),
        assumptions=(IN_SET,),
        counterexample="starved_repository()",
        corrected_by=("idn.lemma_c2",),
    ),
    claim(
        "lemma3_1",
        r"$G = \sum_\rho \sum_{k < K} (\gamma^{k+1} - \gamma^k)(Z^k(x) - Z^k(\omega))$, integral "
        "or fractional, when repositories can serve everything.",
        "Lemma III.1, equation (16)",
        _gain,
        Relation.EQUAL,
        {**DRAWN, **one(counterexamples.two_half_repositories)},
        assumptions=(COVERED,),
    ),
    claim(
        "lemma3_1.printed",
        r"$G = \sum_\rho \sum_{k < K} (\gamma^{k+1} - \gamma^k)(Z^k(x) - Z^k(\omega))$ for all "
        "requests and capacities of the set (10).",
        "Lemma III.1, equation (16)",
        _gain,
        Relation.EQUAL,
        one(counterexamples.starved_repository),
        assumptions=(IN_SET,),
        counterexample="starved_repository()",
        corrected_by=("idn.lemma3_1",),
    ),
    claim(
        "lemma_f6",
        r"$G = \sum_{\rho: r > 0} \sum_{k < K} (\gamma^{k+1} - \gamma^k) Z^k(x) "
        r"\mathbb{1}\{Z^k(\omega) = 0\}$ when every repository model can serve everything.",
        "Lemma F.6, equation (118)",
        _uncovered,
        Relation.EQUAL,
        DRAWN,
        assumptions=(WHOLE,),
    ),
    claim(
        "lemma_f6.printed",
        r"$G = \sum_{\rho: r > 0} \sum_{k < K} (\gamma^{k+1} - \gamma^k) Z^k(x) "
        r"\mathbb{1}\{Z^k(\omega) = 0\}$ when the repository models together serve everything, as "
        r"(9) asks; but two of them can leave $0 < Z^k(\omega) < r$.",
        "Lemma F.6, equation (118)",
        _uncovered,
        Relation.EQUAL,
        one(counterexamples.two_half_repositories),
        assumptions=(COVERED,),
        counterexample="two_half_repositories()",
        corrected_by=("idn.lemma_f6", "idn.lemma_f9.capped"),
    ),
    claim(
        "lemma_f6.one_serves_all",
        "Equation (118) holds as soon as one repository model can serve everything; a cheaper one "
        "that serves half still hides gains behind it.",
        "Lemma F.6, equation (118)",
        _uncovered,
        Relation.EQUAL,
        one(counterexamples.cheap_half_repository),
        assumptions=(COVERED,),
        counterexample="cheap_half_repository()",
        corrected_by=("idn.lemma_f6", "idn.lemma_f9.capped"),
    ),
    claim(
        "run_time_cost",
        "Whatever the order of arrivals, serving each request by the cheapest unsaturated model "
        "costs (12) at the potential capacities (7) that result.",
        "Section III-D, equations (7) and (12)",
        _simulated,
        Relation.EQUAL,
        DRAWN,
    ),
)
