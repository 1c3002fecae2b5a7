"""SciPy's `linprog` and `milp`: the second opinion."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import scipy
from scipy.optimize import Bounds, LinearConstraint, OptimizeWarning, linprog, milp

from edgeopt.errors import OptionError
from edgeopt.solvers.backend.assembly import RowSides, answer_without_columns
from edgeopt.solvers.solution import Status, answer
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Request
    from edgeopt.solvers.solution import Solution

STATUS: Final[Mapping[int, Status]] = MappingProxyType(
    {
        0: Status.CONVERGENCE_CRITERIA_SATISFIED,
        1: Status.ITERATION_LIMIT,
        2: Status.CLAIMED_INFEASIBLE,
        3: Status.CLAIMED_UNBOUNDED,
        4: Status.UNKNOWN,
    }
)
"""SciPy's code 1 covers time limits as well; its message tells them apart."""

METHODS: Final[Mapping[str | None, str]] = MappingProxyType(
    {None: "highs", "simplex": "highs-ds", "ipm": "highs-ipm"}
)


def solve(program: LinearProgram, request: Request) -> Solution:
    """Solve a linear program with `linprog` or a mixed-integer one with `milp`."""
    if request.threads not in (None, 1):
        raise OptionError("SciPy solves on one thread; leave threads out")
    if request.algorithm not in METHODS:
        raise OptionError(f"SciPy has no algorithm {request.algorithm!r}; take simplex or ipm")
    if program.shape[1] == 0:
        return answer_without_columns(program, request, scipy.__version__)
    start = time.perf_counter()
    solve_one = _solve_milp if program.is_mixed_integer else _solve_linprog
    result, duals, built, settings = solve_one(program, request)
    status = STATUS[result.status]
    if status is Status.ITERATION_LIMIT and "time limit" in result.message.lower():
        status = Status.MAX_TIME_LIMIT
    values = None if result.x is None else np.asarray(result.x)
    # Of a linear program SciPy calls 0 the bound.
    bound = getattr(result, "mip_dual_bound", None) if program.is_mixed_integer else None
    return answer(
        program,
        request,
        status,
        seconds=(built - start, time.perf_counter() - built),
        version=scipy.__version__,
        bound=None if bound is None else program.sign * bound + program.offset,
        values=values,
        duals=duals,
        settings=settings,
    )


def _solve_linprog(
    program: LinearProgram, request: Request
) -> tuple[Any, Any, float, dict[str, Any]]:
    sides = RowSides(program)
    from scipy.sparse import vstack

    upper, lower = sides.matrix(sides.upper), sides.matrix(sides.lower)
    options: dict[str, Any] = {"disp": False}
    if request.time_limit is not None:
        options["time_limit"] = request.time_limit
    if request.algorithm != "ipm":
        # As in the other backend of HiGHS: a large penalty must not hide the costs that matter.
        options["dual_feasibility_tolerance"] = 1e-10
    if request.tolerance is not None:
        options["primal_feasibility_tolerance"] = request.tolerance
        options["dual_feasibility_tolerance"] = request.tolerance
    if request.algorithm == "ipm" and (request.gap or request.tolerance):
        options["ipm_optimality_tolerance"] = request.gap or request.tolerance
    built = time.perf_counter()
    result = _call(
        linprog,
        program.sign * program.cost,
        A_ub=vstack([upper, -lower], format="csr"),
        b_ub=np.concatenate([program.row_upper[sides.upper], -program.row_lower[sides.lower]]),
        A_eq=sides.matrix(sides.equal),
        b_eq=program.row_upper[sides.equal],
        bounds=np.column_stack([program.lower, program.upper]),
        method=METHODS[request.algorithm],
        options=options | request.options,
    )
    duals = None
    if result.x is not None and result.status == 0:
        by_side = result.ineqlin.marginals
        count = len(sides.upper)
        duals = program.sign * sides.duals(
            result.eqlin.marginals, by_side[:count], -by_side[count:]
        )
    return result, duals, built, options | request.options


def _solve_milp(program: LinearProgram, request: Request) -> tuple[Any, Any, float, dict[str, Any]]:
    if request.algorithm is not None:
        raise OptionError("SciPy's milp has no choice of algorithm")
    options: dict[str, Any] = {
        "disp": False,
        "mip_rel_gap": DEFAULT if request.gap is None else request.gap,
    }
    if request.time_limit is not None:
        options["time_limit"] = request.time_limit
    built = time.perf_counter()
    result = _call(
        milp,
        program.sign * program.cost,
        integrality=program.integer.astype(np.int64),
        bounds=Bounds(program.lower, program.upper),
        constraints=LinearConstraint(program.matrix, program.row_lower, program.row_upper),
        options=options | request.options,
    )
    return result, None, built, options | request.options


def _call(function: Any, *arguments: Any, **keywords: Any) -> Any:
    import warnings

    with warnings.catch_warnings():
        # SciPy warns about options it does not know and then ignores them: here they are errors.
        warnings.simplefilter("error", OptimizeWarning)
        try:
            return function(*arguments, **keywords)
        except OptimizeWarning as unknown:
            raise OptionError(f"SciPy does not take an option: {unknown}") from None
