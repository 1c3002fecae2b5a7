"""The proven bound of a slot, by columns of a site and the set of requests that it answers."""

from __future__ import annotations

from edgeopt.models.oinc.slot.columns.branch_and_bound import (
    ProvenPlan,
    SlotBound,
    slot_bound,
    solve_by_columns,
)

__all__ = ["ProvenPlan", "SlotBound", "slot_bound", "solve_by_columns"]
