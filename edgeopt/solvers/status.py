"""Why a solver stopped, and what is in hand: two questions, two enumerations.

The words are those of Pyomo's solver interface; the separation is MathOptInterface's.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["Quality", "Status"]


class Status(Enum):
    """Why the solver stopped."""

    CONVERGENCE_CRITERIA_SATISFIED = "convergence criteria satisfied"
    MAX_TIME_LIMIT = "time limit"
    ITERATION_LIMIT = "iteration limit"
    OBJECTIVE_LIMIT = "objective limit"
    PROVEN_INFEASIBLE = "proven infeasible"
    PROVEN_UNBOUNDED = "proven unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    INTERRUPTED = "interrupted"
    ERROR = "error"
    UNKNOWN = "unknown"


class Quality(Enum):
    """What is in hand, judged from the data of the problem."""

    NO_SOLUTION = "no solution"
    INFEASIBLE = "infeasible"
    FEASIBLE = "feasible"
    OPTIMAL = "optimal"

    @property
    def usable(self) -> bool:
        """Whether the values satisfy the constraints."""
        return self in (Quality.FEASIBLE, Quality.OPTIMAL)
