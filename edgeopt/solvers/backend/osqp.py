"""Convex quadratic programs by OSQP, handed over as arrays."""

from __future__ import annotations

import contextlib
import time
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import osqp
from scipy import sparse

from edgeopt.errors import OptionError
from edgeopt.solvers.backend.assembly import (
    LogStream,
    answer_without_columns,
    last_point,
    only_common,
    refusal,
)
from edgeopt.solvers.backend.cvxpy import ITERATIONS, refuse_unknown
from edgeopt.solvers.quadratic import upper_triangle
from edgeopt.solvers.solution import Status, answer
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Request
    from edgeopt.solvers.solution import Solution

_CODES = osqp.SolverStatus
STATUS: Final[Mapping[int, Status]] = MappingProxyType(
    {
        int(_CODES.OSQP_SOLVED): Status.CONVERGENCE_CRITERIA_SATISFIED,
        int(_CODES.OSQP_SOLVED_INACCURATE): Status.UNKNOWN,
        int(_CODES.OSQP_PRIMAL_INFEASIBLE): Status.CLAIMED_INFEASIBLE,
        int(_CODES.OSQP_PRIMAL_INFEASIBLE_INACCURATE): Status.UNKNOWN,
        int(_CODES.OSQP_DUAL_INFEASIBLE): Status.CLAIMED_UNBOUNDED,
        int(_CODES.OSQP_DUAL_INFEASIBLE_INACCURATE): Status.UNKNOWN,
        int(_CODES.OSQP_MAX_ITER_REACHED): Status.ITERATION_LIMIT,
        int(_CODES.OSQP_TIME_LIMIT_REACHED): Status.MAX_TIME_LIMIT,
        int(_CODES.OSQP_SIGINT): Status.INTERRUPTED,
        int(_CODES.OSQP_NON_CVX): Status.ERROR,
        int(_CODES.OSQP_UNSOLVED): Status.ERROR,
    }
)


def solve(program: LinearProgram, request: Request) -> Solution:
    """Solve a convex quadratic program; bounds of columns are rows to OSQP."""
    only_common(request, "OSQP")
    if request.threads not in (None, 1):
        raise OptionError("OSQP solves on one thread; leave threads out")
    if program.shape[1] == 0:
        return answer_without_columns(program, request, version("osqp"))
    begun = time.perf_counter()
    bounded = np.flatnonzero(np.isfinite(program.lower) | np.isfinite(program.upper))
    column = sparse.eye_array(program.shape[1], format="csr")[bounded]
    matrix = sparse.vstack([program.matrix, column], format="csc")
    refuse_unknown("OSQP", request.options)
    settings = _named(request)
    solver = osqp.OSQP()
    with contextlib.redirect_stdout(LogStream()):
        try:
            solver.setup(
                upper_triangle(program),
                program.sign * program.cost,
                sparse.csc_matrix(matrix),
                np.concatenate([program.row_lower, program.lower[bounded]]),
                np.concatenate([program.row_upper, program.upper[bounded]]),
                verbose=request.log,
                **settings,
            )
        except (TypeError, ValueError) as refused:
            raise OptionError(f"OSQP does not take an option: {refused}") from None
        except osqp.OSQPException as refused:
            if request.options:
                raise OptionError(f"OSQP does not take an option: {refused}") from None
            raise refusal("OSQP", program, f"error {refused}") from None
        if request.start is not None:
            solver.warm_start(x=request.start)
        built = time.perf_counter()
        found = solver.solve(raise_error=False)
    seconds = (built - begun, time.perf_counter() - built)
    status = STATUS.get(int(found.info.status_val), Status.UNKNOWN)
    values, duals = last_point(status, found.x), None
    if values is not None:
        duals = -program.sign * np.array(found.y)[: program.shape[0]]
    return answer(
        program,
        request,
        status,
        seconds=seconds,
        version=version("osqp"),
        values=values,
        duals=duals,
        settings=settings,
    )


def _named(request: Request) -> dict[str, Any]:
    """Return a request under OSQP's own names; the caller's own options come last and win."""
    tolerance = TIGHT if request.tolerance is None else float(request.tolerance)
    named: dict[str, Any] = dict(ITERATIONS["OSQP"]) | {"eps_abs": tolerance, "eps_rel": tolerance}
    if request.time_limit is not None:
        # OSQP takes 0 for no limit.
        named["time_limit"] = max(float(request.time_limit), 1e-9)
    return named | request.options
