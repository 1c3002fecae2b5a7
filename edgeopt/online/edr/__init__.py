"""EDR online: frames and slots as they come, policies and their environment.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations

from edgeopt.online.edr.budget import BUDGETS, Terms, slot_budget
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import Accepted, Flows, Frame, Served, Settled, Slot
from edgeopt.online.edr.forecast import GivenPrices
from edgeopt.online.edr.policies.even_rate import EvenRate
from edgeopt.online.edr.policies.greedy import Greedy
from edgeopt.online.edr.policies.lyapunov import Lyapunov
from edgeopt.online.edr.policies.oasdr import Oasdr
from edgeopt.online.edr.policies.policy import EdrPolicy, EdrState
from edgeopt.online.edr.policies.quantile_threshold import QuantileThreshold
from edgeopt.online.edr.policies.saddle_point import SaddlePoint
from edgeopt.online.edr.repair import deadline_guard, latest_deadline_first, repair_cap, repair_work
from edgeopt.online.edr.trajectory import QUALITY_BINS, EdrTrajectory

__all__ = [
    "BUDGETS",
    "QUALITY_BINS",
    "Accepted",
    "EdrEnvironment",
    "EdrPolicy",
    "EdrState",
    "EdrTrajectory",
    "EvenRate",
    "Flows",
    "Frame",
    "GivenPrices",
    "Greedy",
    "Lyapunov",
    "Oasdr",
    "QuantileThreshold",
    "SaddlePoint",
    "Served",
    "Settled",
    "Slot",
    "Terms",
    "deadline_guard",
    "latest_deadline_first",
    "repair_cap",
    "repair_work",
    "slot_budget",
]
