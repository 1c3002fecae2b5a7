"""Convex problems and linear programs through CVXPY: Clarabel, OSQP, SCS, whatever it finds."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import operator
import time
import warnings
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import cvxpy
import numpy as np
from cvxpy.atoms.quad_form import quad_form
from cvxpy.reductions.cvx_attr2constr import CvxAttr2Constr, lower_value
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP
from cvxpy.settings import ERROR, SOLUTION_PRESENT
from scipy.sparse.linalg import ArpackError

from edgeopt.errors import MissingDependencyError, OptionError, ProblemTypeError, SolverError
from edgeopt.solvers.backend import or_tools
from edgeopt.solvers.backend.assembly import LogStream, RowSides, answer_without_columns
from edgeopt.solvers.backend.cvxpy_parameters import problem_data, resumed_osqp
from edgeopt.solvers.backend.cvxpy_refusals import (
    able,
    check_data,
    check_numbers,
    constraint_names,
)
from edgeopt.solvers.cone_program import cone_pair, proven_unsolvable, search_bound
from edgeopt.solvers.registry import FIRST_ORDER, Kind, backends
from edgeopt.solvers.solution import Status, answer, assemble
from edgeopt.solvers.starting_point import COLD, START
from edgeopt.solvers.tolerance import DEFAULT, TIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from edgeopt.solvers.cone_program import ConePair
    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Request
    from edgeopt.solvers.solution import Solution


_TRANSLATIONS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "CLARABEL": {
            "time_limit": ("time_limit",),
            "tolerance": ("tol_feas", "tol_gap_abs", "tol_gap_rel"),
            "threads": ("max_threads",),
        },
        "OSQP": {"time_limit": ("time_limit",), "tolerance": ("eps_abs", "eps_rel")},
        "SCS": {"time_limit": ("time_limit_secs",), "tolerance": ("eps_abs", "eps_rel")},
        "HIGHS": {
            "algorithm": ("solver",),
            "time_limit": ("time_limit",),
            "gap": ("mip_rel_gap",),
            "absolute_gap": ("mip_abs_gap",),
            "tolerance": ("kkt_tolerance",),
            "threads": ("threads",),
        },
        "SCIPY": {
            "time_limit": ("scipy_options.time_limit",),
            "gap": ("scipy_options.mip_rel_gap",),
            "tolerance": (
                "scipy_options.primal_feasibility_tolerance",
                "scipy_options.dual_feasibility_tolerance",
            ),
        },
        "SCIP": {
            "time_limit": ("scip_params.limits/time",),
            "gap": ("scip_params.limits/gap",),
            "absolute_gap": ("scip_params.limits/absgap",),
            "tolerance": ("scip_params.numerics/feastol",),
            "threads": ("scip_params.parallel/maxnthreads",),
        },
        "GUROBI": {
            "time_limit": ("TimeLimit",),
            "gap": ("MIPGap",),
            "absolute_gap": ("MIPGapAbs",),
            "tolerance": ("FeasibilityTol", "OptimalityTol"),
            "threads": ("Threads",),
        },
        "MOSEK": {
            "time_limit": ("mosek_params.MSK_DPAR_OPTIMIZER_MAX_TIME",),
            "gap": ("mosek_params.MSK_DPAR_MIO_TOL_REL_GAP",),
            "absolute_gap": ("mosek_params.MSK_DPAR_MIO_TOL_ABS_GAP",),
            "tolerance": ("mosek_params.MSK_DPAR_INTPNT_CO_TOL_REL_GAP",),
            "threads": ("mosek_params.MSK_IPAR_NUM_THREADS",),
        },
        "CPLEX": {
            "time_limit": ("cplex_params.timelimit",),
            "gap": ("cplex_params.mip.tolerances.mipgap",),
            "absolute_gap": ("cplex_params.mip.tolerances.absmipgap",),
            "tolerance": ("cplex_params.simplex.tolerances.feasibility",),
            "threads": ("cplex_params.threads",),
        },
        "XPRESS": {
            "time_limit": ("timelimit",),
            "gap": ("miprelstop",),
            "absolute_gap": ("mipabsstop",),
            "tolerance": ("feastol",),
            "threads": ("threads",),
        },
        "COPT": {
            "time_limit": ("TimeLimit",),
            "gap": ("RelGap",),
            "absolute_gap": ("AbsGap",),
            "tolerance": ("FeasTol",),
            "threads": ("Threads",),
        },
        "CUOPT": {
            "time_limit": ("time_limit",),
            "gap": ("mip_relative_gap",),
            "absolute_gap": ("mip_absolute_gap",),
            "tolerance": (
                "absolute_primal_tolerance",
                "relative_primal_tolerance",
                "absolute_dual_tolerance",
                "relative_dual_tolerance",
                "absolute_gap_tolerance",
                "relative_gap_tolerance",
            ),
            "threads": ("num_cpu_threads",),
        },
        **or_tools.TRANSLATIONS,
    }
)
"""Each dot leads into a dictionary that CVXPY hands on."""

_SINGLE_THREADED: Final = ("OSQP", "SCS", "SCIPY", "GLOP")

_AT_VERTICES: Final = ("GLOP",)
"""Simplex methods, which end with no gap: a wider one must not loosen what satisfies a row."""

ITERATIONS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "OSQP": {"max_iter": 1_000_000, "polishing": True},
        "SCS": {"max_iters": 1_000_000, "acceleration_lookback": 20},
    }
)
"""First-order methods need many cheap iterations for the accuracy of a certificate."""


_DICTIONARIES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "GLOP": ("time_limit_sec", "parameters_proto"),
        "PDLP": ("time_limit_sec", "parameters_proto"),
        "SCIPY": ("scipy_options",),
    }
)
"""What CVXPY reads of the keywords of solvers that it hands nothing else to."""


def translate(solver: str, request: Request) -> dict[str, Any]:
    """Return a request as the keywords of CVXPY's call of a solver."""
    keywords: dict[str, Any] = dict(ITERATIONS.get(solver, {}))
    names = _TRANSLATIONS.get(solver, {})
    for argument in ("algorithm", "time_limit", "gap", "tolerance", "threads"):
        value = getattr(request, argument)
        if argument == "tolerance" and value is None and solver in FIRST_ORDER:
            # The solver measures residuals of its own scaled problem: leave it room.
            value = TIGHT
        if argument == "gap" and value is None:
            # Of Xpress there is no bound to see whether less is left.
            value = DEFAULT / (2.0 if solver == "XPRESS" else 1.0) if argument in names else None
        if value is None or (argument == "threads" and solver in _SINGLE_THREADED and value == 1):
            continue
        if argument == "gap" and argument not in names:
            if solver in _AT_VERTICES:
                continue
            argument = "tolerance"
        if argument not in names:
            raise OptionError(f"{solver} through CVXPY has no {argument}; leave it out")
        for name in names[argument]:
            _put(keywords, name, value)
    for name in names.get("absolute_gap", ()):
        _put(keywords, name, float(request.absolute_gap))
    return keywords | request.options


def refuse_unknown(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a solver would take without a word and ignore."""
    if not options:
        return
    if solver == "OSQP":
        import osqp

        known = {name for name in dir(osqp.OSQP().ext.OSQPSettings) if not name.startswith("_")}
    elif solver == "XPRESS":
        controls = importlib.import_module("xpress").problem().controls
        known = {*dir(controls), "write_mps", "save_iis"}
    elif solver == "CUOPT":
        parameters = importlib.import_module("cuopt.linear_programming.solver.solver_parameters")
        names = [getattr(parameters, one) for one in dir(parameters) if one.startswith("CUOPT_")]
        known = {*names, "solver_method", "optimality", "solver_verbose"}
    else:
        known = {*_DICTIONARIES.get(solver, options)}
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(sorted(known))}"
            raise OptionError(f"{solver} has no option {name!r}; {hint}")


def _put(keywords: dict[str, Any], name: str, value: Any) -> None:
    nest, dot, inner = name.partition(".")
    if nest == "cplex_params":  # one dictionary, of names with dots
        keywords.setdefault(nest, {})[inner] = value
    elif dot:
        _put(keywords.setdefault(nest, {}), inner, value)
    else:
        keywords[name] = value


def seed(
    problem: Any,
    name: str,
    chain: Any,
    data: Any,
    keywords: Mapping[str, Any],
    start: Mapping[str, Any],
) -> None:
    """Let the next solve of a problem by this solver start from values of its variables."""
    if not isinstance(data, dict):  # a problem without variables goes to no solver
        return
    point = _columns(problem, chain, data["param_prob"], start)
    if name == "SCS":
        left = data["b"] - data["A"] @ point
        problem._solver_cache[name] = {"x": point, "y": np.zeros(len(left)), "s": left}
    elif name == "OSQP":
        problem._solver_cache[name] = _loaded_osqp(data, keywords, point)
    elif name == "HIGHS":
        import highspy

        solution = highspy.HighsSolution()
        solution.col_value, solution.value_valid = point.tolist(), True
        result = {"model_status": "kOptimal", "solution": solution}
        problem._solver_cache[name] = (None, data, result)
    else:
        raise OptionError(f"start: CVXPY's interface to {name} starts from no point")


def _loaded_osqp(data: dict[str, Any], keywords: Mapping[str, Any], point: Any) -> Any:
    """Return what CVXPY would keep of a solve by OSQP that ended at a point."""
    import osqp
    from scipy import sparse

    matrix = sparse.csc_matrix(sparse.vstack([data["A"], data["F"]]))
    upper = np.concatenate([data["b"], data["G"]])
    lower = np.concatenate([data["b"], np.full(len(data["G"]), -np.inf)])
    solver = osqp.OSQP()
    quadratic = sparse.csc_matrix(sparse.triu(data["P"]))
    solver.setup(quadratic, data["q"], matrix, lower, upper, verbose=False, **keywords)
    ended = SimpleNamespace(status_val=1)  # as if solved
    result = SimpleNamespace(info=ended, x=point, y=np.zeros(len(upper)))
    return solver, data | {"Ax": matrix, "l": lower, "u": upper}, result


def _columns(
    problem: Any, chain: Any, stated: Any, start: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Return the columns of the compiled problem that values of variables come to; others are 0."""
    replaced: dict[Any, Any] = {}
    for reduction in chain.reductions:
        if isinstance(reduction, CvxAttr2Constr):
            replaced |= reduction._variables
    point = np.zeros(stated.x.size)
    for variable in problem.variables():
        column = stated.var_id_to_col.get(replaced.get(variable, variable).id)
        if variable.name() not in start or column is None:
            continue
        value = lower_value(variable, start[variable.name()])
        flat = np.reshape(value, -1, order="F")
        point[column : column + len(flat)] = flat
    return point


WARM: Final = "warm"

STATUS: Final[Mapping[str, Status]] = MappingProxyType(
    {
        cvxpy.OPTIMAL: Status.CONVERGENCE_CRITERIA_SATISFIED,
        cvxpy.OPTIMAL_INACCURATE: Status.UNKNOWN,
        cvxpy.INFEASIBLE: Status.CLAIMED_INFEASIBLE,
        cvxpy.INFEASIBLE_INACCURATE: Status.UNKNOWN,
        cvxpy.UNBOUNDED: Status.CLAIMED_UNBOUNDED,
        cvxpy.UNBOUNDED_INACCURATE: Status.UNKNOWN,
        "infeasible_or_unbounded": Status.INFEASIBLE_OR_UNBOUNDED,
        cvxpy.USER_LIMIT: Status.MAX_TIME_LIMIT,
        cvxpy.SOLVER_ERROR: Status.ERROR,
    }
)

_UNSOLVABLE: Final = (
    Status.CLAIMED_INFEASIBLE, Status.CLAIMED_UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED,
)  # fmt: skip

OBJECTIVE: Final = ("c", "q", "P")
"""Parts of what CVXPY hands to an interface that are in the objective's unit."""


@dataclass(frozen=True)
class _Run:
    """What one call of a solver through CVXPY left behind, apart from values in the problem."""

    status: Status
    name: str  # in CVXPY
    has_point: bool  # whether the variables of the problem hold values
    # the cone program and its primal-dual pair, where the solver's form is known; of a problem
    # without a point or without an end, what proves that
    pair: ConePair | None
    bound: float  # bound of a branch-and-bound solver on CVXPY's minimisation; nan if it has none
    # build, solve: seconds
    build: float
    solve: float
    settings: Mapping[str, Any]  # what was passed on, under the solver's own names
    path: str = COLD

    @property
    def version(self) -> str:
        """Version of the solver, or of CVXPY where the solver's is not to be found."""
        return _version(self.name)


@cache
def _version(name: str) -> str:
    with contextlib.suppress(PackageNotFoundError):
        return version({"HIGHS": "highspy", "SCIP": "pyscipopt"}.get(name, name))
    return f"CVXPY {version('cvxpy')}"


def solve(problem: Any, request: Request) -> Solution:
    """Solve a CVXPY problem; its variables receive the solution.

    Values are keyed by the names of the variables, duals by the labels of the constraints or
    ``constraint[i]``. The dual of ``a <= b`` is the derivative of the optimum by its constant
    side, or by b where neither is constant.
    """
    check_data(problem)
    outcome = _run(problem, request, prove=True)
    sign = -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0
    values = duals = None
    objective, bound = float("nan"), outcome.bound
    if outcome.has_point:
        values = {v.name(): np.array(v.value) for v in problem.variables()}
        objective = float(problem.value)
        if outcome.pair is not None:
            duals = _duals(problem, sign)
    if outcome.has_point and outcome.pair is not None:
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
        path=outcome.path,
        settings=outcome.settings,
    )


@cache
def _installed(name: str) -> bool:
    """Return whether CVXPY finds a solver; it looks for the packages of all at every question."""
    known = SOLVER_MAP_CONIC.get(name) or SOLVER_MAP_QP.get(name)
    return known is not None and bool(known.is_installed())


def _other_threads(name: str, raw: Any) -> bool:
    """Tell whether HiGHS refused a number of threads that differs from before; it then forgets."""
    if name != "HIGHS" or not isinstance(raw, dict) or raw["model_status"] != "kNotset":
        return False
    importlib.import_module("highspy").Highs.resetGlobalScheduler(True)
    return True


def _run(problem: Any, request: Request, *, prove: bool = False) -> _Run:
    """Compile a CVXPY problem, call the solver, and unpack the result into the problem.

    Of a problem without a solution, `prove` looks for what proves that.
    """
    name = request.solver.rpartition(":")[2].upper()
    if not _installed(name):
        raise MissingDependencyError(f"CVXPY does not find the solver {name}: install its package")
    if request.progress is not None:
        raise OptionError("solvers behind CVXPY report no progress; leave progress out")
    keywords = translate(name, request)
    refuse_unknown(name, request.options)
    if name != "HIGHS" and request.algorithm is not None:
        raise OptionError(f"{name} through CVXPY has no choice of algorithm")
    if name == "PDLP":
        # CVXPY 1.9 cannot hand over bounds of variables; this way they become rows.
        SOLVER_MAP_CONIC[name].BOUNDED_VARIABLES = False
    start = time.perf_counter()
    try:
        data, chain, inverse = problem_data(problem, name, keywords)
    except cvxpy.error.DCPError as failure:
        raise ProblemTypeError(f"CVXPY cannot hand this problem to {name}: {failure}") from None
    except (cvxpy.error.SolverError, ValueError, NotImplementedError, ArpackError) as failure:
        raise ProblemTypeError(
            f"CVXPY cannot hand this problem to {name}: {failure} {_advice(problem)}"
        ) from None
    for constraint in problem.constraints:
        for multiplier in constraint.dual_variables:
            # A solver that leaves no multipliers must not seem to have those of the one before.
            multiplier.save_value(None)
    exponent, handed_over = _objective_exponent(data), data
    if exponent:
        stated = {part: data[part] for part in OBJECTIVE if data.get(part) is not None}
        handed_over = data | {part: one * 2.0**exponent for part, one in stated.items()}
        or_tools.scale(data, 2.0**exponent)
    path = _path(problem, name, request)
    if request.start is not None:
        seed(problem, name, chain, handed_over, keywords, request.start)
    handed = or_tools.with_message(name, dict(keywords))
    built = time.perf_counter()
    with warnings.catch_warnings():
        # Our own check of the residuals says the same with numbers.
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(LogStream()):
            try:
                for _ in range(2):
                    raw: Any = None
                    if name == "OSQP" and path == WARM:
                        raw = resumed_osqp(problem._solver_cache, handed_over, handed, request.log)
                    if raw is not None:
                        break
                    raw = chain.solve_via_data(
                        problem,
                        handed_over,
                        warm_start=path != COLD,
                        verbose=request.log,
                        solver_opts=dict(handed),
                    )
                    if not _other_threads(name, raw):
                        break
            except cvxpy.error.SolverError:
                return _failed(name, Status.ERROR, start, built, keywords)
            except (TypeError, ValueError) as why:
                if any(option in str(why) for option in request.options):
                    raise OptionError(f"{name} does not take an option: {why}") from None
                check_numbers(problem)
                raise ProblemTypeError(
                    f"{name} refuses the problem or an option: {why}; try another solver"
                ) from None
            except KeyboardInterrupt:
                return _failed(name, Status.INTERRUPTED, start, built, keywords)
            except Exception as why:  # of the solver's own types: licences, sizes, options
                if any(option.lower() in str(why).lower() for option in request.options):
                    raise OptionError(f"{name} does not take an option: {why}") from None
                raise SolverError(f"{name} refuses the problem: {why}; see backends()") from None
            if name == "MOSEK" and "task" in raw:
                # CVXPY closes the task when its answer is read for the first time of two.
                raw["task"].__exit__ = _stay_open
            bound = search_bound(name, raw, keywords) * 2.0**-exponent
            try:
                _unpack(problem, raw, chain, inverse, exponent)
            except (cvxpy.error.SolverError, ValueError, TypeError):
                # The last two come from interfaces that cannot read their own solver's result.
                return _failed(name, Status.ERROR, start, built, keywords)
    if name == "OSQP" and isinstance(data, dict):
        data["Ax"] = handed_over.get("Ax")  # all rows, as the interface has put them together
    has_point = problem.status in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE, cvxpy.USER_LIMIT)
    has_point = has_point and all(v.value is not None for v in problem.variables())
    pair = None
    if has_point and not problem.is_mixed_integer():
        pair = cone_pair(name, chain.solver, data, inverse[-1], raw)
        pair = pair and replace(pair, dual=pair.dual * 2.0**-exponent)
    status = STATUS[problem.status]
    if status is Status.MAX_TIME_LIMIT and request.time_limit is None:
        status = Status.ITERATION_LIMIT  # CVXPY has one word for both
    if prove and status in _UNSOLVABLE:
        arguments = name, chain.solver, data, inverse[-1], raw
        proof = proven_unsolvable(*arguments, whole=problem.is_mixed_integer())
        status, pair = proof or (status, None)
    bound += float(inverse[-1].get("offset", 0.0))
    seconds = (built - start, time.perf_counter() - built)
    if name == "GLOP" and status is Status.CLAIMED_INFEASIBLE:
        # OR-Tools says so, too, where presolve cannot tell the two apart.
        status = Status.INFEASIBLE_OR_UNBOUNDED
    return _Run(status, name, has_point, pair, bound, *seconds, keywords, path)


def _stay_open(*_: Any) -> None:
    """Leave a task to the garbage collector."""


def _advice(problem: Any) -> str:
    """Return who takes a problem that the solver asked for does not."""
    known = [one.name for one in backends(installed=True) if Kind.CVXPY in one.routes]
    takers = able(problem, known)
    if takers:
        return f"Take {', '.join(takers)}."
    more = (
        "; scip takes whole numbers with second-order cones (pip install pyscipopt), mosek with "
        "exponential and power cones, too"
    )
    return f"No installed solver takes it{more if problem.is_mixed_integer() else ''}."


def _path(problem: Any, name: str, request: Request) -> str:
    """Return how a solver will start: where CVXPY keeps its last state, it can go on from that."""
    if request.start is not None:
        return START
    if not request.warm or name not in problem._solver_cache:
        return COLD
    return "in place" if name == "CLARABEL" else WARM


def _objective_exponent(data: Any) -> int:
    """Return the power of two that brings the largest coefficient of the objective into [1, 2)."""
    if not isinstance(data, dict) or "dualized" in data:
        return 0  # MOSEK gets the dual, whose objective is made of sides
    parts = [*(data[part] for part in OBJECTIVE if part in data), or_tools.costs(data)]
    sizes = [float(abs(part).max()) for part in parts if part is not None and min(part.shape)]
    largest = max(sizes, default=0.0)
    return 1 - int(np.frexp(largest)[1]) if np.isfinite(largest) and largest > 0.0 else 0


def _unpack(problem: Any, raw: Any, chain: Any, inverse: Any, exponent: int) -> None:
    """Put a solver's answer into the problem, objective and multipliers in their own unit."""
    found = chain.invert(raw, inverse)
    if found.status in ERROR:
        raise cvxpy.error.SolverError(f"{chain.solver.name()} failed")
    if exponent:
        found.dual_vars = {
            name: np.asarray(dual) * 2.0**-exponent for name, dual in found.dual_vars.items()
        }
    problem.unpack(found)
    problem._solver_stats = cvxpy.problems.problem.SolverStats.from_dict(
        found.attr, chain.solver.name()
    )
    if exponent and found.status in SOLUTION_PRESENT:
        problem._value = problem.objective.value


def _failed(
    name: str, status: Status, start: float, built: float, keywords: Mapping[str, Any]
) -> _Run:
    seconds = (built - start, time.perf_counter() - built)
    return _Run(status, name, False, None, float("nan"), *seconds, keywords)


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


def solve_linear(program: LinearProgram, request: Request) -> Solution:
    """Solve a linear program, or a mixed-integer one where the solver takes it."""
    if program.shape[1] == 0:
        return answer_without_columns(program, request, f"CVXPY {version('cvxpy')}")
    sides = RowSides(program)
    whole = (np.flatnonzero(program.integer),) if program.is_mixed_integer else False
    point = cvxpy.Variable(program.shape[1], integer=whole)
    with_lower, with_upper = np.isfinite(program.lower), np.isfinite(program.upper)
    by_rows = [
        _rows(sides.matrix(rows), point, side[rows], relation)
        for rows, side, relation in (
            (sides.equal, program.row_upper, operator.eq),
            (sides.upper, program.row_upper, operator.le),
            (sides.lower, program.row_lower, operator.ge),
        )
    ]
    bounds = []
    if with_lower.any():
        bounds.append(point[with_lower] >= program.lower[with_lower])
    if with_upper.any():
        bounds.append(point[with_upper] <= program.upper[with_upper])
    constraints = [rows for rows in by_rows if rows is not None] + bounds
    total = (program.sign * program.cost) @ point
    if program.quadratic is not None:
        total += 0.5 * quad_form(point, program.sign * program.quadratic, assume_PSD=True)
    objective = cvxpy.Minimize(total)
    if request.start is not None:
        request = replace(request, start={point.name(): request.start})
    outcome = _run(cvxpy.Problem(objective, constraints), request)
    values = np.array(point.value) if outcome.has_point else None
    duals = None
    if values is not None and outcome.pair is not None:
        # CVXPY's multipliers: minus the derivative, except for lower sides.
        equal, upper, lower = (
            np.zeros(0) if rows is None else np.asarray(rows.dual_value) for rows in by_rows
        )
        duals = program.sign * sides.duals(-equal, -upper, lower)
    return answer(
        program,
        request,
        outcome.status,
        seconds=(outcome.build, outcome.solve),
        version=outcome.version,
        bound=program.sign * outcome.bound + program.offset if program.is_mixed_integer else None,
        values=values,
        duals=duals,
        path=outcome.path,
        settings=outcome.settings,
    )


def _rows(matrix: Any, point: Any, side: NDArray[np.float64], relation: Callable[..., Any]) -> Any:
    """Return the constraint of some rows, None without any."""
    return relation(matrix @ point, side) if len(side) else None
