"""Modified saddle-point steps for costs and long-term constraints that come to light by slots."""

from __future__ import annotations

from edgeopt.online.primal_dual.linear import Box, LinearSlot
from edgeopt.online.primal_dual.method import (
    FeasibleSet,
    PrimalDual,
    RevealedSlot,
    SaddleState,
    StepRule,
)
from edgeopt.online.primal_dual.promise import fit_bound, multiplier_bound
from edgeopt.online.primal_dual.steps import FixedStep, ScaledStep, StepSizes, VariationStep

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
]
