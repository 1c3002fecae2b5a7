"""CBC and CP-SAT through OR-Tools' linear solver, handed over as a message."""

from __future__ import annotations

import time
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.solvers.backend import or_tools
from edgeopt.solvers.backend.assembly import answer_without_columns, only_common, refusal
from edgeopt.solvers.residuals.linear import implied_bounds
from edgeopt.solvers.solution import Status, answer
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Request
    from edgeopt.solvers.solution import Solution

or_tools.load()
from ortools.linear_solver import linear_solver_pb2 as messages  # noqa: E402 - after highspy
from ortools.linear_solver import pywraplp  # noqa: E402 - after highspy

LARGEST: Final = 1e7
"""The largest value at which CP-SAT looks for a column without bounds (``mip_max_bound``)."""

UNKNOWN: Final = 1e30
"""Size from which on a bound is none."""

TYPES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "cbc": pywraplp.Solver.CBC_MIXED_INTEGER_PROGRAMMING,
        "cp-sat": pywraplp.Solver.SAT_INTEGER_PROGRAMMING,
    }
)

STATUS: Final[Mapping[int, Status]] = MappingProxyType(
    {
        messages.MPSOLVER_OPTIMAL: Status.CONVERGENCE_CRITERIA_SATISFIED,
        messages.MPSOLVER_FEASIBLE: Status.MAX_TIME_LIMIT,
        messages.MPSOLVER_NOT_SOLVED: Status.MAX_TIME_LIMIT,
        # Presolve says so of unbounded programs, too.
        messages.MPSOLVER_INFEASIBLE: Status.INFEASIBLE_OR_UNBOUNDED,
        messages.MPSOLVER_UNBOUNDED: Status.CLAIMED_UNBOUNDED,
        messages.MPSOLVER_CANCELLED_BY_USER: Status.INTERRUPTED,
        messages.MPSOLVER_ABNORMAL: Status.ERROR,
        messages.MPSOLVER_UNKNOWN_STATUS: Status.UNKNOWN,
    }
)


def solve(program: LinearProgram, request: Request) -> Solution:
    """Solve a mixed-integer linear program; what the two cannot report is not asked of them."""
    only_common(request, request.solver)
    if program.shape[1] == 0:
        return answer_without_columns(program, request, version("ortools"))
    begun = time.perf_counter()
    solver = pywraplp.Solver("edgeopt", TYPES[request.solver])
    refused = solver.LoadModelFromProto(_model(program, request))
    if refused:
        raise refusal(request.solver, program, refused)
    settings = _configure(solver, request)
    built = time.perf_counter()
    solver.Solve(settings.pop("parameters"))
    seconds = (built - begun, time.perf_counter() - built)
    found = messages.MPSolutionResponse()
    solver.FillSolutionResponseProto(found)
    status = STATUS.get(found.status, Status.ERROR)
    values = np.array(found.variable_value) if len(found.variable_value) else None
    bound = found.best_objective_bound
    known = values is not None and np.isfinite(bound) and abs(bound) < UNKNOWN
    if request.solver == "cp-sat" and values is not None:
        far = _far_columns(program)
        known = known and not far.any()  # it has searched a part
        if (np.abs(values[far]) >= 0.5 * LARGEST).any():
            status, values = Status.INFEASIBLE_OR_UNBOUNDED, None
    return answer(
        program,
        request,
        status,
        seconds=seconds,
        version=version("ortools"),
        bound=program.sign * bound if known else None,
        values=values,
        settings=settings,
    )


def _far_columns(program: LinearProgram) -> Any:
    """Return the columns that may be larger than CP-SAT looks, by their bounds and by the rows."""
    sides = np.stack([program.lower, program.upper])
    far: Any = (np.abs(sides) > LARGEST).any(axis=0)
    if far.any():
        far &= (np.abs(np.stack(implied_bounds(program, far))) > LARGEST).any(axis=0)
    return far


def _model(program: LinearProgram, request: Request) -> Any:
    """Return the minimisation as a message."""
    model = messages.MPModelProto(objective_offset=program.sign * program.offset)
    columns = zip(
        (program.sign * program.cost).tolist(), program.lower.tolist(), program.upper.tolist(),
        program.integer.tolist(), strict=True,
    )  # fmt: skip
    for cost, low, high, whole in columns:
        model.variable.add(
            objective_coefficient=cost, lower_bound=low, upper_bound=high, is_integer=whole
        )
    by_row = program.matrix.tocsr()
    for row, (low, high) in enumerate(zip(program.row_lower, program.row_upper, strict=True)):
        span = slice(by_row.indptr[row], by_row.indptr[row + 1])
        model.constraint.add(
            var_index=by_row.indices[span].tolist(), coefficient=by_row.data[span].tolist(),
            lower_bound=float(low), upper_bound=float(high),
        )  # fmt: skip
    if request.start is not None:
        given = np.flatnonzero(np.isfinite(request.start))
        model.solution_hint.var_index.extend(given.tolist())
        model.solution_hint.var_value.extend(request.start[given].tolist())
    return model


def _configure(solver: Any, request: Request) -> dict[str, Any]:
    """Set the options of a request; CP-SAT's own are fields of its parameters."""
    gap = DEFAULT if request.gap is None else float(request.gap)
    settings: dict[str, Any] = {"relative_gap_limit": gap}
    if request.time_limit is not None:
        solver.SetTimeLimit(max(int(1000.0 * request.time_limit), 1))
    if request.log:
        solver.EnableOutput()
    parameters = pywraplp.MPSolverParameters()
    parameters.SetDoubleParam(pywraplp.MPSolverParameters.RELATIVE_MIP_GAP, gap)
    if request.tolerance is not None:
        tolerance = pywraplp.MPSolverParameters.PRIMAL_TOLERANCE
        parameters.SetDoubleParam(tolerance, float(request.tolerance))
    if request.solver == "cbc":
        if request.options:
            raise OptionError(f"cbc through OR-Tools takes no option {min(request.options)!r}")
        if request.threads is not None and not solver.SetNumThreads(request.threads).ok():
            raise OptionError("threads: CBC through OR-Tools does not take it; leave it out")
    else:
        settings |= {"absolute_gap_limit": float(request.absolute_gap)}
        if request.threads is not None:
            settings["num_workers"] = request.threads
        settings |= request.options
        text = " ".join(f"{name}: {_written(value)}" for name, value in settings.items())
        if not solver.SetSolverSpecificParametersAsString(text):
            raise OptionError(f"CP-SAT does not take an option among {text}")
    return settings | {"parameters": parameters}


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
