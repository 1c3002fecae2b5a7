"""The one call that solves every kind of problem with every backend."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import SolverError
from edgeopt.solvers.attempts import Answer, best_answer, warn_if_overstated
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.registry import FIRST_ORDER, Backend, default_solver, find_backend
from edgeopt.solvers.request import Kind, ProgressCallback, Request, kind_of
from edgeopt.solvers.scaling import warn_if_badly_scaled
from edgeopt.solvers.solution import Quality, Solution, Status, recomputed_objective
from edgeopt.solvers.starting_point import placed
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from edgeopt.solvers.registry import BackendSolve


def solve(
    problem: Any,
    solver: str | Backend | None = None,
    *,
    algorithm: str | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    absolute_gap: float = 0.0,
    tolerance: float | None = None,
    threads: int | None = None,
    log: bool = False,
    raises: bool = True,
    progress: ProgressCallback | None = None,
    warm: bool = False,
    start: Any = None,
    **options: Any,
) -> Solution:
    """Solve a problem and check the answer against its data.

    A linear or quadratic program goes to the solver as it stands, its objective divided by a power
    of two and without its constant; if no certified answer comes back, a second time with rows and
    columns equilibrated. Mixed-integer programs, and those whose entries span more than 2^33, are
    equilibrated first. A point that misses rows is repaired where a small change does. All of this
    is in `Solution.path`. Other units leave the optimum the same to 1e-6, not the same bits.

    Parameters
    ----------
    problem
        A `LinearProgram`, a Pyomo model, a CVXPY problem or a `CasadiNlp`.
    solver
        Name of a backend; `backends()` lists them. A `Backend` of your own may stand here itself.
        By default HiGHS solves a `LinearProgram`, a Pyomo model, and what is linear or has whole
        numbers in CVXPY; Clarabel a `LinearProgram` with a quadratic term and any other CVXPY
        problem, Ipopt a `CasadiNlp`. The choice is in `Solution.solver`.
    algorithm
        Method inside the solver: "simplex", "ipm" or "pdlp" for HiGHS.
    time_limit
        Seconds after which the solver returns the best it has.
    gap
        Relative gap at which it may stop; 1e-6 for mixed-integer programs by default. It has no
        unit, and leaves out the constant of the objective: see `Solution.duality_gap`.
    absolute_gap
        Difference of bound and objective, in the objective's unit, at which it may stop whatever
        the relative gap. An optimum that is exactly 0 is only called optimal if it is proven to
        rounding, or to this.
    tolerance
        Feasibility and optimality tolerance handed to the solver; its own by default, or 1e-6
        result accuracy for first-order methods.
    threads
        How many threads it may use; its own choice by default.
    log
        Whether its log goes to the logger ``edgeopt.solvers``, level INFO.
    raises
        Whether to raise when no usable point is in hand. A time limit or Ctrl-C with a feasible
        point in hand never raises.
    progress
        Called with a `Progress` now and then; returning True stops the solver. What it raises comes
        out of the solve.
    warm
        Whether to go on from where the problem stands: from the state that the solver keeps of its
        last solve of the same CVXPY problem, or from the values of a Pyomo model's variables. Every
        solve is cold by default. `Reusable` keeps the state of any problem that it takes.
    start
        A point to start from: values of the columns, shape [n], or a mapping from labels to values
        for a `LinearProgram` or `CasadiNlp`; a mapping from the names of variables for Pyomo and
        CVXPY. Columns that a mapping leaves out start at the number nearest 0 that their bounds
        allow, whole numbers of a mixed-integer program where the solver likes. A mixed-integer
        program takes the point as its first incumbent, after repair with the whole numbers kept
        where it is infeasible, and leaves it out where there is no repair; other methods may start
        anywhere. `Solution.path` says which: "start", "repaired start" or "cold".
    **options
        Passed on under the solver's own names, such as ``run_crossover="off"``.

    Returns
    -------
    The solution. Its quality is that of recomputed residuals and gap; the bound is recomputed from
    duals where there are any, and otherwise the solver's (`Solution.bound_by`).

    Raises
    ------
    SolverError
        If `raises` and there is no feasible point; its attribute `solution` holds what is known.
    ProblemTypeError
        If the backend does not take this kind of problem.
    OptionError
        If there is no such backend, it refuses an option, or cannot start from a point; the error
        names those that can. If a start has a wrong length, an unknown label or no finite number.
    MissingDependencyError
        If the backend is not installed.

    Warns
    -----
    ScalingWarning
        Before the solve, if the entries of a program's matrix span more than 1e9 even equilibrated.
    QualityWarning
        If the solver claimed an optimum, or a bound, that the data do not support.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.solvers import LinearProgram
    >>> program = LinearProgram([3, 2], [[1, 1], [1, 0]], -np.inf, [4, 2], sense="max")
    >>> solution = solve(program)
    >>> round(solution.objective, 6), solution.duals.round(6).tolist()
    (10.0, [2.0, 1.0])
    """
    kind = kind_of(problem)
    backend = find_backend(default_solver(problem, kind) if solver is None else solver)
    request = Request(
        backend.name, algorithm, time_limit, gap, tolerance, threads, log, progress, options,
        absolute_gap, warm, start,
    )  # fmt: skip
    run = backend.solve_function(kind)
    request = placed(problem, kind, backend, request)
    if isinstance(problem, LinearProgram):
        warn_if_badly_scaled(problem, stacklevel=2)
        answer = best_answer(run, problem, request)
        return delivered(answer, request, raises=raises, stacklevel=2)
    proven = gone_on(run, problem, request)
    if proven is not None:
        return proven
    claimed = run(problem, request)
    if isinstance(claimed.evidence, Solution):  # a linear model's program has been through the same
        return usable(claimed) if raises else claimed
    return certify_claim(claimed, request, raises=raises, stacklevel=2)


_UNPROVEN: Final = {
    Status.PROVEN_INFEASIBLE: Status.CLAIMED_INFEASIBLE,
    Status.PROVEN_UNBOUNDED: Status.CLAIMED_UNBOUNDED,
}

FIRST_TRY: Final = 1e-5
"""Accuracy that a first-order method is asked for first: polished, it often reaches far more."""


def gone_on(run: BackendSolve, problem: Any, request: Request) -> Solution | None:
    """Return what a first-order method finds from its last state, if that is certified as optimal.

    None if it is not, and has to be asked for more accuracy.
    """
    name = request.solver.rpartition(":")[2].upper()
    kept = request.warm and name in getattr(problem, "_solver_cache", ())
    if not kept or request.tolerance is not None or name not in FIRST_ORDER:
        return None
    found = run(problem, replace(request, tolerance=FIRST_TRY))
    certified = found.certify(gap=request.gap, absolute_gap=request.absolute_gap)
    return certified if certified.quality is Quality.OPTIMAL else None


def certify_claim(
    claimed: Solution, request: Request, *, raises: bool = True, stacklevel: int = 2
) -> Solution:
    """Certify what a backend claims of a model, warn if it was too much, raise if of no use."""
    tolerance = max(DEFAULT, request.tolerance or 0.0)
    if claimed.evidence is None and kind_of(claimed.problem) is not Kind.PYOMO:
        claimed = replace(claimed, status=_UNPROVEN.get(claimed.status, claimed.status))
    result = claimed.certify(tolerance, gap=request.gap, absolute_gap=request.absolute_gap)
    if result.quality is Quality.INFEASIBLE:
        zero = _at_zero(claimed)
        if zero is not None:
            zero = zero.certify(tolerance, gap=request.gap, absolute_gap=request.absolute_gap)
            result = _shown(zero) if zero.quality is Quality.OPTIMAL else result
    return delivered(Answer(result, claimed), request, raises=raises, stacklevel=stacklevel + 1)


def delivered(
    answer: Answer, request: Request, *, raises: bool = True, stacklevel: int = 2
) -> Solution:
    """Return the solution of an answer; warn if it was claimed to be more, raise if of no use."""
    warn_if_overstated(answer, request, stacklevel=stacklevel + 1)
    return usable(answer.solution) if raises else answer.solution


def usable(solution: Solution) -> Solution:
    """Return a solution that has a feasible point; raise what to try if it has none."""
    if not solution.quality.usable:
        raise SolverError(_what_to_try(solution), solution)
    return solution


def _at_zero(solution: Solution) -> Solution | None:
    """Return the solution of a model with all its values 0; None where attempts have tried that.

    Interior points surround an optimum of all zeros, and relative to their own size they are far
    off: at a point so small no entry counts as negligible.
    """
    if kind_of(solution.problem) not in (Kind.CVXPY, Kind.CASADI):
        return None
    values = {name: np.zeros_like(value)[()] for name, value in solution.values.items()}
    moved = replace(solution, values=values)
    return replace(moved, objective=recomputed_objective(moved).value)


def _shown(solution: Solution) -> Solution:
    """Return the solution, with its values in the variables of a CVXPY problem."""
    if kind_of(solution.problem) is Kind.CVXPY:
        for variable in solution.problem.variables():
            variable.save_value(solution.values[variable.name()])
    return solution


_ADVICE = {
    Status.PROVEN_INFEASIBLE: "edgeopt.solvers.explain(problem) names the constraints in conflict",
    Status.CLAIMED_INFEASIBLE: "edgeopt.solvers.explain(problem) looks for constraints in conflict",
    Status.PROVEN_UNBOUNDED: "give the columns that matter finite bounds",
    Status.CLAIMED_UNBOUNDED: "give the columns that matter finite bounds",
    Status.INFEASIBLE_OR_UNBOUNDED: "solve it with a zero objective to tell the two apart",
    Status.MAX_TIME_LIMIT: "allow more time, or start from a feasible point",
    Status.ITERATION_LIMIT: "allow more iterations, or take another algorithm",
}


def _what_to_try(solution: Solution) -> str:
    advice = _ADVICE.get(solution.status, "run again with log=True, or with another solver")
    claim = f" (the solver says {solution.claim}; no proof was found)" if solution.claim else ""
    return (
        f"{solution.solver} ended without a usable solution: {solution.status.value}{claim}, "
        f"{solution.quality.value}; {advice}"
    )
