"""Small problems with known answers that every backend must reproduce.

A user's own backend can be run through them: ``conformance("mine")`` lists what it gets wrong.
"""

from __future__ import annotations

from edgeopt.solvers.conformance.cases import CASES, Case
from edgeopt.solvers.conformance.checking import (
    check_derivatives,
    check_solution,
    conformance,
)

__all__ = ["CASES", "Case", "check_derivatives", "check_solution", "conformance"]
