"""The kinds of problem that `solve` takes, told apart without importing a modelling library."""

from __future__ import annotations

from enum import Enum
from typing import Any

from edgeopt.errors import ProblemTypeError
from edgeopt.solvers.program import LinearProgram

__all__ = ["Kind", "kind_of"]


class Kind(Enum):
    """A class of problems."""

    LINEAR = "linear program"
    MIXED_INTEGER = "mixed-integer linear program"
    PYOMO = "Pyomo model"
    CVXPY = "CVXPY problem"
    CASADI = "CasADi nonlinear program"


def kind_of(problem: Any) -> Kind:
    """Return the kind of a problem."""
    if isinstance(problem, LinearProgram):
        return Kind.MIXED_INTEGER if problem.is_mixed_integer else Kind.LINEAR
    from edgeopt.solvers.nonlinear import CasadiNlp

    if isinstance(problem, CasadiNlp):
        return Kind.CASADI
    # A problem can only come from a library that is loaded already: its class says which.
    roots = {cls.__module__.partition(".")[0] for cls in type(problem).__mro__}
    if "pyomo" in roots and hasattr(problem, "component_data_objects"):
        return Kind.PYOMO
    if "cvxpy" in roots and hasattr(problem, "get_problem_data"):
        return Kind.CVXPY
    raise ProblemTypeError(
        f"cannot solve a {type(problem).__name__}: pass a LinearProgram, a Pyomo model, "
        "a CVXPY problem or a CasadiNlp"
    )
