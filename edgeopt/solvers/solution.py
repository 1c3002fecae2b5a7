"""A solution that carries its own proof."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import ProblemTypeError
from edgeopt.solvers.certificates import certificate_for
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.status import Quality, Status
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Seconds", "Solution"]


class Seconds(NamedTuple):
    """Wall-clock seconds that building the solver's model and solving it took."""

    build: float
    solve: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.build + self.solve


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found, with everything needed to check it.

    Residuals and gap are methods that recompute from the data of the problem; nothing is believed.

    Parameters
    ----------
    status
        Why the solver stopped.
    quality
        What is in hand.
    objective
        Value of the best point found; nan if there is none.
    bound
        Proven limit of the optimum: below it when minimising, above it when maximising; infinite
        if nothing is proven. For linear programs recomputed from the duals, for mixed-integer
        programs the solver's.
    values
        The point: an array of shape [n] for a `LinearProgram`; otherwise a mapping from the name
        of a variable to its value. None if there is none.
    duals
        Derivative of the optimum by the right-hand side of each constraint, whatever the sense:
        an array of shape [m], or a mapping from the name of a constraint. None if there are none.
    seconds
        Time to build and to solve.
    solver, version
        Who solved it.
    options
        What was asked for, and what that became under the solver's own names.
    problem
        The problem itself, against which the methods check.
    path
        How the solver started: "cold", "warm" (from an earlier basis or point), or "in place".
    evidence
        Solver's internal primal-dual pair where the problem's own form does not carry all duals
        (a CVXPY problem's cone program); None otherwise.
    """

    status: Status
    quality: Quality
    objective: float
    bound: float
    values: Any
    duals: Any
    seconds: Seconds
    solver: str
    version: str
    options: Mapping[str, Any]
    problem: Any = field(repr=False)
    path: str = "cold"
    evidence: Any = field(default=None, repr=False)

    def primal_residual(self) -> float:
        """Return the largest constraint violation, relative to the side where that exceeds 1."""
        if self.values is None:
            return float("inf")
        return certificate_for(self.problem).primal_residual(self)

    def dual_residual(self) -> float:
        """Return the largest violation of dual feasibility, relative to the cost where it is > 1.

        It is nan where the problem has no duals (mixed-integer) or they are not known.
        """
        return certificate_for(self.problem).dual_residual(self)

    def duality_gap(self) -> float:
        """Return ``|bound - objective| / max(1, |objective|)``, infinite where one is missing."""
        gap = abs(self.bound - self.objective) / max(1.0, abs(self.objective))
        return float("inf") if np.isnan(gap) else float(gap)

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return self.duality_gap()

    def reduced_costs(self) -> NDArray[np.float64]:
        """Return the derivative of the optimum by the active bound of each column, shape [n].

        Raises
        ------
        ProblemTypeError
            If the problem is not a linear program with duals.
        """
        if not isinstance(self.problem, LinearProgram) or self.duals is None:
            raise ProblemTypeError("reduced costs need a linear program solved with duals")
        reduced: NDArray[np.float64] = self.problem.cost - self.problem.matrix.T @ self.duals
        return reduced

    def certify(self, tolerance: float = DEFAULT, *, gap: float | None = None) -> Solution:
        """Return this solution with the quality that the problem's data support.

        The bound is recomputed where duals allow it. The quality never rises: a point that
        violates a constraint by more than the tolerance is infeasible; one whose duals or gap do
        not prove optimality is only feasible.

        Parameters
        ----------
        tolerance
            Largest residual that is accepted.
        gap
            Largest relative gap that is accepted; the same as the tolerance by default.

        Returns
        -------
        The same solution with bound and quality settled.
        """
        checked = replace(self, bound=certificate_for(self.problem).dual_bound(self))
        if self.values is None:
            return replace(checked, quality=Quality.NO_SOLUTION)
        if not self.primal_residual() <= tolerance:
            return replace(checked, quality=Quality.INFEASIBLE)
        dual = self.dual_residual()
        proven = checked.duality_gap() <= max(tolerance, gap or 0.0)
        # Without duals (nan) the gap alone decides: it is the stronger statement anyhow.
        if self.quality is Quality.OPTIMAL and not (proven and not dual > tolerance):
            return replace(checked, quality=Quality.FEASIBLE)
        return checked

    def __str__(self) -> str:
        parts = [
            f"{self.quality.value} ({self.status.value}) by {self.solver} {self.version}",
            f"objective {self.objective:.10g}",
            f"bound {self.bound:.10g}",
            f"gap {self.duality_gap():.2g}",
            f"{self.seconds.total:.3g} s",
        ]
        return ", ".join(parts)
