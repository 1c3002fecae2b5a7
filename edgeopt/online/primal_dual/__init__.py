"""Modified saddle-point steps for costs and long-term constraints, revealed slot by slot."""

from __future__ import annotations

from edgeopt.online.primal_dual.method import (
    Box,
    FeasibleSet,
    LinearSlot,
    PrimalDual,
    RevealedSlot,
    SaddleState,
    StepRule,
)
from edgeopt.online.primal_dual.steps import (
    FixedStep,
    ScaledStep,
    StepSizes,
    VariationStep,
    fit_bound,
    multiplier_bound,
    regret_bound,
)

__all__ = [
    "Box",
    "FeasibleSet",
    "FixedStep",
    "LinearSlot",
    "PrimalDual",
    "RevealedSlot",
    "SaddleState",
    "ScaledStep",
    "StepRule",
    "StepSizes",
    "VariationStep",
    "fit_bound",
    "multiplier_bound",
    "regret_bound",
]
