"""What a backend says of a program, made right: attempts, repaired points, proofs of no solution.

A backend gets a linear or quadratic program as it stands, then equilibrated; the other way round
where the entries of the matrix lie so far apart that solvers drop some, and for mixed-integer
programs, whose search takes tolerances for decisions. The first answer that is certified ends it;
otherwise the best one counts.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError, QualityWarning, SolverError
from edgeopt.solvers.backend.assembly import Reports
from edgeopt.solvers.rays import (
    improving_ray,
    infeasibility_proof,
    is_point,
    solved_by_highs,
    time_left,
)
from edgeopt.solvers.repair import cleaned, repaired
from edgeopt.solvers.request import Kind, kind_of
from edgeopt.solvers.residuals import linear
from edgeopt.solvers.saddle import few_factorisations
from edgeopt.solvers.scaling import Scaling
from edgeopt.solvers.solution import (
    Quality,
    Solution,
    Status,
    proven_bound,
    recomputed_objective,
)
from edgeopt.solvers.starting_point import ready
from edgeopt.solvers.tolerance import DEFAULT, EPSILON, TIGHT
from edgeopt.solvers.units import wide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import BackendSolve
    from edgeopt.solvers.request import Request
    from edgeopt.solvers.tolerance import Sum

    Vector = NDArray[np.float64]

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
    left, settled = request.time_limit, False
    more: list[Attempt] = []
    with few_factorisations():
        for attempt in chain(_attempts(program, request), more):
            if left == 0.0 and (best is not None or refused is not None):
                break
            if best is not None and attempt.tolerance is not None:
                if best.solution.values is None:
                    continue
                near = attempt.scaling.near(best.solution.objective)
                attempt = attempt._replace(scaling=near)
            try:
                asked = replace(request, time_limit=left)
                claimed = first or handed_over(run, attempt, program, asked)
            except SolverError as why:
                refused, claimed = why, None
            reports.raise_kept()
            first, left = None, time_left(request.time_limit, begun)
            if claimed is None:
                continue
            asked = replace(request, time_limit=left)
            with few_factorisations(SHARE):
                found = judged(claimed, asked)
            if not settled and _gave_up(found, request):
                (found, point), settled = _settled(run, program, found, asked), True
                if point is not None and not program.is_mixed_integer and is_point(program, point):
                    more.append(attempt._replace(program=_holding(program, point)))
                left = time_left(request.time_limit, begun)
            if best is None or _better(found, best.solution):
                best = Answer(found, claimed)
            if _ends(found):
                break
        if best is not None and _may_be_unbounded(best.solution):
            asked = replace(request, time_limit=left, start=None)
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
    tolerance = max(DEFAULT, request.tolerance or 0.0)
    if np.isinf(found.bound) and replace(found, bound=claimed.bound).passes_bound(tolerance):
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
            f"against a tolerance of {tolerance:g}; ask for a smaller tolerance or another solver"
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


def without_far_limits(program: LinearProgram) -> LinearProgram | None:
    """Return the program without limits of columns at which a row loses its side to rounding.

    At 1e18, a row cannot tell a side of 1 from none, and no solver can. Whatever satisfies the
    program without such limits, and lies within them, is a point of the program. None if there are
    no such limits.
    """
    entries = program.matrix.tocoo()
    side = np.full(program.shape[0], np.inf)  # smallest side of each row other than 0
    for sides in (program.row_lower, program.row_upper):
        side = np.minimum(side, np.where(sides != 0.0, np.abs(sides), np.inf))
    near = np.full(program.shape[1], np.inf)
    np.minimum.at(near, entries.col, side[entries.row] / (EPSILON * np.abs(entries.data)))
    far_low = np.isfinite(program.lower) & (np.abs(program.lower) > near)
    far_high = np.isfinite(program.upper) & (np.abs(program.upper) > near)
    if not (far_low.any() or far_high.any()):
        return None
    return program.replace(
        lower=np.where(far_low, -np.inf, program.lower),
        upper=np.where(far_high, np.inf, program.upper),
    )


def preferred_scaling(program: LinearProgram) -> Scaling:
    """Return the scaling in which a program is tried first."""
    if program.is_mixed_integer or wide(program):
        return Scaling.equilibrated(program)
    return Scaling.plain(program)


def handed_over(
    run: BackendSolve, attempt: Attempt, program: LinearProgram, request: Request
) -> Solution:
    """Return what a backend claims of a program."""
    scaling, tolerance = attempt.scaling, attempt.tolerance or request.tolerance
    asked = scaling.request(replace(request, tolerance=tolerance))
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
    tolerance = max(DEFAULT, request.tolerance or 0.0)
    certified = partial(
        Solution.judged, tolerance=tolerance, gap=request.gap, absolute_gap=request.absolute_gap
    )
    bound = proven_bound(claimed)
    if claimed.values is None:
        return certified(claimed, bound)
    if kind_of(claimed.problem) is Kind.MIXED_INTEGER:
        whole = _with_whole_numbers(claimed, tolerance, request.time_limit)
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


def _moved(solution: Solution, values: Vector, how: str = "") -> Solution:
    path = f"{solution.path}, {how}" if how else solution.path
    moved = replace(solution, values=values, path=path)
    return replace(moved, objective=recomputed_objective(moved).value)


def _with_whole_numbers(claimed: Solution, tolerance: float, time_limit: float | None) -> Solution:
    """Return a mixed-integer solution whose whole numbers are whole, the rest solved for anew.

    A solver takes 0.999999 for 1, which a coefficient of a million turns into another decision.
    """
    program, values = claimed.problem, claimed.values
    whole = np.where(program.integer, np.round(values), values)
    if _holds(program, whole, tolerance):
        return claimed if np.array_equal(whole, values) else _moved(claimed, whole)
    low, high = (np.where(program.integer, whole, side) for side in (program.lower, program.upper))
    inside = ((low >= program.lower) & (high <= program.upper)).all()
    if inside and not program.integer.all():
        fixed = program.replace(lower=low, upper=high, integer=False)
        found = solved_by_highs(fixed, time_limit)
        point = whole
        if found is not None and found.values is not None:
            point = repaired(fixed, found.values)
        if _holds(program, point, tolerance):
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
    none = replace(found, values=None, duals=None, objective=float("nan"), bound_by="", claim="")
    none = replace(none, quality=Quality.NO_SOLUTION)
    proof, point = infeasibility_proof(program, request.time_limit)
    if proof is not None:
        infinite = program.sign * np.inf
        proven = replace(none, status=Status.PROVEN_INFEASIBLE, bound=infinite, evidence=proof)
        return proven, None
    if point is not None:
        left = replace(request, time_limit=time_left(request.time_limit, begun), start=None)
        unbounded = _unbounded(run, program, none, left, point)
        if unbounded is not None:
            return unbounded, None
    if found.status not in NO_POINT:
        return found, point
    said = found.status.value.removeprefix("proven ").removesuffix(" by the solver's word")
    status = Status.UNKNOWN
    if program.is_mixed_integer and point is not None:
        # Only the search can tell; a point of the relaxation says nothing.
        status = CLAIMS.get(said, found.status)
    return replace(none, status=status, bound=-program.sign * np.inf, claim=said), point


def _unbounded(
    run: BackendSolve,
    program: LinearProgram,
    found: Solution,
    request: Request,
    point: Vector,
) -> Solution | None:
    """Return the proof that a program has no best point, if there is one.

    `point` satisfies the program without its whole-number conditions.
    """
    direction = improving_ray(program, request.time_limit)
    if direction is None or not _has_point(run, program, point, request):
        return None
    return replace(
        found, status=Status.PROVEN_UNBOUNDED, quality=Quality.NO_SOLUTION, evidence=direction,
        bound=-program.sign * np.inf, bound_by="", values=None, duals=None, objective=float("nan"),
    )  # fmt: skip


def _has_point(
    run: BackendSolve, program: LinearProgram, relaxed: Vector, request: Request
) -> bool:
    """Return whether a program has a point, of which one of its relaxation is known."""
    if not program.is_mixed_integer:
        return is_point(program, relaxed)
    question = program.replace(cost=np.zeros(program.shape[1]), offset=0.0)
    attempt = Attempt(question, preferred_scaling(question))
    try:
        claimed = handed_over(run, attempt, question, request)
    except SolverError:
        return False
    return judged(claimed, request).quality.usable
