"""TapFinger online: clusters, tasks as they arrive, and schedulers.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from edgeopt.online.tapfinger.batch import TapFingerBatch
from edgeopt.online.tapfinger.environment import TapFingerEnvironment, TapFingerTrajectory
from edgeopt.online.tapfinger.episode import TapFingerEpisode
from edgeopt.online.tapfinger.events import Decision, Held, Outcome, Round, Running, Tasks
from edgeopt.online.tapfinger.policies.optimus import Optimus, OptimusContainers
from edgeopt.online.tapfinger.policies.reservation import PricedSpt, ReservationSpt
from edgeopt.online.tapfinger.policies.rolling import RollingHorizon
from edgeopt.online.tapfinger.policies.rollout import Rollout
from edgeopt.online.tapfinger.policies.tiresias import Tiresias, TiresiasContainers
from edgeopt.online.tapfinger.policies.uniform import Min, RandomAllocation

__all__ = [
    "Decision",
    "Held",
    "Min",
    "Optimus",
    "OptimusContainers",
    "Outcome",
    "PricedSpt",
    "RandomAllocation",
    "ReservationSpt",
    "RollingHorizon",
    "Rollout",
    "Round",
    "Running",
    "TapFingerBatch",
    "TapFingerEnvironment",
    "TapFingerEpisode",
    "TapFingerTrajectory",
    "Tasks",
    "Tiresias",
    "TiresiasContainers",
]
