"""Recomputing what a solver claims of its answer from the data of the problem.

One module per kind of problem, each with the same four functions `primal_residual`,
`dual_residual`, `dual_bound` and `objective`.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from edgeopt.solvers.registry import Kind, LeftBehind, kind_of

if TYPE_CHECKING:
    from edgeopt.solvers.solution import Solution
    from edgeopt.solvers.tolerance import Sum


MODULES: Final = {
    Kind.LINEAR: "edgeopt.solvers.residuals.linear",
    Kind.MIXED_INTEGER: "edgeopt.solvers.residuals.linear",
    Kind.QUADRATIC: "edgeopt.solvers.residuals.quadratic",
    Kind.PYOMO: "edgeopt.solvers.residuals.pyomo",
    Kind.CVXPY: "edgeopt.solvers.residuals.cvxpy",
    Kind.CASADI: "edgeopt.solvers.residuals.casadi",
}


class Residuals(Protocol):
    """How the claims of a solution are recomputed for one kind of problem."""

    def primal_residual(self, solution: Solution) -> float:
        """Return the largest violation of a constraint, relative to what meets in it."""

    def dual_residual(self, solution: Solution) -> float:
        """Return the largest violation of dual feasibility; nan where there are no duals."""

    def dual_bound(self, solution: Solution) -> Sum | float:
        """Return the bound that the duals prove; infinite where they prove none."""

    def objective(self, solution: Solution) -> Sum | float:
        """Return the objective at the values."""


def residuals_for(problem: Any) -> Residuals:
    """Return the functions that check solutions of this kind of problem.

    A problem that is never written out in full, such as one solved by column generation, may
    bring the functions as its own methods; without `objective` the stated one is taken.
    """
    own = ("primal_residual", "dual_residual", "dual_bound")
    if not isinstance(problem, LeftBehind) and all(hasattr(problem, name) for name in own):
        return cast("Residuals", problem)
    return _module(kind_of(problem))


@cache
def _module(kind: Kind) -> Residuals:
    return cast("Residuals", importlib.import_module(MODULES[kind]))
