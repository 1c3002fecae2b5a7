"""Solvers that only Pyomo's older interfaces know: CPLEX, Xpress, MOSEK, executables."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pyomo.core.base.constraint import Constraint
from pyomo.core.base.objective import Objective, maximize
from pyomo.core.base.suffix import Suffix
from pyomo.core.base.var import Var
from pyomo.core.expr.numvalue import value
from pyomo.opt import SolverFactory, TerminationCondition

from edgeopt.errors import MissingDependencyError
from edgeopt.solvers.backend.assembly import assemble
from edgeopt.solvers.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.solvers.request import Request
    from edgeopt.solvers.solution import Solution

__all__ = ["STATUS", "solve_with_legacy_interface"]

STATUS: Final[Mapping[TerminationCondition, Status]] = MappingProxyType(
    {
        TerminationCondition.optimal: Status.CONVERGENCE_CRITERIA_SATISFIED,
        TerminationCondition.globallyOptimal: Status.CONVERGENCE_CRITERIA_SATISFIED,
        TerminationCondition.locallyOptimal: Status.CONVERGENCE_CRITERIA_SATISFIED,
        TerminationCondition.maxTimeLimit: Status.MAX_TIME_LIMIT,
        TerminationCondition.maxIterations: Status.ITERATION_LIMIT,
        TerminationCondition.maxEvaluations: Status.ITERATION_LIMIT,
        TerminationCondition.minFunctionValue: Status.OBJECTIVE_LIMIT,
        TerminationCondition.infeasible: Status.PROVEN_INFEASIBLE,
        TerminationCondition.unbounded: Status.PROVEN_UNBOUNDED,
        TerminationCondition.infeasibleOrUnbounded: Status.INFEASIBLE_OR_UNBOUNDED,
        TerminationCondition.userInterrupt: Status.INTERRUPTED,
        TerminationCondition.resourceInterrupt: Status.INTERRUPTED,
        TerminationCondition.error: Status.ERROR,
        TerminationCondition.solverFailure: Status.ERROR,
        TerminationCondition.internalSolverError: Status.ERROR,
        TerminationCondition.licensingProblems: Status.ERROR,
        TerminationCondition.invalidProblem: Status.ERROR,
        TerminationCondition.noSolution: Status.UNKNOWN,
        TerminationCondition.intermediateNonInteger: Status.UNKNOWN,
        TerminationCondition.feasible: Status.UNKNOWN,
        TerminationCondition.minStepLength: Status.UNKNOWN,
        TerminationCondition.other: Status.UNKNOWN,
        TerminationCondition.unknown: Status.UNKNOWN,
    }
)


def solve_with_legacy_interface(model: Any, name: str, request: Request) -> Solution:
    """Solve a model through ``pyomo.environ.SolverFactory``."""
    solver = SolverFactory(name)
    if solver is None or not solver.available(exception_flag=False):
        raise MissingDependencyError(
            f"Pyomo cannot reach the solver {name!r}: install it, or its Python package"
        )
    variables = list(model.component_data_objects(Var, descend_into=True))
    suffix = None
    if model.component("dual") is None and not any(not v.is_continuous() for v in variables):
        suffix = model.dual = Suffix(direction=Suffix.IMPORT)
    options = dict(request.options)
    if request.threads is not None:
        options.setdefault("threads", request.threads)
    limit = {} if request.time_limit is None else {"timelimit": request.time_limit}
    start = time.perf_counter()
    try:
        results = solver.solve(
            model, load_solutions=False, tee=request.log, options=options, **limit
        )
        seconds = time.perf_counter() - start
        status = STATUS[results.solver.termination_condition]
        has_point = len(results.solution) > 0
        if has_point:
            model.solutions.load_from(results)
        duals = _named_duals(model, suffix) if has_point else None
    finally:
        if suffix is not None:
            model.del_component(suffix)
    return _as_solution(model, request, status, variables, duals, results, seconds)


def _named_duals(model: Any, suffix: Any) -> dict[str, float] | None:
    if suffix is None or not suffix:
        return None
    rows = model.component_data_objects(Constraint, active=True, descend_into=True)
    return {row.name: float(suffix[row]) for row in rows if row in suffix}


def _as_solution(
    model: Any,
    request: Request,
    status: Status,
    variables: list[Any],
    duals: dict[str, float] | None,
    results: Any,
    seconds: float,
) -> Solution:
    objectives = list(model.component_data_objects(Objective, active=True, descend_into=True))
    maximised = bool(objectives) and objectives[0].sense == maximize
    reported = results.problem.upper_bound if maximised else results.problem.lower_bound
    values = None
    if len(results.solution) > 0:
        values = {v.name: float(v.value) for v in variables if v.value is not None}
    known = values is not None and bool(objectives)
    return assemble(
        model,
        request,
        status,
        sign=-1.0 if maximised else 1.0,
        seconds=(0.0, seconds),
        version=str(getattr(results.solver, "version", "")),
        objective=float(value(objectives[0])) if known else float("nan"),
        bound=float(reported) if isinstance(reported, float | int) else None,
        values=values,
        duals=duals,
    )
