"""Claims of the papers as objects that can be checked, and ratios with their intervals."""

from __future__ import annotations

from edgeopt.bounds.claim import Assumption, Claim, Measurement, NotApplicableError
from edgeopt.bounds.ratio import Difference, Ratio, competitive_ratio, paired_difference
from edgeopt.bounds.registry import check, claims
from edgeopt.bounds.regret import PsiRegret, Regret, psi_regret, regret
from edgeopt.bounds.verdict import Finding, Relation, Source, Verdict

__all__ = [
    "Assumption",
    "Claim",
    "Difference",
    "Finding",
    "Measurement",
    "NotApplicableError",
    "PsiRegret",
    "Ratio",
    "Regret",
    "Relation",
    "Source",
    "Verdict",
    "check",
    "claims",
    "competitive_ratio",
    "paired_difference",
    "psi_regret",
    "regret",
]
