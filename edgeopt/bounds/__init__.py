r"""Ratios, regrets and claims: how good an algorithm is, as a number that can be checked.

The ratio and the regret of an algorithm of your own. Of five offers one is taken when it comes: the
first that is worth half of what the best is worth on average, 5/6. The ratio is at least 1/2:

>>> import math
>>> import numpy as np
>>> from edgeopt.bounds import competitive_ratio, regret
>>> offers = np.random.default_rng(0).uniform(size=(2000, 5))
>>> good = offers >= 5 / 12
>>> taken = np.where(good.any(axis=1), offers[np.arange(2000), good.argmax(axis=1)], 0.0)
>>> found = competitive_ratio(taken, 5 / 6)
>>> f"{found.value:.3f}, between {found.low:.3f} and {found.high:.3f}"
'0.837, between 0.828 and 0.847'

Three forecasts are weighed by their past losses; the regret against the best of them stays below
:math:`\sqrt{T \ln 3 / 2}`:

>>> losses = np.random.default_rng(1).uniform(size=(400, 3))
>>> past = losses.cumsum(axis=0) - losses
>>> weights = np.exp(-np.sqrt(8 * np.log(3) / 400) * past)
>>> expected = (weights * losses).sum(axis=1) / weights.sum(axis=1)
>>> found = regret(
...     expected, losses.sum(axis=0).min(), cost=True, guarantee=math.sqrt(400 * math.log(3) / 2)
... )
>>> round(found.value, 2), round(found.guarantee, 2), found.within
(3.32, 14.82, True)

What the record of a system promises is checked by ``check("SYSTEM.guarantee.*")`` and
``check("SYSTEM.valid_bound.*")``: every policy with a guarantee keeps it against its bound, and no
policy passes a bound that is valid for it. Claims of your own, and those of installed packages, are
:class:`Claim` objects under names of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Assumption, Claim, Measurement, NotApplicableError
from edgeopt.bounds.intervals import Spread, holm, spread
from edgeopt.bounds.paired import paired_difference, paired_ratio
from edgeopt.bounds.ratio import Ratio, competitive_ratio
from edgeopt.bounds.registry import check, claims
from edgeopt.bounds.regret import (
    DynamicFit,
    DynamicRegret,
    PsiRegret,
    Regret,
    dynamic_fit,
    dynamic_regret,
    psi_regret,
    regret,
)
from edgeopt.bounds.search import search
from edgeopt.bounds.validity import Bound, Check, Judged, Plan
from edgeopt.bounds.verdict import Finding, Relation, Source, Verdict
from edgeopt.later import loaded_later

if TYPE_CHECKING:
    from edgeopt.bounds.growth import Growth, growth_exponent
    from edgeopt.bounds.worst_case import WorstCase, ratio_of, regret_of

__all__ = [
    "Assumption",
    "Bound",
    "Check",
    "Claim",
    "DynamicFit",
    "DynamicRegret",
    "Finding",
    "Growth",
    "Judged",
    "Measurement",
    "NotApplicableError",
    "Plan",
    "PsiRegret",
    "Ratio",
    "Regret",
    "Relation",
    "Source",
    "Spread",
    "Verdict",
    "WorstCase",
    "check",
    "claims",
    "competitive_ratio",
    "dynamic_fit",
    "dynamic_regret",
    "growth_exponent",
    "holm",
    "paired_difference",
    "paired_ratio",
    "psi_regret",
    "ratio_of",
    "regret",
    "regret_of",
    "search",
    "spread",
]

__getattr__ = loaded_later(
    __name__,
    {
        **dict.fromkeys(("Growth", "growth_exponent"), "growth"),
        **dict.fromkeys(("WorstCase", "ratio_of", "regret_of"), "worst_case"),
    },
)
