"""Online mirror ascent: a mirror map, a step rule, and a state that is handed on."""

from __future__ import annotations

from edgeopt.online.mirror_ascent.maps import KnapsackEntropy, KnapsackEuclidean
from edgeopt.online.mirror_ascent.method import (
    AdaptiveStep,
    AscentState,
    FixedStep,
    MirrorAscent,
    MirrorMap,
    StepRule,
    TheoryStep,
    regret_bound,
)

__all__ = [
    "AdaptiveStep",
    "AscentState",
    "FixedStep",
    "KnapsackEntropy",
    "KnapsackEuclidean",
    "MirrorAscent",
    "MirrorMap",
    "StepRule",
    "TheoryStep",
    "regret_bound",
]
