"""Inference of one slot: problem, exact allocation, assignment, bounds."""

from __future__ import annotations

from edgeopt.models.oinc.slot.objectives import MostMet, most_met
from edgeopt.models.oinc.slot.problem import SlotPlan, SlotProblem, slot_problem
from edgeopt.models.oinc.slot.resource_shares import (
    Allocation,
    Fit,
    allocate,
    closed_form_cost,
    fits,
)
from edgeopt.models.oinc.slot.solve import assign, assignment_cost, evaluate, solve_slot

__all__ = [
    "Allocation",
    "Fit",
    "MostMet",
    "SlotPlan",
    "SlotProblem",
    "allocate",
    "assign",
    "assignment_cost",
    "closed_form_cost",
    "evaluate",
    "fits",
    "most_met",
    "slot_problem",
    "solve_slot",
]
