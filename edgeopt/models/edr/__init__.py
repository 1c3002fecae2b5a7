"""Formulations of EDR: training rounds under an energy cap, and the routing of requests.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations

from edgeopt.models.edr.step_programs import step_nlp, step_program
from edgeopt.models.edr.training import Step, bisect_step, step_residual, take_step

__all__ = [
    "Step",
    "bisect_step",
    "step_nlp",
    "step_program",
    "step_residual",
    "take_step",
]
