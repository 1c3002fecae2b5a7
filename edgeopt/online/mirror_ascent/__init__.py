"""Online mirror ascent: a mirror map, a step rule, and a state that is handed on."""

from __future__ import annotations

from edgeopt.online.mirror_ascent.linear_rows import Limited
from edgeopt.online.mirror_ascent.maps import KnapsackEntropy, KnapsackEuclidean
from edgeopt.online.mirror_ascent.method import AscentState, MirrorAscent, MirrorMap, StepRule
from edgeopt.online.mirror_ascent.products import BoxEuclidean, Product
from edgeopt.online.mirror_ascent.steps import AdaptiveStep, FixedStep, TheoryStep

__all__ = [
    "AdaptiveStep",
    "AscentState",
    "BoxEuclidean",
    "FixedStep",
    "KnapsackEntropy",
    "KnapsackEuclidean",
    "Limited",
    "MirrorAscent",
    "MirrorMap",
    "Product",
    "StepRule",
    "TheoryStep",
]
