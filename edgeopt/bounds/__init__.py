"""Claims of the papers as objects that can be checked, and ratios with their intervals."""

from __future__ import annotations

from edgeopt.bounds.claim import Assumption, Claim, Measurement, NotApplicableError
from edgeopt.bounds.errata import Erratum, errata
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
from edgeopt.bounds.stored import StoredVerdicts, stored_verdicts
from edgeopt.bounds.verdict import Finding, Relation, Source, Verdict

__all__ = [
    "Assumption",
    "Claim",
    "DynamicFit",
    "DynamicRegret",
    "Erratum",
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
    "StoredVerdicts",
    "Verdict",
    "check",
    "claims",
    "competitive_ratio",
    "dynamic_fit",
    "dynamic_regret",
    "errata",
    "growth_exponent",
    "holm",
    "paired_ratio",
    "psi_regret",
    "regret",
    "search",
    "spread",
    "stored_verdicts",
]
