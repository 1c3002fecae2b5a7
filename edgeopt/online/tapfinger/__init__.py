"""TapFinger online: clusters, tasks as they arrive, and schedulers.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from edgeopt.online.tapfinger.environment import (
    TapFingerBatch,
    TapFingerEnvironment,
    TapFingerEpisode,
    TapFingerTrajectory,
)
from edgeopt.online.tapfinger.events import Decision, Held, Outcome, Round, Running, Tasks
from edgeopt.online.tapfinger.policies.learned_durations import LearntReservation, ServiceBook
from edgeopt.online.tapfinger.policies.optimus import Optimus, OptimusContainers
from edgeopt.online.tapfinger.policies.random import Min, RandomAllocation
from edgeopt.online.tapfinger.policies.reservation import PricedSpt, ReservationSpt
from edgeopt.online.tapfinger.policies.rollout import FutureRollout
from edgeopt.online.tapfinger.policies.tiresias import Tiresias, TiresiasContainers

__all__ = [
    "Decision",
    "FutureRollout",
    "Held",
    "LearntReservation",
    "Min",
    "Optimus",
    "OptimusContainers",
    "Outcome",
    "PricedSpt",
    "RandomAllocation",
    "ReservationSpt",
    "Round",
    "Running",
    "ServiceBook",
    "TapFingerBatch",
    "TapFingerEnvironment",
    "TapFingerEpisode",
    "TapFingerTrajectory",
    "Tasks",
    "Tiresias",
    "TiresiasContainers",
]
