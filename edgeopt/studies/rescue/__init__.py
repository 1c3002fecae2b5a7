"""RESCUE as studies see it.

Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
Edges.
"""

from __future__ import annotations

from edgeopt.studies.rescue.record import SYSTEM

__all__ = ["SYSTEM"]
