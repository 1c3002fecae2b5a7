"""Linear and convex quadratic programs by Clarabel, handed over as arrays."""

from __future__ import annotations

import time
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import clarabel
import numpy as np
from scipy import sparse

from edgeopt.errors import OptionError
from edgeopt.solvers.backend.assembly import RowSides, last_point, log_lines, only_common
from edgeopt.solvers.quadratic import upper_triangle
from edgeopt.solvers.solution import Status, answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Request
    from edgeopt.solvers.solution import Solution

STATUS: Final[Mapping[str, Status]] = MappingProxyType(
    {
        "Solved": Status.CONVERGENCE_CRITERIA_SATISFIED,
        "AlmostSolved": Status.UNKNOWN,
        "PrimalInfeasible": Status.CLAIMED_INFEASIBLE,
        "AlmostPrimalInfeasible": Status.UNKNOWN,
        "DualInfeasible": Status.CLAIMED_UNBOUNDED,
        "AlmostDualInfeasible": Status.UNKNOWN,
        "MaxIterations": Status.ITERATION_LIMIT,
        "MaxTime": Status.MAX_TIME_LIMIT,
        "CallbackTerminated": Status.INTERRUPTED,
        "InsufficientProgress": Status.UNKNOWN,
        "NumericalError": Status.ERROR,
        "Unsolved": Status.ERROR,
    }
)

TOLERANCE: Final = 1e-10  # its own default, 1e-8, leaves gaps that are open to a certificate


def solve(program: LinearProgram, request: Request) -> Solution:
    """Solve a linear or convex quadratic program."""
    only_common(request, "Clarabel")
    begun = time.perf_counter()
    rows, low, high = RowSides(program), program.row_lower, program.row_upper
    below = np.flatnonzero(np.isfinite(program.lower))
    above = np.flatnonzero(np.isfinite(program.upper))
    column = sparse.eye_array(program.shape[1], format="csr")
    matrix = sparse.vstack(
        [rows.matrix(rows.equal), rows.matrix(rows.upper), -rows.matrix(rows.lower),
         column[above], -column[below]], format="csc",
    )  # fmt: skip
    right = np.concatenate([high[rows.equal], high[rows.upper], -low[rows.lower],
                            program.upper[above], -program.lower[below]])  # fmt: skip
    equal = len(rows.equal)
    cones = [clarabel.ZeroConeT(equal)] if equal else []
    if len(right) > equal:
        cones.append(clarabel.NonnegativeConeT(len(right) - equal))
    settings = _settings(request)
    solver = clarabel.DefaultSolver(
        upper_triangle(program),
        program.sign * program.cost,
        sparse.csc_matrix(matrix),
        right,
        cones,
        settings,
    )
    if request.log:
        solver.print_to_buffer()
    built = time.perf_counter()
    found = solver.solve()
    seconds = (built - begun, time.perf_counter() - built)
    if request.log:
        log_lines(solver.get_print_buffer())
    status = STATUS.get(str(found.status), Status.UNKNOWN)
    values, duals = last_point(status, found.x), None
    if values is not None:
        z = np.array(found.z)
        upper, lower = equal + len(rows.upper), equal + len(rows.upper) + len(rows.lower)
        duals = program.sign * rows.duals(-z[:equal], -z[equal:upper], z[upper:lower])
    return answer(
        program,
        request,
        status,
        seconds=seconds,
        version=version("clarabel"),
        values=values,
        duals=duals,
        settings=_named(request),
    )


def _named(request: Request) -> dict[str, Any]:
    """Return a request under Clarabel's own names; the caller's own options come last and win."""
    tolerance = TOLERANCE if request.tolerance is None else float(request.tolerance)
    named: dict[str, Any] = dict.fromkeys(("tol_feas", "tol_gap_abs", "tol_gap_rel"), tolerance)
    if request.gap is not None:
        named["tol_gap_rel"] = float(request.gap)
    if request.time_limit is not None:
        named["time_limit"] = float(request.time_limit)
    if request.threads is not None:
        named["max_threads"] = int(request.threads)
    return named | request.options


def _settings(request: Request) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = request.log
    for name, value in _named(request).items():
        try:
            setattr(settings, name, value)
        except (AttributeError, TypeError) as refused:
            raise OptionError(f"Clarabel does not take {name}={value!r}") from refused
    return settings
