"""EDR online: frames and slots as they come, policies and their environment.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations

from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import (
    Accepted,
    ClosedFrame,
    EdrTrajectory,
    Flows,
    Frame,
    Served,
    Slot,
)
from edgeopt.online.edr.policies.baselines import EvenRate, Greedy
from edgeopt.online.edr.policies.policy import (
    EdrPolicy,
    Terms,
    deadline_guard,
    repair_cap,
    repair_work,
)
from edgeopt.online.edr.policies.saddle_point import SaddlePoint
from edgeopt.online.edr.policies.stochastic_control import Scenario
from edgeopt.online.edr.policies.virtual_queues import Lyapunov, Oasdr
from edgeopt.online.edr.training import GivenPrices

__all__ = [
    "Accepted",
    "ClosedFrame",
    "EdrEnvironment",
    "EdrPolicy",
    "EdrTrajectory",
    "EvenRate",
    "Flows",
    "Frame",
    "GivenPrices",
    "Greedy",
    "Lyapunov",
    "Oasdr",
    "SaddlePoint",
    "Scenario",
    "Served",
    "Slot",
    "Terms",
    "deadline_guard",
    "repair_cap",
    "repair_work",
]
