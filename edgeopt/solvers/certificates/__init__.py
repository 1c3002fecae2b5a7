"""Recomputing from the data of a problem what a solver says about its own answer.

One module per kind of problem, each with the same four functions `primal_residual`,
`dual_residual`, `dual_bound` and `objective`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol, cast

from edgeopt.solvers.gap import Sum
from edgeopt.solvers.kinds import Kind, kind_of

if TYPE_CHECKING:
    from edgeopt.solvers.solution import Solution

__all__ = ["Certificate", "certificate_for", "proven_bound", "recomputed_objective"]


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
        """Return the largest violation of a constraint, relative to what meets in it."""

    def dual_residual(self, solution: Solution) -> float:
        """Return the largest violation of dual feasibility; nan where there are no duals."""

    def dual_bound(self, solution: Solution) -> Sum | float:
        """Return the bound that the duals prove; infinite where they prove none."""

    def objective(self, solution: Solution) -> Sum | float:
        """Return the objective at the values."""


def certificate_for(problem: Any) -> Certificate:
    """Return the functions that check solutions of this kind of problem.

    A problem that is never written out in full, such as one solved by column generation, may
    bring the functions as its own methods; without `objective` the stated one is taken.
    """
    if all(hasattr(problem, name) for name in ("primal_residual", "dual_residual", "dual_bound")):
        return cast("Certificate", problem)
    kind = kind_of(problem)
    return cast("Certificate", importlib.import_module(_MODULES[kind]))


def proven_bound(solution: Solution) -> Sum:
    """Return the bound that the data of the problem support."""
    return _sum(certificate_for(solution.problem).dual_bound(solution))


def recomputed_objective(solution: Solution) -> Sum:
    """Return the objective at the values of a solution."""
    evaluate = getattr(certificate_for(solution.problem), "objective", None)
    return _sum(evaluate(solution) if callable(evaluate) else solution.objective)


def _sum(number: Sum | float) -> Sum:
    return number if isinstance(number, Sum) else Sum(float(number), abs(number))
