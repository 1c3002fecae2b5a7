"""What CVXPY takes without a word, or refuses without saying where: said before or afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import cvxpy
import numpy as np
from cvxpy.atoms.affine.wraps import nsd_wrap, psd_wrap
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP
from scipy import sparse

from edgeopt.errors import InstanceError
from edgeopt.solvers.quadratic import convex_matrix

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

SLACK: Final = 1e-9
"""Part of its largest entry by which a wrapped matrix may curve the wrong way: rounding."""


def constraint_names(problem: Any) -> list[str]:
    """Return a name for each constraint: its label, or its position."""
    return [
        constraint.label or f"constraint[{position}]"
        for position, constraint in enumerate(problem.constraints)
    ]


def _parts(problem: Any) -> Iterator[tuple[str, Any]]:
    """Yield the objective and the constraints with their names."""
    yield "the objective", problem.objective
    yield from zip(constraint_names(problem), problem.constraints, strict=True)


def check_data(problem: Any) -> None:
    """Raise if a parameter has no value, or a matrix is not as definite as it is vouched to be."""
    for where, part in _parts(problem):
        for parameter in part.parameters():
            if parameter.value is None:
                raise InstanceError(
                    f"parameter {parameter.name()}",
                    f"is used in {where}, but has no value: set it",
                )
        for wrap in _wraps(part):
            _check_wrap(wrap, where)


def _wraps(expression: Any) -> Iterator[Any]:
    if isinstance(expression, psd_wrap | nsd_wrap):
        yield expression
    for argument in getattr(expression, "args", ()):
        yield from _wraps(argument)


def _check_wrap(wrap: Any, where: str) -> None:
    value = wrap.args[0].value
    if value is None:  # of a variable: nothing to look at before the solve
        return
    sign = 1.0 if isinstance(wrap, psd_wrap) else -1.0
    given = sparse.csc_array(value, dtype=float)
    slack = SLACK * float(abs(given).max()) if given.nnz else 0.0
    eased = (given + given.T) / 2.0 + sign * slack * sparse.eye_array(given.shape[0])
    try:
        convex_matrix(eased, given.shape[0], sign)
    except InstanceError as failure:
        name, definite = type(wrap).__name__, "positive" if sign > 0.0 else "negative"
        raise InstanceError(
            f"the matrix of {name} in {where}",
            f"is not {definite} semidefinite as vouched for ({failure}); leave {name} and "
            "assume_PSD out and mend the matrix, or state the problem as a nonlinear program",
        ) from None


def check_numbers(problem: Any) -> None:
    """Raise if a constant or parameter holds a number that is not finite."""
    for where, part in _parts(problem):
        for constant in [*part.constants(), *part.parameters()]:
            value = constant.value
            data = value.data if sparse.issparse(value) else np.asarray(value)
            if not np.isfinite(data).all():
                kind = "parameter" if isinstance(constant, cvxpy.Parameter) else "constant"
                raise InstanceError(
                    f"{kind} {constant.name()[:60]}", f"in {where} must be finite, not nan or inf"
                )


def able(problem: Any, names: Collection[str]) -> list[str]:
    """Return those of the solvers named, in lower case, that are installed and take a problem."""
    return [name for name in names if _takes(problem, name.upper())]


def _takes(problem: Any, name: str) -> bool:
    known = SOLVER_MAP_CONIC.get(name) or SOLVER_MAP_QP.get(name)
    if known is None or not known.is_installed():
        return False
    try:
        problem._construct_chain(solver=name)
    except (cvxpy.error.DCPError, cvxpy.error.SolverError):
        return False
    return True
