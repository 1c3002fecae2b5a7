"""Claims of RESCUE, printed and corrected.

Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
Edges.
"""

from __future__ import annotations

from edgeopt_papers.claims.paper import collected
from edgeopt_papers.rescue.claims import (
    improvement,
    observation,
    reserved,
    safe,
    theorems,
    tightness,
)

__all__ = ["CLAIMS"]

CLAIMS = collected(
    theorems.CLAIMS,
    tightness.CLAIMS,
    observation.CLAIMS,
    reserved.CLAIMS,
    improvement.CLAIMS,
    safe.CLAIMS,
)
"""All claims, in the order of the paper."""
