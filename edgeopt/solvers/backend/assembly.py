"""How every backend turns what it got into a Solution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.solvers.solution import Seconds, Solution
from edgeopt.solvers.status import Quality, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.solvers.request import Request

__all__ = ["assemble"]


def assemble(
    problem: Any,
    request: Request,
    status: Status,
    *,
    sign: float,
    seconds: tuple[float, float],
    version: str,
    objective: float = float("nan"),
    bound: float | None = None,
    values: Any = None,
    duals: Any = None,
    evidence: Any = None,
    path: str = "cold",
    settings: Mapping[str, Any] | None = None,
) -> Solution:
    """Build the solution that a backend claims, not yet certified."""
    if bound is None or np.isnan(bound):
        bound = (1.0 if status is Status.PROVEN_INFEASIBLE else -1.0) * sign * np.inf
    quality = Quality.NO_SOLUTION
    if values is not None:
        converged = status is Status.CONVERGENCE_CRITERIA_SATISFIED
        quality = Quality.OPTIMAL if converged else Quality.FEASIBLE
    return Solution(
        status=status,
        quality=quality,
        objective=objective if values is not None else float("nan"),
        bound=float(bound),
        values=values,
        duals=duals,
        seconds=Seconds(*seconds),
        solver=request.solver,
        version=version,
        options=request.record() | dict(settings or {}),
        problem=problem,
        path=path,
        evidence=evidence,
        sense="max" if sign < 0 else "min",
    )
