"""Inference of one slot: problem, exact allocation, assignment, bounds."""

from __future__ import annotations

from edgeopt.models.oinc.slot.plan import SlotPlan
from edgeopt.models.oinc.slot.problem import SlotProblem, slot_problem

__all__ = ["SlotPlan", "SlotProblem", "slot_problem"]
