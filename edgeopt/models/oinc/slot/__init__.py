"""Inference of one slot: problem, exact allocation, assignment, bounds."""

from __future__ import annotations

from edgeopt.models.oinc.slot.allocation import Allocation, allocate, closed_form_cost
from edgeopt.models.oinc.slot.assignment import assign, assignment_cost
from edgeopt.models.oinc.slot.feasibility import Fit, fits
from edgeopt.models.oinc.slot.plan import SlotPlan
from edgeopt.models.oinc.slot.problem import SlotProblem, slot_problem
from edgeopt.models.oinc.slot.solve import evaluate, solve_slot

__all__ = [
    "Allocation",
    "Fit",
    "SlotPlan",
    "SlotProblem",
    "allocate",
    "assign",
    "assignment_cost",
    "closed_form_cost",
    "evaluate",
    "fits",
    "slot_problem",
    "solve_slot",
]
