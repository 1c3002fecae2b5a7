"""Claims as objects that can be checked, and ratios with their intervals."""

from __future__ import annotations

from edgeopt.bounds.claim import Assumption, Claim, Measurement, NotApplicableError
from edgeopt.bounds.growth import Growth, growth_exponent
from edgeopt.bounds.intervals import Spread, holm, paired_ratio, spread
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
from edgeopt.bounds.verdict import Finding, Relation, Source, Verdict

__all__ = [
    "Assumption",
    "Claim",
    "DynamicFit",
    "DynamicRegret",
    "Finding",
    "Growth",
    "Measurement",
    "NotApplicableError",
    "PsiRegret",
    "Ratio",
    "Regret",
    "Relation",
    "Source",
    "Spread",
    "Verdict",
    "check",
    "claims",
    "competitive_ratio",
    "dynamic_fit",
    "dynamic_regret",
    "growth_exponent",
    "holm",
    "paired_ratio",
    "psi_regret",
    "regret",
    "search",
    "spread",
]
