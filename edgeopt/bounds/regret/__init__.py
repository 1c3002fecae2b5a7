"""Regret of a policy against one decision or against a moving one, and the fit."""

from __future__ import annotations

from edgeopt.bounds.regret.benchmark import PSI, PsiRegret, Regret, psi_regret, regret
from edgeopt.bounds.regret.dynamic import DynamicFit, DynamicRegret, dynamic_fit, dynamic_regret

__all__ = [
    "PSI",
    "DynamicFit",
    "DynamicRegret",
    "PsiRegret",
    "Regret",
    "dynamic_fit",
    "dynamic_regret",
    "psi_regret",
    "regret",
]
