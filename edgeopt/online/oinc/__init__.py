"""OINC online: requests each second, jobs beside them, policies and their environment.

Source: Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in
Edge Computing.
"""

from __future__ import annotations

from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.events import Decision, Jobs, Outcome, Runs, Slot
from edgeopt.online.oinc.trajectory import OincTrajectory, Served

__all__ = [
    "Decision",
    "Jobs",
    "OincEnvironment",
    "OincTrajectory",
    "Outcome",
    "Runs",
    "Served",
    "Slot",
]
