"""Learnt answers to the requests of a slot: the insertion actor, and the published actor.

What was learnt runs without PyTorch. To train, which :func:`learner` prepares, needs it, the extra
``rl``.
"""

from __future__ import annotations

from edgeopt.learning.oinc.insertion import InsertionActor, shipped
from edgeopt.learning.oinc.training import learner

__all__ = ["InsertionActor", "learner", "shipped"]
