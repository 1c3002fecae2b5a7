"""Formulations of EDR: training rounds under an energy cap, and the routing of requests.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations

from edgeopt.models.edr.bounds import (
    FrameComparator,
    InformedBound,
    frame_comparator,
    informed_bound,
)
from edgeopt.models.edr.matrix import colocation_matrix
from edgeopt.models.edr.penalties import late_price, served_cap, unserved_price
from edgeopt.models.edr.programs import colocation, step_nlp, step_program
from edgeopt.models.edr.solve import OfflinePlan, solve_offline
from edgeopt.models.edr.training import Step, take_step

__all__ = [
    "FrameComparator",
    "InformedBound",
    "OfflinePlan",
    "Step",
    "colocation",
    "colocation_matrix",
    "frame_comparator",
    "informed_bound",
    "late_price",
    "served_cap",
    "solve_offline",
    "step_nlp",
    "step_program",
    "take_step",
    "unserved_price",
]
