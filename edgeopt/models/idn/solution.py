"""What solving a placement problem yields, whichever method solved it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edgeopt.solvers.gap import relative_gap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers import Quality, Seconds, Solution, Status

__all__ = ["PlacementSolution"]


@dataclass(frozen=True, eq=False)
class PlacementSolution:
    """A feasible allocation with a proven upper bound on the gain of every other.

    Parameters
    ----------
    allocation
        What every node hosts, shape [V, M]: truth values, or shares in [0, 1] from a relaxation.
        Rows of pinned nodes equal the repositories.
    objective
        Weighted gain of this allocation in the program that was solved, ms.
    bound
        Proven upper bound on the optimum of that program, ms.
    solution
        Status, quality, timings and solver.
    size
        Sum of the terms that objective and bound are differences of, ms; their own size by default.
    """

    allocation: NDArray[Any] = field(repr=False)
    objective: float
    bound: float
    solution: Solution = field(repr=False)
    size: float | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """Proven relative gap ``(bound - objective) / max(|objective|, |bound|)``.

        It is 0 where the difference is rounding.
        """
        return relative_gap(
            self.objective, self.bound, objective_size=self.size, bound_size=self.size
        )

    @property
    def status(self) -> Status:
        """Why the solver stopped."""
        return self.solution.status

    @property
    def quality(self) -> Quality:
        """What is in hand, as the solver's point was certified."""
        return self.solution.quality

    @property
    def seconds(self) -> Seconds:
        """Seconds that building and solving took."""
        return self.solution.seconds

    @property
    def solver(self) -> str:
        """Who solved it."""
        return self.solution.solver
