"""The clusters that TapFinger's schedulers live in, and the schedulers.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from edgeopt.online.tapfinger.environment import TapFingerEnvironment
from edgeopt.online.tapfinger.episode import TapFingerEpisode
from edgeopt.online.tapfinger.events import Decision, Outcome, Round, Running, Tasks
from edgeopt.online.tapfinger.held import Held
from edgeopt.online.tapfinger.trajectory import TapFingerTrajectory

__all__ = [
    "Decision",
    "Held",
    "Outcome",
    "Round",
    "Running",
    "TapFingerEnvironment",
    "TapFingerEpisode",
    "TapFingerTrajectory",
    "Tasks",
]
