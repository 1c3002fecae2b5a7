"""Convex problems through CVXPY: Clarabel, OSQP, SCS and whatever else it finds installed."""

from __future__ import annotations

import contextlib
import time
import warnings
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import cvxpy
import numpy as np

from edgeopt.errors import MissingDependencyError, OptionError, ProblemTypeError
from edgeopt.solvers.backend.assembly import assemble
from edgeopt.solvers.backend.cvxpy_evidence import cone_pair, search_bound
from edgeopt.solvers.backend.cvxpy_options import translate
from edgeopt.solvers.log_stream import LogStream
from edgeopt.solvers.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.solvers.cone_program import ConePair
    from edgeopt.solvers.request import Request
    from edgeopt.solvers.solution import Solution

__all__ = ["STATUS", "Run", "constraint_names", "run", "solve"]

STATUS: Final[Mapping[str, Status]] = MappingProxyType(
    {
        cvxpy.OPTIMAL: Status.CONVERGENCE_CRITERIA_SATISFIED,
        cvxpy.OPTIMAL_INACCURATE: Status.UNKNOWN,
        cvxpy.INFEASIBLE: Status.PROVEN_INFEASIBLE,
        cvxpy.INFEASIBLE_INACCURATE: Status.UNKNOWN,
        cvxpy.UNBOUNDED: Status.PROVEN_UNBOUNDED,
        cvxpy.UNBOUNDED_INACCURATE: Status.UNKNOWN,
        "infeasible_or_unbounded": Status.INFEASIBLE_OR_UNBOUNDED,
        cvxpy.USER_LIMIT: Status.MAX_TIME_LIMIT,
        cvxpy.SOLVER_ERROR: Status.ERROR,
    }
)


OBJECTIVE: Final = ("c", "q", "P")
"""Parts of what CVXPY hands to an interface that are in the objective's unit."""


@dataclass(frozen=True)
class Run:
    """What one call of a solver through CVXPY left behind, apart from values in the problem.

    Parameters
    ----------
    status
        Why it stopped.
    name
        The solver's name in CVXPY.
    has_point
        Whether the variables of the problem hold values.
    pair
        The cone program and its primal-dual pair, where the solver's form is known.
    bound
        Bound of a branch-and-bound solver on CVXPY's minimisation; nan if it has none.
    build, solve
        Seconds.
    settings
        What was passed on, under the solver's own names.
    """

    status: Status
    name: str
    has_point: bool
    pair: ConePair | None
    bound: float
    build: float
    solve: float
    settings: Mapping[str, Any]

    @property
    def version(self) -> str:
        """Version of the solver, or of CVXPY where the solver's is not to be found."""
        with contextlib.suppress(PackageNotFoundError):
            return version({"HIGHS": "highspy", "SCIP": "pyscipopt"}.get(self.name, self.name))
        return f"CVXPY {version('cvxpy')}"


def solve(problem: Any, request: Request) -> Solution:
    """Solve a CVXPY problem; its variables receive the solution.

    Values are keyed by the names of the variables, duals by the labels of the constraints or
    ``constraint[i]``. The dual of ``a <= b`` is the derivative of the optimum by its constant
    side, or by b where neither is constant.
    """
    outcome = run(problem, request)
    sign = -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0
    values = duals = None
    objective, bound = float("nan"), outcome.bound
    if outcome.has_point:
        values = {v.name(): np.array(v.value) for v in problem.variables()}
        objective = float(problem.objective.value)
        if outcome.pair is not None:
            duals = _duals(problem, sign)
    if outcome.pair is not None:
        bound = outcome.pair.dual_value().value
    return assemble(
        problem,
        request,
        outcome.status,
        sign=sign,
        seconds=(outcome.build, outcome.solve),
        version=outcome.version,
        objective=objective,
        bound=sign * bound,
        values=values,
        duals=duals,
        evidence=outcome.pair,
        settings=outcome.settings,
    )


def run(problem: Any, request: Request) -> Run:
    """Compile a CVXPY problem, call the solver, and unpack the result into the problem."""
    name = request.solver.rpartition(":")[2].upper()
    if name not in cvxpy.installed_solvers():  # type: ignore[no-untyped-call]
        raise MissingDependencyError(f"CVXPY does not find the solver {name}: install its package")
    if request.progress is not None:
        raise OptionError("solvers behind CVXPY report no progress; leave progress out")
    keywords = translate(name, request)
    if name != "HIGHS" and request.algorithm is not None:
        raise OptionError(f"{name} through CVXPY has no choice of algorithm")
    start = time.perf_counter()
    try:
        data, chain, inverse = problem.get_problem_data(name, solver_opts=keywords)
    except (cvxpy.error.DCPError, cvxpy.error.SolverError) as failure:
        raise ProblemTypeError(f"CVXPY cannot hand this problem to {name}: {failure}") from None
    for constraint in problem.constraints:
        for multiplier in constraint.dual_variables:
            # A solver that leaves no multipliers must not seem to have those of the one before.
            multiplier.save_value(None)
    exponent = _objective_exponent(data)
    if exponent:
        stated = {part: data[part] for part in OBJECTIVE if data.get(part) is not None}
        data = data | {part: one * 2.0**exponent for part, one in stated.items()}
    built = time.perf_counter()
    with warnings.catch_warnings():
        # Our own check of the residuals says the same with numbers.
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(LogStream()):
            try:
                raw = chain.solve_via_data(
                    problem, data, warm_start=False, verbose=request.log, solver_opts=keywords
                )
            except cvxpy.error.SolverError:
                return _failed(name, Status.ERROR, start, built, keywords)
            except KeyboardInterrupt:
                return _failed(name, Status.INTERRUPTED, start, built, keywords)
            try:
                problem.unpack_results(raw, chain, inverse)
            except (cvxpy.error.SolverError, ValueError):
                # A ValueError comes from interfaces that cannot read their own solver's result.
                return _failed(name, Status.ERROR, start, built, keywords)
    has_point = problem.status in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE, cvxpy.USER_LIMIT)
    has_point = has_point and all(v.value is not None for v in problem.variables())
    pair = None
    if has_point and exponent:
        _restore(problem, exponent)
    if has_point and not problem.is_mixed_integer():
        pair = cone_pair(name, chain.solver, data, inverse[-1], raw)
        pair = pair and replace(pair, dual=pair.dual * 2.0**-exponent)
    bound = search_bound(name, raw) * 2.0**-exponent + float(inverse[-1].get("offset", 0.0))
    seconds = (built - start, time.perf_counter() - built)
    return Run(STATUS[problem.status], name, has_point, pair, bound, *seconds, keywords)


def _objective_exponent(data: Any) -> int:
    """Return the power of two that brings the largest coefficient of the objective into [1, 2)."""
    parts = [data[part] for part in OBJECTIVE if isinstance(data, dict) and part in data]
    sizes = [float(abs(part).max()) for part in parts if part is not None and min(part.shape)]
    largest = max(sizes, default=0.0)
    return 1 - int(np.frexp(largest)[1]) if np.isfinite(largest) and largest > 0.0 else 0


def _restore(problem: Any, exponent: int) -> None:
    """Bring the objective and the multipliers that CVXPY has unpacked back to their own unit."""
    found = problem.solution
    found.opt_val = problem.objective.value
    found.dual_vars = {
        name: np.asarray(dual) * 2.0**-exponent for name, dual in found.dual_vars.items()
    }
    problem.unpack(found)


def _failed(
    name: str, status: Status, start: float, built: float, keywords: Mapping[str, Any]
) -> Run:
    seconds = (built - start, time.perf_counter() - built)
    return Run(status, name, False, None, float("nan"), *seconds, keywords)


def constraint_names(problem: Any) -> list[str]:
    """Return a name for each constraint: its label, or its position."""
    return [
        constraint.label or f"constraint[{position}]"
        for position, constraint in enumerate(problem.constraints)
    ]


def _duals(problem: Any, sign: float) -> dict[str, Any]:
    duals = {}
    for name, constraint in zip(constraint_names(problem), problem.constraints, strict=True):
        if constraint.dual_value is None or len(constraint.dual_variables) > 1:
            # A cone of several parts has no one right-hand side.
            continue
        # A multiplier is minus the derivative of CVXPY's minimum by the side that is added to.
        constant_left = constraint.args[0].is_constant() and not constraint.args[-1].is_constant()
        side = 1.0 if constant_left else -1.0
        duals[name] = side * sign * np.array(constraint.dual_value)
    return duals
