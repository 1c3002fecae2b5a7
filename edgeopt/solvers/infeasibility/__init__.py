"""Why a problem has no solution: a smallest conflict and the cheapest repair, in labels."""

from __future__ import annotations

from edgeopt.solvers.infeasibility.explaining import explain
from edgeopt.solvers.infeasibility.explanation import Explanation, Side

__all__ = ["Explanation", "Side", "explain"]
