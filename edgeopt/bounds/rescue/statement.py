"""The form that all claims about RESCUE share."""

from __future__ import annotations

from edgeopt.bounds.paper import Paper
from edgeopt.bounds.rescue.evaluation import Evaluation
from edgeopt.instances.rescue import RescueInstance

__all__ = ["EXACT", "PAPER", "claim", "erratum"]

PAPER = (
    "Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on "
    "Underutilized Edges"
)

EXACT = 1e-7
"""Relative tolerance of identities between recursions that solve no LP."""

_paper = Paper("rescue", PAPER, {"instance_type": RescueInstance, "view": Evaluation})
claim, erratum = _paper.claim, _paper.erratum
