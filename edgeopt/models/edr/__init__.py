"""Formulations of EDR: training rounds under an energy cap, and the routing of requests.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations

from edgeopt.models.edr.comparators import (
    FrameComparator,
    TrainingComparator,
    frame_comparator,
    training_comparator,
)
from edgeopt.models.edr.matrix import colocation_matrix
from edgeopt.models.edr.offline import OfflinePlan, solve_offline
from edgeopt.models.edr.penalties import late_price, unserved_price
from edgeopt.models.edr.programs import colocation
from edgeopt.models.edr.served import served_cap
from edgeopt.models.edr.step_programs import step_nlp, step_program
from edgeopt.models.edr.training import Step, bisect_step, step_residual, take_step

__all__ = [
    "FrameComparator",
    "OfflinePlan",
    "Step",
    "TrainingComparator",
    "bisect_step",
    "colocation",
    "colocation_matrix",
    "frame_comparator",
    "late_price",
    "served_cap",
    "solve_offline",
    "step_nlp",
    "step_program",
    "step_residual",
    "take_step",
    "training_comparator",
    "unserved_price",
]
