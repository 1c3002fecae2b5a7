"""Online mirror ascent: a mirror map, a step rule, and a state that is handed on."""

from __future__ import annotations

from edgeopt.online.mirror_ascent.entropy import KnapsackEntropy
from edgeopt.online.mirror_ascent.euclidean import KnapsackEuclidean
from edgeopt.online.mirror_ascent.method import AscentState, MirrorAscent, MirrorMap, StepRule
from edgeopt.online.mirror_ascent.regret import regret_bound
from edgeopt.online.mirror_ascent.steps import AdaptiveStep, FixedStep, TheoryStep

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
