"""Declarative and compiled models of TapFinger.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from edgeopt.models.tapfinger.bounds import FlowBound, flow_bound, mixed_volumes, volume_bound
from edgeopt.models.tapfinger.branch_and_bound import OptimalSchedule, optimal_schedule
from edgeopt.models.tapfinger.lagrangian import (
    PooledBound,
    pooled_bound,
)
from edgeopt.models.tapfinger.list_scheduling import best_list, list_schedule
from edgeopt.models.tapfinger.problem import (
    Schedule,
    SchedulingProblem,
    scheduling_problem,
    usage,
    verify,
)
from edgeopt.models.tapfinger.programs import (
    Bundles,
    allowed,
    efficient,
    horizon,
    start_matrix,
    start_program,
)
from edgeopt.models.tapfinger.relaxation import Relaxation, relaxation
from edgeopt.models.tapfinger.scenario_bound import ScenarioBound, scenario_bound, scenario_problem

__all__ = [
    "Bundles",
    "FlowBound",
    "OptimalSchedule",
    "PooledBound",
    "Relaxation",
    "ScenarioBound",
    "Schedule",
    "SchedulingProblem",
    "allowed",
    "best_list",
    "efficient",
    "flow_bound",
    "horizon",
    "list_schedule",
    "mixed_volumes",
    "optimal_schedule",
    "pooled_bound",
    "relaxation",
    "scenario_bound",
    "scenario_problem",
    "scheduling_problem",
    "start_matrix",
    "start_program",
    "usage",
    "verify",
    "volume_bound",
]
