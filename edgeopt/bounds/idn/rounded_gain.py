"""What rounding with the last entry drawn keeps of the fractional gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement, worst
from edgeopt.bounds.idn import counterexamples
from edgeopt.bounds.idn.assumptions import COVERED, WHOLE
from edgeopt.bounds.idn.expectation import expectations
from edgeopt.bounds.idn.families import FITTING
from edgeopt.bounds.idn.statement import claim
from edgeopt.bounds.named import one
from edgeopt.bounds.regret import PSI
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from edgeopt.bounds.idn.evaluation import Evaluation
    from edgeopt.bounds.idn.law import Residual

__all__ = ["CLAIMS", "WITH_LEFTOVER", "share_of_gain"]


def share_of_gain(view: Evaluation, residual: Residual, share: float) -> Measurement:
    """Compare the expected gain of a rounding with a share of the fractional gain."""
    return worst(
        Relation.AT_LEAST,
        (
            Measurement(found.mean(slot.ranked), share * float(slot.ranked(found.flat)[0]))
            for found, slot in expectations(view, residual)
        ),
    )


def _capped_theory(view: Evaluation) -> Measurement:
    """Compare the expected gain with a share of the gain under caps."""
    return worst(
        Relation.AT_LEAST,
        (
            Measurement(found.mean(slot.ranked), PSI * float(slot.capped(found.flat)[0]))
            for found, slot in expectations(view)
        ),
    )


def _all_of_theory(view: Evaluation) -> Measurement:
    return share_of_gain(view, "bernoulli", PSI)


WITH_LEFTOVER = {**one(counterexamples.large_leftover, 0.01), **FITTING}
"""Networks where every model fits alone, among them one that dropping ruins."""

CLAIMS = (
    claim(
        "rounding",
        r"$\mathbb{E} G(x) \ge (1 - 1/e) G(y)$ when the last fractional entry is drawn.",
        "Theorem V.1, proof, equation (164)",
        _all_of_theory,
        Relation.AT_LEAST,
        WITH_LEFTOVER,
        assumptions=(WHOLE,),
    ),
    claim(
        "rounding.capped",
        r"$\mathbb{E} G(x) \ge (1 - 1/e) G(y)$ when repositories together can serve everything and "
        r"every capacity on the right is capped at what its rank still needs, $r - Z^k(\omega)$.",
        "Theorem V.1, proof, equation (164), repaired",
        _capped_theory,
        Relation.AT_LEAST,
        {**WITH_LEFTOVER, **one(counterexamples.nearly_whole_repository)},
        assumptions=(COVERED,),
    ),
    claim(
        "rounding.printed",
        r"$\mathbb{E} G(x) \ge (1 - 1/e) G(y)$ as soon as repositories together can serve "
        "everything, as (9) asks.",
        "Theorem V.1, proof, equation (164)",
        _all_of_theory,
        Relation.AT_LEAST,
        one(counterexamples.nearly_whole_repository),
        assumptions=(COVERED,),
        counterexample="nearly_whole_repository()",
        corrected_by=("idn.rounding", "idn.rounding.capped"),
    ),
)
