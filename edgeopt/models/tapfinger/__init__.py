"""Declarative and compiled models of TapFinger.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from edgeopt.models.tapfinger.bundles import Bundles, allowed, efficient
from edgeopt.models.tapfinger.exact import OptimalSchedule, optimal_schedule
from edgeopt.models.tapfinger.horizon import horizon
from edgeopt.models.tapfinger.listing import best_list, list_schedule
from edgeopt.models.tapfinger.matrix import start_matrix
from edgeopt.models.tapfinger.problem import SchedulingProblem, scheduling_problem
from edgeopt.models.tapfinger.programs import start_program
from edgeopt.models.tapfinger.relaxation import Relaxation, SlotPrices, price_bound, relaxation
from edgeopt.models.tapfinger.schedule import Schedule, usage, verify

__all__ = [
    "Bundles",
    "OptimalSchedule",
    "Relaxation",
    "Schedule",
    "SchedulingProblem",
    "SlotPrices",
    "allowed",
    "best_list",
    "efficient",
    "horizon",
    "list_schedule",
    "optimal_schedule",
    "price_bound",
    "relaxation",
    "scheduling_problem",
    "start_matrix",
    "start_program",
    "usage",
    "verify",
]
