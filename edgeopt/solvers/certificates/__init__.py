"""Recomputing from the data of a problem what a solver says about its own answer.

One module per kind of problem, each with the same three functions `primal_residual`,
`dual_residual` and `dual_bound`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol, cast

from edgeopt.solvers.kinds import Kind, kind_of

if TYPE_CHECKING:
    from edgeopt.solvers.solution import Solution

__all__ = ["Certificate", "certificate_for"]


_MODULES = {
    Kind.LINEAR: f"{__name__}.linear",
    Kind.MIXED_INTEGER: f"{__name__}.linear",
    Kind.PYOMO: f"{__name__}.pyomo",
    Kind.CVXPY: f"{__name__}.cvxpy",
    Kind.CASADI: f"{__name__}.casadi",
}


class Certificate(Protocol):
    """How the claims of a solution are recomputed for one kind of problem."""

    def primal_residual(self, solution: Solution) -> float:
        """Return the largest violation of a constraint, relative to its side where that is > 1."""

    def dual_residual(self, solution: Solution) -> float:
        """Return the largest violation of dual feasibility; nan where there are no duals."""

    def dual_bound(self, solution: Solution) -> float:
        """Return the bound that the duals prove; infinite where they prove none."""


def certificate_for(problem: Any) -> Certificate:
    """Return the functions that check solutions of this kind of problem.

    A problem that is never written out in full, such as one solved by column generation, may
    bring the three functions as its own methods.
    """
    if all(hasattr(problem, name) for name in ("primal_residual", "dual_residual", "dual_bound")):
        return cast("Certificate", problem)
    kind = kind_of(problem)
    return cast("Certificate", importlib.import_module(_MODULES[kind]))
