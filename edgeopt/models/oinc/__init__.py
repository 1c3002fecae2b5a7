"""Formulations of OINC: inference and retraining together, one slot, one site, jobs alone.

Source: Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in
Edge Computing.
"""

from __future__ import annotations

from edgeopt.models.oinc.bounds import WeightedSumBound, least_latency, weighted_sum_bound
from edgeopt.models.oinc.programs import (
    allocation_program,
    enough_slots,
    joint,
    joint_misocp,
    slot_misocp,
)
from edgeopt.models.oinc.slot_program import SlotProgram

__all__ = [
    "SlotProgram",
    "WeightedSumBound",
    "allocation_program",
    "enough_slots",
    "joint",
    "joint_misocp",
    "least_latency",
    "slot_misocp",
    "weighted_sum_bound",
]
