"""RESCUE's offline problem: which tasks to admit, with which server and profile, in expectation."""

from __future__ import annotations

from edgeopt.models.rescue.bounds import SafeBound, safe_bound
from edgeopt.models.rescue.matrix import p1_lp_matrix, unsafe_pairs
from edgeopt.models.rescue.programs import p1, p1_lp
from edgeopt.models.rescue.solution import P1Duals, P1Solution
from edgeopt.models.rescue.solve import solve_p1_lp

__all__ = [
    "P1Duals",
    "P1Solution",
    "SafeBound",
    "p1",
    "p1_lp",
    "p1_lp_matrix",
    "safe_bound",
    "solve_p1_lp",
    "unsafe_pairs",
]
