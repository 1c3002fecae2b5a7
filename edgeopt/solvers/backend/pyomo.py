"""Pyomo models: compiled and handed over in memory when linear, otherwise by Pyomo's interfaces.

CPLEX, Xpress, MOSEK and executables are known to its older interfaces only. A linear model that is
to go through one of these interfaces is tried like any other, as it stands and equilibrated: as a
model of its own, made of the compiled program.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyomo.common.errors import PyomoException
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import TerminationCondition
from pyomo.contrib.solver.common.util import NoDualsError
from pyomo.core.base.constraint import Constraint
from pyomo.core.base.objective import Objective, maximize
from pyomo.core.base.suffix import Suffix
from pyomo.core.base.var import Var
from pyomo.core.expr.numvalue import value
from pyomo.opt import SolverFactory as OlderFactory
from pyomo.opt import TerminationCondition as OlderCondition

from edgeopt.errors import MissingDependencyError, OptionError, ProblemTypeError, SolverError
from edgeopt.solvers.backend.assembly import LogStream
from edgeopt.solvers.dispatch import best_answer, warn_if_overstated
from edgeopt.solvers.pyomo_program import (
    PyomoProgram,
    active,
    check_components,
    compile_model,
    flat_model,
    free_variables,
    values_of,
)
from edgeopt.solvers.registry import find_backend
from edgeopt.solvers.solution import Seconds, Solution, Status, assemble
from edgeopt.solvers.starting_point import START, vector
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import BackendSolve, Request

STATUS: Final[Mapping[TerminationCondition, Status]] = MappingProxyType(
    {
        TerminationCondition.convergenceCriteriaSatisfied: Status.CONVERGENCE_CRITERIA_SATISFIED,
        TerminationCondition.emptyModel: Status.CONVERGENCE_CRITERIA_SATISFIED,
        TerminationCondition.maxTimeLimit: Status.MAX_TIME_LIMIT,
        TerminationCondition.iterationLimit: Status.ITERATION_LIMIT,
        TerminationCondition.objectiveLimit: Status.OBJECTIVE_LIMIT,
        TerminationCondition.minStepLength: Status.UNKNOWN,
        TerminationCondition.unbounded: Status.CLAIMED_UNBOUNDED,
        TerminationCondition.provenInfeasible: Status.CLAIMED_INFEASIBLE,
        TerminationCondition.locallyInfeasible: Status.UNKNOWN,
        TerminationCondition.infeasibleOrUnbounded: Status.INFEASIBLE_OR_UNBOUNDED,
        TerminationCondition.error: Status.ERROR,
        TerminationCondition.interrupted: Status.INTERRUPTED,
        TerminationCondition.licensingProblems: Status.ERROR,
        TerminationCondition.unknown: Status.UNKNOWN,
    }
)

_NATIVE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "highs": "highs",
        "scip": "scip_direct",
        "ipopt": "ipopt",
        "gurobi": "gurobi_persistent",
        "cplex": "cplex_direct",
        "xpress": "xpress_direct",
        "mosek": "mosek_direct",
        "copt": "copt_direct",
    }
)
"""Names under which Pyomo knows the backends of the table."""

TOLERANCE: Final[Mapping[str, str]] = MappingProxyType({"scip_direct": "numerics/feastol"})
"""What Pyomo's interfaces call a tolerance, as far as we have them to try."""

_ABLE: Final = (
    "scip takes nonlinear models, with whole numbers or without (pip install pyscipopt), ipopt "
    "smooth ones without, where its executable is installed"
)
"""Who takes what is not linear."""

_COMPILED: Final = ("highs", "scip", "scipy", "clarabel", "osqp", "scs", "ipopt")

logger = logging.getLogger("edgeopt.solvers")


def solve(model: Any, request: Request) -> Solution:
    """Solve a Pyomo model and load the solution into its variables.

    A linear model goes as a `LinearProgram` to the backends that take one, which gives it their
    certificates, interruption and progress; ``"pyomo:NAME"`` insists on Pyomo's own interface NAME.
    """
    library, _, native = request.solver.rpartition(":")
    start = time.perf_counter()
    try:
        compiled, reason = _compiled(model)
    except SolverError:
        # A constraint without free variables does not hold; `explain` names it.
        status, spent = Status.PROVEN_INFEASIBLE, (time.perf_counter() - start, 0.0)
        return assemble(model, request, status, sign=_sign(model), seconds=spent, version="")
    seconds = time.perf_counter() - start
    if not library and request.solver in _COMPILED:
        if compiled is not None:
            from edgeopt.solvers.registry import kind_of

            backend, kind = find_backend(request.solver), kind_of(compiled.program)
            run = backend.solve_function(kind)
            if request.start is not None:
                backend.check_start(kind)
            return _solve_compiled(run, model, compiled, request, seconds)
        if request.solver not in _NATIVE:
            raise ProblemTypeError(f"{request.solver} cannot take this model: {reason}; {_ABLE}")
    name = native if library else _NATIVE[request.solver]
    if request.start is not None:
        _set_start(model, name, request)
    reach = partial(_reach, name, _interface(name, request))
    if compiled is None:
        if name == "highs" and any(not one.is_continuous() for one in free_variables(model)):
            raise ProblemTypeError(
                f"highs takes whole numbers only where all is linear: {reason}; {_ABLE}"
            )
        found = reach(model, request)
        if name == "highs" and found.status in (Status.UNKNOWN, Status.ERROR):
            raise ProblemTypeError(
                f"highs gave up; beside linear models it takes convex quadratic objectives: "
                f"{reason}; {_ABLE}"
            )
        return found if request.start is None else replace(found, path=START)
    return _solve_compiled(partial(_solve_flat, reach), model, compiled, request, seconds)


def _compiled(model: Any) -> tuple[PyomoProgram | None, str]:
    try:
        return compile_model(model), ""
    except ProblemTypeError as failure:
        return None, str(failure)


def _solve_compiled(
    run: BackendSolve, model: Any, compiled: PyomoProgram, request: Request, seconds: float
) -> Solution:
    if request.start is not None:
        columns = set(compiled.program.column_names)  # fixed variables are no columns
        known = {name: value for name, value in request.start.items() if name in columns}
        request = replace(request, start=vector(known, compiled.program.column_names))
    answer = best_answer(run, compiled.program, request)
    warn_if_overstated(answer, request, stacklevel=4)
    inner = answer.solution
    if inner.values is not None:
        compiled.load(inner.values)
    return replace(
        inner,
        problem=model,
        evidence=inner,
        values=None if inner.values is None else compiled.named_values(inner.values),
        duals=None if inner.duals is None else compiled.named_duals(inner.duals),
        seconds=Seconds(inner.seconds.build + seconds, inner.seconds.solve),
    )


def _set_start(model: Any, name: str, request: Request) -> None:
    """Put a start into the variables, from which Pyomo's interface to Ipopt starts."""
    if name != "ipopt":
        raise OptionError(f"start: Pyomo's interface to {name} starts from no point; ipopt does")
    for variable in model.component_data_objects(Var, descend_into=True):
        if variable.name in request.start and not variable.fixed:
            variable.set_value(request.start[variable.name], skip_validation=True)


def _solve_flat(
    reach: Callable[[Any, Request], Solution], program: LinearProgram, request: Request
) -> Solution:
    """Solve a linear program by one of Pyomo's interfaces."""
    model = flat_model(program)
    found = reach(model, request)
    if found.values is None:
        return replace(found, problem=program)
    values = [found.values.get(column.name, np.nan) for column in model.x.values()]
    duals = None
    if found.duals is not None:
        duals = np.zeros(program.shape[0])
        for row, constraint in model.row.items():
            duals[row] = found.duals.get(constraint.name, np.nan)
    return replace(found, problem=program, values=np.array(values), duals=duals)


def _interface(name: str, request: Request) -> Any:
    """Return Pyomo's interface of a name, None where there is only one of the older kind."""
    if request.algorithm is not None:
        raise OptionError(
            f"Pyomo's {name} has no common name for algorithms; pass the solver's own option"
        )
    solver = SolverFactory(name)
    if solver is not None and not solver.available():
        raise MissingDependencyError(
            f"Pyomo cannot reach the solver {name!r}: install it, or its Python package"
        )
    return solver


def _reach(name: str, solver: Any, model: Any, request: Request) -> Solution:
    if solver is None:
        return _solve_with_older_interface(model, name, request)
    return _run(model, name, solver, request)


def _run(model: Any, name: str, solver: Any, request: Request) -> Solution:
    asked: dict[str, Any] = {
        "time_limit": request.time_limit,
        "threads": request.threads,
        "rel_gap": DEFAULT if request.gap is None else request.gap,
    }
    known = {
        key: value for key, value in asked.items() if value is not None and key in solver.config
    }
    own = dict(request.options)
    check_components(model)
    if request.tolerance is not None and name in TOLERANCE:
        own.setdefault(TOLERANCE[name], request.tolerance)
    start = time.perf_counter()
    try:
        results = solver.solve(
            model,
            load_solutions=False,
            raise_exception_on_nonoptimal_result=False,
            tee=[LogStream()] if request.log else False,
            solver_options=own,
            **known,
        )
    except (PyomoException, NotImplementedError) as failure:
        raise ProblemTypeError(
            f"Pyomo's interface to {name} does not take this model: {failure}; {_ABLE}"
        ) from failure
    except KeyboardInterrupt:
        logger.info("Pyomo's %s does not hand over what it has when interrupted", name)
        seconds, sign = (0.0, time.perf_counter() - start), _sign(model)
        return assemble(model, request, Status.INTERRUPTED, sign=sign, seconds=seconds, version="")
    spent = time.perf_counter() - start
    status = STATUS[results.termination_condition]
    values = duals = None
    if results.incumbent_objective is not None:
        results.solution_loader.load_vars()
        values = values_of(model)
        duals = _duals(results.solution_loader)
    return assemble(
        model,
        request,
        status,
        sign=_sign(model),
        seconds=(0.0, spent),
        version=".".join(map(str, results.solver_version or ())),
        objective=float(results.incumbent_objective) if values is not None else float("nan"),
        bound=results.objective_bound,
        values=values,
        duals=duals,
        settings=known | own,
    )


def _duals(loader: Any) -> dict[str, float] | None:
    try:
        found = loader.get_duals()
    except (NoDualsError, NotImplementedError):
        return None
    return {constraint.name: float(dual) for constraint, dual in found.items()}


def _sign(model: Any) -> float:
    return -1.0 if any(one.sense == maximize for one in active(model, Objective)) else 1.0


_OLDER_STATUS: Final[Mapping[OlderCondition, Status]] = MappingProxyType(
    {
        OlderCondition.optimal: Status.CONVERGENCE_CRITERIA_SATISFIED,
        OlderCondition.globallyOptimal: Status.CONVERGENCE_CRITERIA_SATISFIED,
        OlderCondition.locallyOptimal: Status.CONVERGENCE_CRITERIA_SATISFIED,
        OlderCondition.maxTimeLimit: Status.MAX_TIME_LIMIT,
        OlderCondition.maxIterations: Status.ITERATION_LIMIT,
        OlderCondition.maxEvaluations: Status.ITERATION_LIMIT,
        OlderCondition.minFunctionValue: Status.OBJECTIVE_LIMIT,
        OlderCondition.infeasible: Status.CLAIMED_INFEASIBLE,
        OlderCondition.unbounded: Status.CLAIMED_UNBOUNDED,
        OlderCondition.infeasibleOrUnbounded: Status.INFEASIBLE_OR_UNBOUNDED,
        OlderCondition.userInterrupt: Status.INTERRUPTED,
        OlderCondition.resourceInterrupt: Status.INTERRUPTED,
        OlderCondition.error: Status.ERROR,
        OlderCondition.solverFailure: Status.ERROR,
        OlderCondition.internalSolverError: Status.ERROR,
        OlderCondition.licensingProblems: Status.ERROR,
        OlderCondition.invalidProblem: Status.ERROR,
        OlderCondition.noSolution: Status.UNKNOWN,
        OlderCondition.intermediateNonInteger: Status.UNKNOWN,
        OlderCondition.feasible: Status.UNKNOWN,
        OlderCondition.minStepLength: Status.UNKNOWN,
        OlderCondition.other: Status.UNKNOWN,
        OlderCondition.unknown: Status.UNKNOWN,
    }
)


def _solve_with_older_interface(model: Any, name: str, request: Request) -> Solution:
    """Solve a model through ``pyomo.environ.SolverFactory``."""
    solver = OlderFactory(name)
    if solver is None or not solver.available(exception_flag=False):
        raise MissingDependencyError(
            f"Pyomo cannot reach the solver {name!r}: install it, or its Python package"
        )
    suffix = None
    variables = model.component_data_objects(Var, descend_into=True)
    if model.component("dual") is None and all(one.is_continuous() for one in variables):
        suffix = model.dual = Suffix(direction=Suffix.IMPORT)
    options = dict(request.options)
    if request.threads is not None:
        options.setdefault("threads", request.threads)
    limit = {} if request.time_limit is None else {"timelimit": request.time_limit}
    start = time.perf_counter()
    values = duals = None
    try:
        results = solver.solve(
            model, load_solutions=False, tee=request.log, options=options, **limit
        )
        seconds = time.perf_counter() - start
        if len(results.solution) > 0:
            model.solutions.load_from(results)
            values, duals = values_of(model), _named_duals(model, suffix)
    finally:
        if suffix is not None:
            model.del_component(suffix)
    sign, objectives = _sign(model), active(model, Objective)
    reported = results.problem.upper_bound if sign < 0.0 else results.problem.lower_bound
    known = values is not None and bool(objectives)
    return assemble(
        model,
        request,
        _OLDER_STATUS[results.solver.termination_condition],
        sign=sign,
        seconds=(0.0, seconds),
        version=str(getattr(results.solver, "version", "")),
        objective=float(value(objectives[0])) if known else float("nan"),
        bound=float(reported) if isinstance(reported, float | int) else None,
        values=values,
        duals=duals,
    )


def _named_duals(model: Any, suffix: Any) -> dict[str, float] | None:
    if not suffix:
        return None
    return {row.name: float(suffix[row]) for row in active(model, Constraint) if row in suffix}
