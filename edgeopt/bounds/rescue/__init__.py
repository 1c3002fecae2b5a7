"""Claims of RESCUE, printed and corrected.

Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
Edges.
"""

from __future__ import annotations

from edgeopt.bounds.rescue import (
    feasibility,
    improvement,
    lemmas,
    microslot_claims,
    modelling,
    observation,
    offline,
    reserved,
    theorems,
    tightness,
)

__all__ = ["CLAIMS"]

CLAIMS = (
    *lemmas.CLAIMS,
    *theorems.CLAIMS,
    *tightness.CLAIMS,
    *microslot_claims.CLAIMS,
    *observation.CLAIMS,
    *offline.CLAIMS,
    *reserved.CLAIMS,
    *feasibility.CLAIMS,
    *improvement.CLAIMS,
    *modelling.CLAIMS,
)
"""All claims, in the order of the paper."""
