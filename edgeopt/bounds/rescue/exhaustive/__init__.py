"""Exact values of tiny RESCUE instances in plain Python, the oracle of everything faster."""

from __future__ import annotations

from edgeopt.bounds.rescue.exhaustive.clairvoyant import clairvoyant_optimum
from edgeopt.bounds.rescue.exhaustive.integer import integer_optimum
from edgeopt.bounds.rescue.exhaustive.offline import hindsight, offline_optimum
from edgeopt.bounds.rescue.exhaustive.online import online_optimum
from edgeopt.bounds.rescue.exhaustive.policy import Decide, PolicyValue, evaluate
from edgeopt.bounds.rescue.exhaustive.world import SIZE_LIMIT, require_enumerable

__all__ = [
    "SIZE_LIMIT",
    "Decide",
    "PolicyValue",
    "clairvoyant_optimum",
    "evaluate",
    "hindsight",
    "integer_optimum",
    "offline_optimum",
    "online_optimum",
    "require_enumerable",
]
