"""The one call that solves every kind of problem with every backend, and checks what it says.

A backend gets a linear or quadratic program as it stands, then equilibrated; the other way round
where the entries of the matrix lie so far apart that solvers drop some, and for mixed-integer
programs, whose search takes tolerances for decisions. The first answer that is certified ends it;
otherwise the best one counts. Points that miss rows are repaired, and without a usable point a
proof is looked for that there is none, or no best one.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError, ProblemTypeError, QualityWarning, SolverError
from edgeopt.solvers.conditions import decided
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.rays import improving_ray, infeasibility_proof, is_point, solved_by_highs
from edgeopt.solvers.registry import (
    FIRST_ORDER,
    NONLINEAR,
    Backend,
    Kind,
    ProgressCallback,
    ProgressLine,
    Reports,
    Request,
    default_solver,
    find_backend,
    kind_of,
)
from edgeopt.solvers.repair import cleaned, repaired
from edgeopt.solvers.residuals import linear
from edgeopt.solvers.scaling import (
    Scaling,
    preferred_scaling,
    warn_if_badly_scaled,
    without_far_limits,
)
from edgeopt.solvers.solution import Quality, Solution, Status, proven_bound, recomputed_objective
from edgeopt.solvers.starting_point import ready, with_start
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.registry import BackendSolve
    from edgeopt.solvers.sequences import RowSource
    from edgeopt.solvers.tolerance import Sum


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
    log: bool | str | PathLike[str] = False,
    raises: bool = True,
    progress: ProgressCallback | bool | None = None,
    warm: bool = False,
    start: Any = None,
    then: Sequence[Any] = (),
    give: float | Sequence[float] = 0.0,
    pool: int = 1,
    within: float = np.inf,
    lazy: RowSource | None = None,
    cuts: RowSource | None = None,
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
        problem, Ipopt a `CasadiNlp`. What HiGHS refuses, such as cones, goes to SCIP where that is
        installed. The choice is in `Solution.solver`.
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
        Whether its log goes to the logger ``edgeopt.solvers``, level INFO; a path writes it to that
        file.
    raises
        Whether to raise when no usable point is in hand. A time limit or Ctrl-C with a feasible
        point in hand never raises.
    progress
        Called with a `Progress` now and then; returning True stops the solver. What it raises comes
        out of the solve. True shows time, objective, bound and gap in one line.
    warm
        Whether to go on from where the problem stands: from the state that the solver keeps of its
        last solve of the same CVXPY problem, or from the values of a Pyomo model's variables. Every
        solve is cold by default. `Reusable` keeps the state of any problem that it takes.
    start
        A point to start from: values of the columns, shape [n], or a mapping from labels to values
        for a `LinearProgram` or `CasadiNlp`; a mapping from the names of variables for Pyomo and
        CVXPY. For a `LinearProgram`, also the path of a file ``.sol`` or ``.mst`` of values, or of
        a basis ``.bas`` (HiGHS), as `Solution.write` and other solvers make them. Columns that a
        mapping leaves out start at the number nearest 0 that their bounds
        allow, whole numbers of a mixed-integer program where the solver likes. A mixed-integer
        program takes the point as its first incumbent, after repair with the whole numbers kept
        where it is infeasible, and leaves it out where there is no repair; other methods may start
        anywhere. `Solution.path` says which: "start", "repaired start" or "cold".
    then, give
        Further costs of a `LinearProgram`, shape [n] or by label, in the order of their weight and
        in the same sense: each is optimised among the points that keep the ones before, of which
        `give` is the relative part given up, one number or one for each of `then`.
        `Solution.others` are the optima of the ones before.
    pool, within
        How many points of a mixed-integer `LinearProgram` are wanted that differ in whole numbers,
        none worse than the best by more than the relative difference `within`. They come one after
        the other, the best first, each by a solve without those before: `Solution.others`.
    lazy
        A function of a point, shape [n], that returns rows ``(terms, lower, upper)`` which it
        breaks, with terms by position or label of columns. The answer breaks none. SCIP asks it
        while it searches; other solvers solve again with the rows that their optimum broke. The
        rows that it took are in `Solution.problem`.
    cuts
        A function as `lazy`, which is asked at optima of the relaxation, before the search: its
        rows must hold for all whole numbers.
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
    file = None if isinstance(log, bool) else log
    if isinstance(progress, bool):
        progress = ProgressLine() if progress else None
    request = Request(
        backend.name, algorithm, time_limit, gap, tolerance, threads, log is not False, progress,
        options, absolute_gap, warm, start,
    )  # fmt: skip
    named, begun = solver is not None, time.perf_counter()
    with request.listening(file):
        if not (len(then) or pool != 1 or lazy or cuts):
            return _solved(problem, kind, backend, request, raises=raises, named=named)
        from edgeopt.solvers.sequences import answered

        def once(program: LinearProgram, raises: bool = raises, lazy: Any = None) -> Solution:
            kind, by = kind_of(program), backend
            if kind not in by.routes or not named:
                by = find_backend(default_solver(program, kind))
            asked = replace(request.since(begun), solver=by.name, lazy=lazy)
            if program.shape != problem.shape or not program.is_mixed_integer:
                asked = replace(asked, start=None)
            return _solved(program, kind, by, asked, raises=raises, named=named)

        return answered(
            problem, once, then=then, give=give, pool=pool, within=within, lazy=lazy, cuts=cuts
        )


def _solved(
    problem: Any, kind: Kind, backend: Backend, request: Request, *, raises: bool, named: bool
) -> Solution:
    """Solve as `solve` does, once its arguments are read."""
    run = backend.solve_function(kind)
    if isinstance(problem, LinearProgram):
        backend.check_conditions(problem)
    if request.warm or request.start is not None:
        request = with_start(problem, kind, backend, request)
    if isinstance(problem, LinearProgram):
        warn_if_badly_scaled(problem, stacklevel=3)
        answer = best_answer(run, problem, request)
        return delivered(answer, request, raises=raises, stacklevel=3)
    proven = resume_first_order(run, problem, request)
    if proven is not None:
        return proven
    try:
        claimed = run(problem, request)
    except ProblemTypeError:
        other = find_backend(NONLINEAR)
        if named or kind not in other.routes or not other.installed:
            raise
        request = replace(request, solver=other.name)
        claimed = other.solve_function(kind)(problem, request)
    if isinstance(claimed.evidence, Solution):  # a linear model's program has been through the same
        return usable(claimed) if raises else claimed
    return certify_claim(claimed, request, raises=raises, stacklevel=3)


_UNPROVEN: Final = {
    Status.PROVEN_INFEASIBLE: Status.CLAIMED_INFEASIBLE,
    Status.PROVEN_UNBOUNDED: Status.CLAIMED_UNBOUNDED,
}

FIRST_TRY: Final = 1e-5
"""Accuracy that a first-order method is asked for first: polished, it often reaches far more."""


def resume_first_order(run: BackendSolve, problem: Any, request: Request) -> Solution | None:
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
    kind = kind_of(claimed.problem)
    if claimed.evidence is None and kind is not Kind.PYOMO:
        claimed = replace(claimed, status=_UNPROVEN.get(claimed.status, claimed.status))
    certified = partial(
        Solution.certify, tolerance=request.accepted, gap=request.gap,
        absolute_gap=request.absolute_gap,
    )  # fmt: skip
    result = certified(claimed)
    if result.quality is Quality.INFEASIBLE and kind in (Kind.CVXPY, Kind.CASADI):
        # As in `_candidates`; a Pyomo model's program has been through them.
        zero = {name: np.zeros_like(value)[()] for name, value in claimed.values.items()}
        other = certified(_moved(claimed, zero))
        if other.quality is Quality.OPTIMAL:
            result = other
            if kind is Kind.CVXPY:
                for variable in other.problem.variables():
                    variable.save_value(other.values[variable.name()])
    return delivered(Answer(result, claimed), request, raises=raises, stacklevel=stacklevel + 1)


def delivered(
    answer: Answer, request: Request, *, raises: bool = True, stacklevel: int = 2
) -> Solution:
    """Return the solution of an answer; warn if it was claimed to be more, raise if of no use."""
    warn_if_overstated(answer, request, stacklevel=stacklevel + 1)
    return usable(answer.solution) if raises else answer.solution


def usable(solution: Solution) -> Solution:
    """Return a solution that has a feasible point; raise what to try if it has none."""
    if solution.quality.usable:
        return solution
    advice = _ADVICE.get(solution.status, "run again with log=True, or with another solver")
    claim = f" (the solver says {solution.claim}; no proof was found)" if solution.claim else ""
    raise SolverError(
        f"{solution.solver} ended without a usable solution: {solution.status.value}{claim}, "
        f"{solution.quality.value}; {advice}",
        solution,
    )


_ADVICE = {
    Status.PROVEN_INFEASIBLE: "edgeopt.solvers.explain(problem) names the constraints in conflict",
    Status.CLAIMED_INFEASIBLE: "edgeopt.solvers.explain(problem) looks for constraints in conflict",
    Status.PROVEN_UNBOUNDED: "give the columns that matter finite bounds",
    Status.CLAIMED_UNBOUNDED: "give the columns that matter finite bounds",
    Status.INFEASIBLE_OR_UNBOUNDED: "solve it with a zero objective to tell the two apart",
    Status.MAX_TIME_LIMIT: "allow more time, or start from a feasible point",
    Status.ITERATION_LIMIT: "allow more iterations, or take another algorithm",
}


TIGHTER: Final = {"clarabel": 1e-12}
"""Tolerance of a second try by solvers that stop at theirs, where a point is in hand."""

SHARE: Final = 6  # factorisations for one attempt, so that a later and better one has its own

RANK: Final = {quality: rank for rank, quality in enumerate(Quality)}

NO_POINT: Final = frozenset(
    {
        Status.PROVEN_INFEASIBLE,
        Status.PROVEN_UNBOUNDED,
        Status.CLAIMED_INFEASIBLE,
        Status.CLAIMED_UNBOUNDED,
        Status.INFEASIBLE_OR_UNBOUNDED,
    }
)
CLAIMS: Final = {
    "infeasible": Status.CLAIMED_INFEASIBLE,
    "unbounded": Status.CLAIMED_UNBOUNDED,
}
UNSETTLED: Final = NO_POINT | {
    Status.UNKNOWN,
    Status.ERROR,
    Status.ITERATION_LIMIT,
    Status.CONVERGENCE_CRITERIA_SATISFIED,
}
"""Ends without a usable point after which a proof is looked for; limits and Ctrl-C are none."""


class Answer(NamedTuple):
    """A certified solution, and what the backend claimed of it."""

    solution: Solution
    claimed: Solution


class Attempt(NamedTuple):
    """What a backend is given: a program, in a scaling, with a tolerance if not the request's."""

    program: LinearProgram
    scaling: Scaling
    tolerance: float | None = None


def best_answer(
    run: BackendSolve, program: LinearProgram, request: Request, first: Solution | None = None
) -> Answer:
    """Return the best of what attempts find; what is proven ends them.

    `first` is what a backend that holds the program claims of it already.
    """
    begun, path = time.perf_counter(), None
    if request.start is not None:
        request, path = ready(program, request, solved_by_highs)
    reports = Reports(request.progress)
    if reports.wanted:
        request = replace(request, progress=reports)
    best: Answer | None = None
    refused: SolverError | None = None
    asked, settled = request, False
    more: list[Attempt] = []
    with linear.few_factorisations():
        for attempt in chain(_attempts(program, request), more):
            if asked.time_limit == 0.0 and (best is not None or refused is not None):
                break
            if best is not None and attempt.tolerance is not None:
                if best.solution.values is None:
                    continue
                near = attempt.scaling.near(best.solution.objective)
                attempt = attempt._replace(scaling=near)
            try:
                claimed = first or handed_over(run, attempt, program, asked)
            except SolverError as why:
                refused, claimed = why, None
            reports.raise_kept()
            first, asked = None, request.since(begun)
            if claimed is None:
                continue
            with linear.few_factorisations(SHARE):
                found = judged(claimed, asked)
            if not settled and _gave_up(found, request):
                (found, point), settled = _settled(run, program, found, asked), True
                if point is not None and not program.is_mixed_integer and is_point(program, point):
                    more.append(attempt._replace(program=_holding(program, point)))
                asked = request.since(begun)
            if best is None or _better(found, best.solution):
                best = Answer(found, claimed)
            if _ends(found):
                break
        if best is not None and _may_be_unbounded(best.solution):
            proof = _unbounded(run, program, best.solution, asked, best.solution.values)
            best = best if proof is None else best._replace(solution=proof)
    if best is None:
        raise refused or SolverError(f"{request.solver} gave no answer")
    if path is None:
        return best
    return best._replace(solution=replace(best.solution, path=path))


def _holding(program: LinearProgram, point: Vector) -> LinearProgram:
    """Return the program with sides moved by rounding, so that a point satisfies it.

    Equations that repeat others up to noise have no point in common, to the last digit.
    """
    activity = program.matrix @ point
    return program.replace(
        row_lower=np.minimum(program.row_lower, activity),
        row_upper=np.maximum(program.row_upper, activity),
    )


def _may_be_unbounded(found: Solution) -> bool:
    """Return whether a point is in hand, and nothing that bounds a continuous program."""
    stopped = found.status in (Status.INTERRUPTED, Status.OBJECTIVE_LIMIT, Status.MAX_TIME_LIMIT)
    searched = found.problem.is_mixed_integer
    return (
        found.quality is Quality.FEASIBLE
        and bool(np.isinf(found.bound))
        and not (stopped or searched)
    )


def _gave_up(found: Solution, request: Request) -> bool:
    """Return whether a backend has no usable point, and not because it was stopped."""
    unlimited = request.time_limit is None and found.status is Status.MAX_TIME_LIMIT
    return not found.quality.usable and (unlimited or found.status in UNSETTLED)


def _ends(found: Solution) -> bool:
    """Return whether no other attempt can do better: proven, or stopped by what stops all."""
    stopped = found.status in (Status.INTERRUPTED, Status.OBJECTIVE_LIMIT)
    if kind_of(found.problem) is Kind.MIXED_INTEGER:
        stopped |= found.status in (Status.MAX_TIME_LIMIT, Status.ITERATION_LIMIT)
    return stopped or found.quality is Quality.OPTIMAL or found.evidence is not None


def warn_if_overstated(answer: Answer, request: Request, *, stacklevel: int = 2) -> None:
    """Warn if a backend claimed more than the data of the problem support."""
    found, claimed = answer
    if np.isinf(found.bound) and replace(found, bound=claimed.bound).passes_bound(request.accepted):
        text = (
            f"{claimed.solver} claims the bound {claimed.bound:.10g}, and found "
            f"{found.objective:.10g}, which is better: the bound is dropped"
        )
    elif found.status in (Status.PROVEN_INFEASIBLE, Status.PROVEN_UNBOUNDED):
        return
    elif claimed.quality is Quality.OPTIMAL and found.quality is not Quality.OPTIMAL:
        text = (
            f"{claimed.solver} called its solution optimal, the data say {found.quality.value}: "
            f"primal residual {found.primal_residual():.2g}, "
            f"dual residual {found.dual_residual():.2g}, gap {found.duality_gap():.2g} "
            f"against a tolerance of {request.accepted:g}; ask for a smaller tolerance or another "
            "solver"
        )
    else:
        return
    warnings.warn(text, QualityWarning, stacklevel=stacklevel + 1)


def _attempts(program: LinearProgram, request: Request) -> Iterator[Attempt]:
    """Yield what to try, in order."""
    first = preferred_scaling(program)
    tighter = TIGHTER.get(request.solver) if request.tolerance is None else None
    yield Attempt(program, first)
    if tighter is not None:
        yield Attempt(program, first, tighter)
    equilibrated = Scaling.equilibrated(program)
    second = equilibrated if first.is_plain else Scaling.plain(program)
    if not equilibrated.is_plain:
        yield Attempt(program, second)
        if tighter is not None:
            yield Attempt(program, second, tighter)
    nearer = without_far_limits(program)
    if nearer is not None:
        yield Attempt(nearer, first)


def handed_over(
    run: BackendSolve, attempt: Attempt, program: LinearProgram, request: Request
) -> Solution:
    """Return what a backend claims of a program."""
    scaling = attempt.scaling
    if attempt.tolerance is not None:
        request = replace(request, tolerance=attempt.tolerance)
    asked = scaling.request(request)
    try:
        with np.errstate(over="ignore"):
            stated = scaling.apply(attempt.program)
    except InstanceError as why:
        raise SolverError(f"{request.solver} was not asked: in other units, {why}") from None
    found = scaling.restore(run(stated, asked), program)
    return found if scaling.is_plain else replace(found, path=f"{found.path}, equilibrated")


def _better(one: Solution, other: Solution) -> bool:
    if one.evidence is not None:
        return True
    if RANK[one.quality] != RANK[other.quality]:
        return RANK[one.quality] > RANK[other.quality]
    return one.gap < other.gap


def judged(claimed: Solution, request: Request) -> Solution:
    """Certify a claim of a backend; where its point violates rows, the repaired one."""
    certified = partial(
        Solution.judged, tolerance=request.accepted, gap=request.gap,
        absolute_gap=request.absolute_gap,
    )  # fmt: skip
    bound = proven_bound(claimed)
    if claimed.values is None:
        return certified(claimed, bound)
    if kind_of(claimed.problem) is Kind.MIXED_INTEGER:
        whole = _with_whole_numbers(claimed, request)
        found = certified(whole, bound)
        broken = linear.whole_violation(whole.problem, whole.values) > TIGHT
        return replace(found, quality=Quality.INFEASIBLE) if broken else found
    # Duals prove the optimum whatever status the solver reports.
    claimed = replace(claimed, quality=Quality.OPTIMAL)
    if claimed.duals is None and kind_of(claimed.problem) is Kind.LINEAR:
        bound = _bound_of_highs(claimed, request.time_limit)
    best = certified(claimed, bound)
    if best.quality is Quality.OPTIMAL:
        return best
    for candidate in _candidates(claimed, best):
        own = bound if candidate.duals is claimed.duals else proven_bound(candidate)
        other = certified(candidate, _tighter(own, bound, claimed))
        if RANK[other.quality] > RANK[best.quality]:
            best = other
        if best.quality is Quality.OPTIMAL:
            break
    elsewhere = best.values is not claimed.values
    curved = kind_of(claimed.problem) is Kind.QUADRATIC
    if best.quality is Quality.FEASIBLE and curved and elsewhere:
        # A bound of a quadratic program is that of its tangent at the point.
        moved = replace(best, quality=Quality.OPTIMAL)
        best = certified(moved, _tighter(proven_bound(moved), bound, claimed))
    return best


def _bound_of_highs(claimed: Solution, time_limit: float | None) -> Sum:
    """Return what duals of HiGHS prove, for a backend that has none."""
    found = solved_by_highs(claimed.problem, time_limit)
    return proven_bound(claimed if found is None else replace(claimed, duals=found.duals))


def _tighter(one: Sum, other: Sum, solution: Solution) -> Sum:
    sign = solution.problem.sign
    return max(one, other, key=lambda bound: sign * bound.value)


def _candidates(claimed: Solution, judged: Solution) -> Iterator[Solution]:
    """Yield the solution at other points that may be what its own is meant to be.

    Interior points surround an optimum of all zeros, and relative to their own size they are far
    off: at a point so small no entry counts as negligible.
    """
    program, values = claimed.problem, claimed.values
    if judged.quality is Quality.INFEASIBLE or claimed.primal_residual() > TIGHT:
        for near in (values, cleaned(program, values)):
            yield _moved(claimed, repaired(program, near), "repaired")
    zero = np.clip(np.zeros_like(values), program.lower, program.upper)
    moved = _moved(claimed, zero, "repaired")
    if program.quadratic is not None and not program.cost.any() and not zero.any():
        moved = replace(moved, duals=np.zeros(program.shape[0]))  # as the slope is 0 there
    yield moved


def _moved(solution: Solution, values: Any, how: str = "") -> Solution:
    path = f"{solution.path}, {how}" if how else solution.path
    moved = replace(solution, values=values, path=path)
    return replace(moved, objective=recomputed_objective(moved).value)


def _with_whole_numbers(claimed: Solution, request: Request) -> Solution:
    """Return a mixed-integer solution whose whole numbers are whole, the rest solved for anew.

    A solver takes 0.999999 for 1, which a coefficient of a million turns into another decision.
    """
    program, values = claimed.problem, claimed.values
    whole = np.where(program.integer, np.round(values), values)
    if _holds(program, whole, request.accepted):
        return claimed if np.array_equal(whole, values) else _moved(claimed, whole)
    fixed = None if program.integer.all() else decided(program, whole)
    if fixed is not None:
        found = solved_by_highs(fixed, request.time_limit)
        point = whole
        if found is not None and found.values is not None:
            point = repaired(fixed, found.values)
        if _holds(program, point, request.accepted):
            return _moved(claimed, point, "repaired")
    if linear.whole_violation(program, whole) > TIGHT:
        return _moved(claimed, whole)
    return claimed


def _holds(program: LinearProgram, point: Vector, tolerance: float) -> bool:
    """Return whether a point with whole numbers violates nothing."""
    if linear.whole_violation(program, point) > TIGHT:
        return False
    return linear.primal_violation(program, point) <= tolerance


def _settled(
    run: BackendSolve, program: LinearProgram, found: Solution, request: Request
) -> tuple[Solution, Vector | None]:
    """Return what is proven of a program without a usable point, or a point of its relaxation."""
    begun = time.perf_counter()
    proof, point = infeasibility_proof(program, request.time_limit)
    if proof is not None:
        return _pointless(found, Status.PROVEN_INFEASIBLE, bound=np.inf, evidence=proof), None
    if point is not None:
        unbounded = _unbounded(run, program, found, request.since(begun), point)
        if unbounded is not None:
            return unbounded, None
    if found.status not in NO_POINT:
        return found, point
    said = found.status.value.removeprefix("proven ").removesuffix(" by the solver's word")
    status = Status.UNKNOWN
    if program.is_mixed_integer and point is not None:
        # Only the search can tell; a point of the relaxation says nothing.
        status = CLAIMS.get(said, found.status)
    return _pointless(found, status, evidence=found.evidence, claim=said), point


def _pointless(
    found: Solution, status: Status, bound: float = -np.inf, evidence: Any = None, claim: str = ""
) -> Solution:
    """Return a solution without a point; `bound` is that of the minimisation."""
    return replace(
        found, status=status, quality=Quality.NO_SOLUTION, objective=float("nan"),
        bound=found.problem.sign * bound, bound_by="", values=None, duals=None, claim=claim,
        evidence=evidence,
    )  # fmt: skip


def _unbounded(
    run: BackendSolve, program: LinearProgram, found: Solution, request: Request, point: Vector
) -> Solution | None:
    """Return the proof that a program has no best point, if there is one.

    `point` satisfies the program without its whole-number conditions.
    """
    if program.conditions:
        return None  # they may end a direction of the relaxation
    direction = improving_ray(program, request.time_limit)
    if direction is None or not _has_point(run, program, point, request):
        return None
    return _pointless(found, Status.PROVEN_UNBOUNDED, evidence=direction)


def _has_point(
    run: BackendSolve, program: LinearProgram, relaxed: Vector, request: Request
) -> bool:
    """Return whether a program has a point, of which one of its relaxation is known."""
    if not program.is_mixed_integer:
        return is_point(program, relaxed)
    question = program.replace(cost=np.zeros(program.shape[1]), offset=0.0)
    asked = replace(request, start=None)  # the backend is to look for any point
    try:
        claimed = handed_over(run, Attempt(question, preferred_scaling(question)), question, asked)
    except SolverError:
        return False
    return judged(claimed, asked).quality.usable
