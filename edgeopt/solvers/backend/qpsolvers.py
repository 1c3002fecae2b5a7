"""Linear and convex quadratic programs through qpsolvers, which reaches twenty solvers."""

from __future__ import annotations

import contextlib
import time
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import qpsolvers
from scipy import sparse

from edgeopt.errors import MissingDependencyError, OptionError, SolverError
from edgeopt.solvers.backend.assembly import (
    LogStream,
    RowSides,
    answer_without_columns,
    last_point,
    only_common,
)
from edgeopt.solvers.solution import Status, answer

if TYPE_CHECKING:
    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Request
    from edgeopt.solvers.solution import Solution


def solve(program: LinearProgram, request: Request) -> Solution:
    """Solve a program by the solver after the colon; its options are its own."""
    name = request.solver.rpartition(":")[2]
    only_common(request, name)
    for option in ("time_limit", "tolerance", "threads"):
        if getattr(request, option) is not None:
            raise OptionError(f"{option}: qpsolvers has no common name; pass that of {name}")
    known = qpsolvers.available_solvers
    if name not in known:
        raise MissingDependencyError(
            f"qpsolvers does not find the solver {name!r}: pip install qpsolvers[{name}]; it finds "
            f"{', '.join(known)}"
        )
    if program.shape[1] == 0:
        return answer_without_columns(program, request, version("qpsolvers"))
    begun = time.perf_counter()
    sides = RowSides(program)
    curved = program.quadratic
    if curved is None:
        curved = sparse.csc_matrix((program.shape[1],) * 2)
    upper, lower = sides.matrix(sides.upper), sides.matrix(sides.lower)
    above = np.concatenate([program.row_upper[sides.upper], -program.row_lower[sides.lower]])
    stated = qpsolvers.Problem(
        sparse.csc_matrix(program.sign * curved),
        program.sign * program.cost,
        sparse.csc_matrix(sparse.vstack([upper, -lower])) if len(above) else None,
        above if len(above) else None,
        sparse.csc_matrix(sides.matrix(sides.equal)) if len(sides.equal) else None,
        program.row_upper[sides.equal] if len(sides.equal) else None,
        program.lower,
        program.upper,
    )
    built = time.perf_counter()
    with contextlib.redirect_stdout(LogStream()):
        try:
            found = qpsolvers.solve_problem(
                stated, solver=name, initvals=request.start, verbose=request.log, **request.options
            )
        except Exception as why:  # each solver has errors of its own
            if any(option in str(why) for option in request.options):
                raise OptionError(f"{name} does not take an option: {why}") from None
            raise SolverError(f"{name} through qpsolvers refuses the problem: {why}") from None
    seconds = (built - begun, time.perf_counter() - built)
    status = Status.CONVERGENCE_CRITERIA_SATISFIED if found.found else Status.UNKNOWN
    values = None if found.x is None else last_point(status, found.x)
    duals = None
    if values is not None and found.z is not None and found.y is not None:
        by_row, count = -np.ravel(found.z), len(sides.upper)
        duals = program.sign * sides.duals(-np.ravel(found.y), by_row[:count], -by_row[count:])
    return answer(
        program, request, status, seconds=seconds, version=version("qpsolvers"), values=values,
        duals=duals, settings=request.options,
    )  # fmt: skip
