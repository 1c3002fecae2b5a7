"""The proven bound of a slot, by columns of a site and the set of requests that it answers."""

from __future__ import annotations

from edgeopt.models.oinc.slot.columns.master import SlotBound, slot_bound

__all__ = ["SlotBound", "slot_bound"]
