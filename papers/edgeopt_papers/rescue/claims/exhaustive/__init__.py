"""Exact values of tiny RESCUE instances, by enumeration and dynamic programming."""

from __future__ import annotations

from edgeopt_papers.rescue.claims.exhaustive.by_state import evaluate_by_state
from edgeopt_papers.rescue.claims.exhaustive.optima import (
    clairvoyant_optimum,
    hindsight,
    offline_optimum,
    online_optimum,
)
from edgeopt_papers.rescue.claims.exhaustive.scenario import (
    SIZE_LIMIT,
    Decide,
    evaluate,
    require_enumerable,
)

__all__ = [
    "SIZE_LIMIT",
    "Decide",
    "clairvoyant_optimum",
    "evaluate",
    "evaluate_by_state",
    "hindsight",
    "offline_optimum",
    "online_optimum",
    "require_enumerable",
]
