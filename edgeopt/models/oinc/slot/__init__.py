"""Inference of one slot: problem, exact allocation, assignment, bounds."""

from __future__ import annotations

from edgeopt.models.oinc.slot.allocation import Allocation, allocate, closed_form_cost
from edgeopt.models.oinc.slot.feasibility import Fit, fits
from edgeopt.models.oinc.slot.plan import SlotPlan
from edgeopt.models.oinc.slot.problem import SlotProblem, slot_problem

__all__ = [
    "Allocation",
    "Fit",
    "SlotPlan",
    "SlotProblem",
    "allocate",
    "closed_form_cost",
    "fits",
    "slot_problem",
]
