"""Declarative and compiled models of TapFinger.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from edgeopt.models.tapfinger.bundles import Bundles, allowed, efficient
from edgeopt.models.tapfinger.problem import SchedulingProblem, scheduling_problem
from edgeopt.models.tapfinger.schedule import Schedule, usage, verify

__all__ = [
    "Bundles",
    "Schedule",
    "SchedulingProblem",
    "allowed",
    "efficient",
    "scheduling_problem",
    "usage",
    "verify",
]
