"""Nonlinear and linear programs through CasADi, whose wheel carries Ipopt."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import casadi
import numpy as np
from scipy import sparse

from edgeopt.errors import InstanceError, MissingDependencyError, OptionError
from edgeopt.solvers.backend.assembly import LogStream
from edgeopt.solvers.nonlinear import CasadiNlp
from edgeopt.solvers.registry import Progress, Reports
from edgeopt.solvers.residuals.casadi import infeasible_tangents
from edgeopt.solvers.solution import Quality, Status, answer, assemble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import ProgressCallback, Request
    from edgeopt.solvers.solution import Solution

_STATUS: Final[Mapping[str, Status]] = MappingProxyType(
    {
        "Solve_Succeeded": Status.CONVERGENCE_CRITERIA_SATISFIED,
        "Solved_To_Acceptable_Level": Status.UNKNOWN,
        "Feasible_Point_Found": Status.UNKNOWN,
        "Search_Direction_Becomes_Too_Small": Status.UNKNOWN,
        "Infeasible_Problem_Detected": Status.UNKNOWN,
        "Diverging_Iterates": Status.INFEASIBLE_OR_UNBOUNDED,
        "User_Requested_Stop": Status.INTERRUPTED,
        "Maximum_Iterations_Exceeded": Status.ITERATION_LIMIT,
        "Maximum_CpuTime_Exceeded": Status.MAX_TIME_LIMIT,
        "Maximum_WallTime_Exceeded": Status.MAX_TIME_LIMIT,
        "Restoration_Failed": Status.ERROR,
        "Error_In_Step_Computation": Status.ERROR,
        "Not_Enough_Degrees_Of_Freedom": Status.ERROR,
        "Invalid_Problem_Definition": Status.ERROR,
        "Invalid_Option": Status.ERROR,
        "Invalid_Number_Detected": Status.ERROR,
        "Unrecoverable_Exception": Status.ERROR,
        "NonIpopt_Exception_Thrown": Status.ERROR,
        "Insufficient_Memory": Status.ERROR,
        "Internal_Error": Status.ERROR,
    }
)
"""A point of local infeasibility proves nothing unless the constraints are convex."""

_INFEASIBLE: Final = "Infeasible_Problem_Detected"


@dataclass(frozen=True)
class _Stop:
    """Where and why a nonlinear solver stopped."""

    status: Status
    infeasible_point: bool  # whether it ended at a point that is locally the least infeasible
    values: NDArray[np.float64] | None  # the last point, shape [n]; None if there is none
    # derivative of the minimum by the right-hand sides, shape [m]; None if there are none
    multipliers: NDArray[np.float64] | None
    # build, solve: seconds
    build: float
    solve: float
    settings: Mapping[str, Any]  # what was passed on, under the solver's own names


def solve(problem: CasadiNlp, request: Request) -> Solution:
    """Solve a smooth nonlinear program from its starting point."""
    stop = _run(problem, request)
    status, evidence = stop.status, None
    if stop.infeasible_point and problem.convex:
        evidence = infeasible_tangents(problem, stop.values)
        status = Status.CLAIMED_INFEASIBLE if evidence is None else Status.PROVEN_INFEASIBLE
    values, duals, objective = stop.values, stop.multipliers, float("nan")
    if status.infeasible:
        values = duals = None
    if values is not None:
        evaluate = casadi.Function("objective", [problem.variables], [problem.objective])
        objective = float(evaluate(values))
    named_duals = None
    if duals is not None:
        signed = (problem.sign * duals).tolist()
        named_duals = dict(zip(problem.row_names, signed, strict=True))
    solution = assemble(
        problem,
        request,
        status,
        sign=problem.sign,
        seconds=(stop.build, stop.solve),
        version=f"CasADi {version('casadi')}",
        objective=objective,
        values=None
        if values is None
        else dict(zip(problem.column_names, values.tolist(), strict=True)),
        duals=named_duals,
        evidence=evidence,
        settings=stop.settings,
    )
    if solution.quality is Quality.OPTIMAL and not problem.convex:
        return replace(solution, quality=Quality.FEASIBLE)
    return solution


def _run(problem: CasadiNlp, request: Request) -> _Stop:
    """Call the nonlinear solver on the minimisation form of a problem."""
    name = request.solver.rpartition(":")[2]
    if not casadi.has_nlpsol(name):
        raise MissingDependencyError(f"this build of CasADi does not carry the solver {name!r}")
    if request.algorithm is not None or request.threads not in (None, 1):
        raise OptionError(f"{name} through CasADi has no choice of algorithm or threads")
    start = time.perf_counter()
    nlp = {"x": problem.variables, "f": problem.sign * problem.objective}
    rows = len(problem.row_lower)
    if rows:
        nlp["g"] = problem.constraints
    watch = _IterationWatch(len(problem.lower), rows, request.progress, problem.sign)
    options = _options(name, request) | {"iteration_callback": watch}
    try:
        solver = casadi.nlpsol("solver", name, nlp, options)
    except RuntimeError as failure:
        _check_symbols(problem)
        raise OptionError(f"CasADi refused the problem or an option: {failure}") from None
    built = time.perf_counter()
    sides = {"lbg": problem.row_lower, "ubg": problem.row_upper} if rows else {}
    with contextlib.redirect_stdout(LogStream()):
        try:
            first = problem.start if request.start is None else request.start
            found = solver(x0=first, lbx=problem.lower, ubx=problem.upper, **sides)
        except KeyboardInterrupt:
            seconds = (built - start, time.perf_counter() - built)
            return _Stop(Status.INTERRUPTED, False, watch.values, None, *seconds, options[name])
    with contextlib.suppress(KeyboardInterrupt):
        # CasADi runs in this thread: Ctrl-C may come during a report, and stops as at any time.
        watch.reports.raise_kept()
    seconds = (built - start, time.perf_counter() - built)
    reason = str(solver.stats()["return_status"])
    status = _STATUS.get(reason, Status.UNKNOWN)
    if status is Status.ERROR:
        _check_defined(problem, np.asarray(first, dtype=float), "start")
        if watch.values is not None:
            _check_defined(problem, watch.values, "last iterate")
    values = np.array(found["x"]).reshape(-1)
    # CasADi adds multipliers times constraints to the objective: the derivative is their negative.
    multipliers = -np.array(found["lam_g"]).reshape(-1) if rows else np.zeros(0)
    if np.isnan(values).any():
        return _Stop(status, reason == _INFEASIBLE, None, None, *seconds, options[name])
    return _Stop(status, reason == _INFEASIBLE, values, multipliers, *seconds, options[name])


def _check_symbols(problem: CasadiNlp) -> None:
    """Raise if an expression holds symbols that are no variables."""
    for what, expression in _functions(problem):
        option = {"allow_free": True}
        free = casadi.Function("free", [problem.variables], [expression], option).get_free()
        if free:
            raise InstanceError(what, f"depends on {', '.join(free)}, no variables: set values")


def _functions(problem: CasadiNlp) -> list[tuple[str, Any]]:
    """Return the functions of a program, and what they are called in an error."""
    rows = [] if problem.constraints is None else casadi.vertsplit(casadi.vec(problem.constraints))
    constraints = zip(problem.row_names, rows, strict=True)
    named = [(f"the constraint {name}", row) for name, row in constraints]
    return [("the objective", problem.objective), *named]


_SAMPLES: Final = 16  # other points that are tried before a function is called undefined


def _undefined(problem: CasadiNlp, point: NDArray[np.float64]) -> list[int]:
    """Return the positions of functions that, or whose slopes, are not finite at a point."""
    body = problem.objective
    if problem.constraints is not None:
        body = casadi.vertcat(body, casadi.vec(problem.constraints))
    slopes = casadi.jacobian(body, problem.variables)
    values, found = casadi.Function("tried", [problem.variables], [body, slopes])(point)
    entries = found.sparse().tocoo()
    wrong = np.flatnonzero(~np.isfinite(np.array(values).reshape(-1)))
    return sorted({*wrong.tolist(), *entries.row[~np.isfinite(entries.data)].tolist()})


def _check_defined(problem: CasadiNlp, point: NDArray[np.float64], called: str) -> None:
    """Raise if a function or its slope is no finite number at a point."""
    wrong = _undefined(problem, point)
    if not wrong:
        return
    what, expression = _functions(problem)[wrong[0]]
    function = casadi.Function("tried", [problem.variables], [expression])
    found = np.array(function(point)).reshape(-1)
    if np.isfinite(found).all():
        slope = casadi.densify(casadi.gradient(expression, problem.variables))
        function = casadi.Function("tried", [problem.variables], [slope])
        found = np.array(function(point)).reshape(-1)
        columns = np.flatnonzero(~np.isfinite(found)).tolist()[:_SHOWN]
        what = f"the slope of {what} by {', '.join(problem.column_names[k] for k in columns)}"
    bad, way = found[~np.isfinite(found)][0], _way_out(problem, function)
    raise InstanceError(what, f"is {bad} at the {called}, {_shown(problem, point)}: {way}")


_SHOWN: Final = 8  # entries of a point that an error names


def _shown(problem: CasadiNlp, point: NDArray[np.float64]) -> str:
    entries = zip(problem.column_names, point.tolist(), strict=True)
    shown = [f"{name} = {value:g}" for name, value in entries][:_SHOWN]
    return ", ".join(shown) + (", ..." if len(point) > _SHOWN else "")


def _way_out(problem: CasadiNlp, function: Any) -> str:
    """Return what to do: another start if the function is defined anywhere that is tried."""
    low, high = np.maximum(problem.lower, -1e3), np.minimum(problem.upper, 1e3)
    low, high = np.minimum(low, problem.upper), np.maximum(high, problem.lower)
    points = np.random.default_rng(0).uniform(low, high, (_SAMPLES, len(low)))
    if any(np.isfinite(np.array(function(other))).all() for other in points):
        return "pass a start=... where it is finite, or bounds that keep away from there"
    return f"nor is it finite at {_SAMPLES} other points between the bounds; look at its formula"


def _options(name: str, request: Request) -> dict[str, Any]:
    own: dict[str, Any] = {}
    if name == "ipopt":
        own["print_level"] = 5 if request.log else 0
        own["sb"] = "yes"
        # Certificates are relative to the data as given; Ipopt's tolerance is to its scaled form.
        own["tol"] = 1e-9 if request.tolerance is None else float(request.tolerance)
        if request.time_limit is not None:
            own["max_wall_time"] = max(float(request.time_limit), 1e-3)
    elif request.time_limit is not None or request.tolerance is not None:
        raise OptionError(f"pass time_limit and tolerance to {name} under its own names")
    return {"print_time": False, "error_on_fail": False, name: own | request.options}


_CONSTANT_DERIVATIVES = {
    "hessian_constant": "yes",
    "jac_c_constant": "yes",
    "jac_d_constant": "yes",
}


def solve_linear(program: LinearProgram, request: Request) -> Solution:
    """Solve a continuous linear program."""
    point = casadi.MX.sym("x", program.shape[1])
    matrix = program.matrix
    # CasADi's interface counts with plain integers of the machine.
    pattern = casadi.Sparsity(
        *program.shape, matrix.indptr.astype(int).tolist(), matrix.indices.astype(int).tolist()
    )
    rows = None
    if program.shape[0]:
        rows = casadi.densify(casadi.mtimes(casadi.DM(pattern, matrix.data), point))
    total = casadi.dot(casadi.DM(program.cost), point)
    if program.quadratic is not None:
        total += 0.5 * casadi.bilin(casadi.DM(sparse.csc_matrix(program.quadratic)), point, point)
    problem = CasadiNlp(
        point,
        total,
        rows,
        program.row_lower,
        program.row_upper,
        program.lower,
        program.upper,
        sense=program.sense,
        convex=True,
    )
    if request.solver.endswith("ipopt"):
        request = replace(request, options=_CONSTANT_DERIVATIVES | request.options)
    stop = _run(problem, request)
    status = Status.CLAIMED_INFEASIBLE if stop.infeasible_point else stop.status
    unsolvable = status in (Status.CLAIMED_INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)
    values = None if unsolvable else stop.values
    return answer(
        program,
        request,
        status,
        seconds=(stop.build, stop.solve),
        version=f"CasADi {version('casadi')}",
        values=values,
        duals=None
        if values is None or stop.multipliers is None
        else program.sign * stop.multipliers,
        settings=stop.settings,
    )


class _IterationWatch(casadi.Callback):
    """Keeps the last iterate, and reports progress; ``sign`` is -1 when maximising."""

    def __init__(
        self, columns: int, rows: int, progress: ProgressCallback | None, sign: float
    ) -> None:
        casadi.Callback.__init__(self)
        self.values: NDArray[np.float64] | None = None
        self._sizes = {"x": columns, "lam_x": columns, "f": 1, "g": rows, "lam_g": rows}
        self.reports = Reports(progress)
        self._sign = sign
        self._iterations = 0
        self._start = time.perf_counter()
        self.construct("edgeopt_watch", {})

    def get_n_in(self) -> int:
        """Return how many results CasADi hands over."""
        return int(casadi.nlpsol_n_out())

    def get_n_out(self) -> int:
        """Return 1: whether to stop."""
        return 1

    def get_name_in(self, position: int) -> str:
        """Return the name of a result."""
        return str(casadi.nlpsol_out(position))

    def get_name_out(self, _: int) -> str:
        """Return the name of the answer."""
        return "stop"

    def get_sparsity_in(self, position: int) -> Any:
        """Return the shape of a result; empty for those that are not used."""
        size = self._sizes.get(str(casadi.nlpsol_out(position)), 0)
        return casadi.Sparsity.dense(size, 1) if size else casadi.Sparsity(0, 0)

    def eval(self, results: Sequence[Any]) -> list[int]:
        """Keep the iterate and let the caller stop the solver."""
        self._iterations += 1
        self.values = np.array(results[0]).reshape(-1)
        if not self.reports.wanted:
            return [0]
        seconds = time.perf_counter() - self._start
        report = Progress.of(seconds, self._iterations, self._sign, float(results[1]))
        return [1 if self.reports(report) else 0]
