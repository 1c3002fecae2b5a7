"""Peers that several benchmarks race against."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from benchmarks.record import Candidate, Reading

if TYPE_CHECKING:
    from edgeopt.solvers import LinearProgram

__all__ = ["linear_solver"]


def linear_solver(program: LinearProgram, **options: Any) -> Candidate:
    """Return a call that solves a finished program on one thread, after it is loaded into it."""
    from edgeopt.errors import QualityWarning
    from edgeopt.solvers import Status, solve

    def peer(time_limit: float | None) -> Reading:
        with warnings.catch_warnings():
            # Methods without a vertex end a little off; their gap is printed.
            warnings.simplefilter("ignore", QualityWarning)
            solution = solve(program, threads=1, time_limit=time_limit, raises=False, **options)
        if solution.status is not Status.CONVERGENCE_CRITERIA_SATISFIED:
            return Reading(finished=False)
        load, seconds = solution.seconds
        phases = {"load": load, "solve": seconds}
        return Reading(objective=solution.objective, gap=solution.gap, phases=phases)

    return peer
