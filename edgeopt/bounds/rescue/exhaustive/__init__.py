"""Exact values of tiny RESCUE instances in plain Python, the oracle of everything faster."""

from __future__ import annotations

from edgeopt.bounds.rescue.exhaustive.optima import (
    clairvoyant_optimum,
    hindsight,
    offline_optimum,
    online_optimum,
)
from edgeopt.bounds.rescue.exhaustive.policy import Decide, PolicyValue, evaluate
from edgeopt.bounds.rescue.exhaustive.world import SIZE_LIMIT, require_enumerable

__all__ = [
    "SIZE_LIMIT",
    "Decide",
    "PolicyValue",
    "clairvoyant_optimum",
    "evaluate",
    "hindsight",
    "offline_optimum",
    "online_optimum",
    "require_enumerable",
]
