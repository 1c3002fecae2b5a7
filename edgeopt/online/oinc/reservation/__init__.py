"""How much CPU is kept for jobs."""

from __future__ import annotations

from edgeopt.online.oinc.reservation.by_ratio import Reservation
from edgeopt.online.oinc.reservation.static import StaticShares

__all__ = ["Reservation", "StaticShares"]
