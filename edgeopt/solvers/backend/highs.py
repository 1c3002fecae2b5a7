"""HiGHS in memory: simplex, interior point, first-order, and branch and cut."""

from __future__ import annotations

import logging
import threading
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import highspy
import numpy as np
from highspy import HighsModelStatus

from edgeopt.errors import OptionError, SolverError
from edgeopt.solvers.backend.assembly import refusal
from edgeopt.solvers.quadratic import upper_triangle
from edgeopt.solvers.registry import Basis, Progress, Reports
from edgeopt.solvers.solution import Seconds, Status, answer
from edgeopt.solvers.tolerance import DEFAULT, TIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Request
    from edgeopt.solvers.solution import Solution

STATUS: Final[Mapping[HighsModelStatus, Status]] = MappingProxyType(
    {
        HighsModelStatus.kOptimal: Status.CONVERGENCE_CRITERIA_SATISFIED,
        HighsModelStatus.kModelEmpty: Status.CONVERGENCE_CRITERIA_SATISFIED,
        HighsModelStatus.kInfeasible: Status.CLAIMED_INFEASIBLE,
        HighsModelStatus.kUnbounded: Status.CLAIMED_UNBOUNDED,
        HighsModelStatus.kUnboundedOrInfeasible: Status.INFEASIBLE_OR_UNBOUNDED,
        HighsModelStatus.kTimeLimit: Status.MAX_TIME_LIMIT,
        HighsModelStatus.kIterationLimit: Status.ITERATION_LIMIT,
        HighsModelStatus.kSolutionLimit: Status.ITERATION_LIMIT,
        HighsModelStatus.kObjectiveBound: Status.OBJECTIVE_LIMIT,
        HighsModelStatus.kObjectiveTarget: Status.OBJECTIVE_LIMIT,
        HighsModelStatus.kInterrupt: Status.INTERRUPTED,
        HighsModelStatus.kMemoryLimit: Status.ERROR,
        HighsModelStatus.kLoadError: Status.ERROR,
        HighsModelStatus.kModelError: Status.ERROR,
        HighsModelStatus.kPresolveError: Status.ERROR,
        HighsModelStatus.kSolveError: Status.ERROR,
        HighsModelStatus.kPostsolveError: Status.ERROR,
        HighsModelStatus.kNotset: Status.UNKNOWN,
        HighsModelStatus.kUnknown: Status.UNKNOWN,
    }
)


Result = TypeVar("Result")

_PAUSE: Final = 0.2
"""Seconds after which a Ctrl-C is heard at the latest."""

_LARGEST_INT: Final = np.iinfo(np.int32).max
_SECONDS_BETWEEN_REPORTS: Final = 0.1

HighsCallbackType = highspy.cb.HighsCallbackType

SMALL: Final = 10_000
"""Rows, columns and nonzeros of a linear program that is over before Ctrl-C could be heard."""

REFINEMENTS: Final = 4  # how often a quadratic program is solved again around its last optimum
SMALLEST_TOLERANCE: Final = 1e-10  # the smallest tolerance that HiGHS takes
logger = logging.getLogger("edgeopt.solvers")


def version() -> str:
    """Return the version of HiGHS."""
    return (
        f"{highspy.HIGHS_VERSION_MAJOR}.{highspy.HIGHS_VERSION_MINOR}.{highspy.HIGHS_VERSION_PATCH}"
    )


def solve(program: LinearProgram, request: Request) -> Solution:
    """Solve a linear or mixed-integer program."""
    start = time.perf_counter()
    timed = request.time_limit is not None or bool(request.options)
    model = load(program, again=_is_brief(program, request) and not timed)
    configure(model, request, program.is_mixed_integer)
    if request.start is not None:
        set_start(model, program, request)
    built = time.perf_counter()
    run(model, request, program)
    if program.quadratic is not None:
        _refine(model, program, request)
    return read(model, program, request, Seconds(built - start, time.perf_counter() - built))


_own = threading.local()


def _empty(*, again: bool) -> highspy.Highs:
    """Return an empty HiGHS: a new one or, as that takes as long as a small solve, this thread's.

    The clock of the latter goes on: it is not for solves with a time limit.
    """
    model: highspy.Highs | None = getattr(_own, "model", None) if again else None
    if model is not None:
        model.clear()
        return model
    model = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy does not annotate it
    if again:
        _own.model = model
    return model


def _is_brief(program: LinearProgram, request: Request) -> bool:
    """Return whether a solve is over before Ctrl-C could be heard, and nothing else listens."""
    small = not program.is_mixed_integer and sum(program.shape) + program.matrix.nnz <= SMALL
    heard = request.progress is not None or request.log
    return small and not heard


def load(program: LinearProgram, *, again: bool = False) -> highspy.Highs:
    """Hand a program to an empty HiGHS: a new one, or this thread's again.

    It is always passed as a minimisation: the first-order method of HiGHS returns duals of the
    other sign when it maximises.
    """
    rows, columns = program.shape
    matrix = program.matrix
    if matrix.nnz > _LARGEST_INT:
        raise OptionError(
            f"HiGHS counts with 32 bits and cannot hold {matrix.nnz} nonzeros; generate columns"
        )
    lower, whole = program.lower, program.integer.astype(np.int32)
    if program.conditions:
        lower = lower.copy()
        for column, least in program.conditions.semicontinuous.items():
            lower[column] = least
            whole[column] += int(highspy.HighsVarType.kSemiContinuous)
    model = _empty(again=again)
    model.setOptionValue("output_flag", False)
    outcome = model.passModel(
        columns,
        rows,
        matrix.nnz,
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMinimize),
        program.sign * program.offset,
        program.sign * program.cost,
        lower,
        program.upper,
        program.row_lower,
        program.row_upper,
        matrix.indptr.astype(np.int32, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data,
        whole,
    )
    if outcome == highspy.HighsStatus.kError:
        raise refusal("HiGHS", program, "it takes no numbers of such a size")
    if program.quadratic is not None:
        _load_quadratic(model, program)
    return model


def _load_quadratic(model: highspy.Highs, program: LinearProgram) -> None:
    triangle = upper_triangle(program).T.tocsc()
    outcome = model.passHessian(
        program.shape[1],
        triangle.nnz,
        int(highspy.HessianFormat.kTriangular),
        triangle.indptr.astype(np.int32),
        triangle.indices.astype(np.int32),
        triangle.data,
    )
    if outcome == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused the quadratic term")


def _refine(model: highspy.Highs, program: LinearProgram, request: Request) -> None:
    r"""Take out what HiGHS adds to a quadratic objective so that it is strictly convex.

    It adds :math:`\tfrac{\rho}{2} |x|^2`. With the costs :math:`c - \rho \hat x` it minimises
    the objective and :math:`\tfrac{\rho}{2} |x - \hat x|^2`, which is 0 at a fixed point: the
    proximal point method (Rockafellar, SIAM J. Control Optim. 14, 1976).
    """
    added = float(model.getOptionValue("qp_regularization_value")[1])
    every = np.arange(program.shape[1], dtype=np.int32)
    before = np.zeros(program.shape[1])
    for _ in range(REFINEMENTS):
        found = np.array(model.getSolution().col_value)
        if model.getModelStatus() != HighsModelStatus.kOptimal or not added:
            return
        if np.abs(found - before).max(initial=0.0) <= TIGHT * np.abs(found).max(initial=0.0):
            return
        model.changeColsCost(len(every), every, program.sign * program.cost - added * found)
        if request.time_limit is not None:
            model.setOptionValue("time_limit", model.getRunTime() + request.time_limit)
        run(model, request, program)
        before = found


def configure(model: highspy.Highs, request: Request, mixed_integer: bool) -> None:
    """Set the options of a HiGHS model from a request."""
    for name, value in settings(request, mixed_integer).items():
        if model.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise OptionError(f"HiGHS does not take {name}={value!r}")


def set_start(model: highspy.Highs, program: LinearProgram, request: Request) -> None:
    """Give HiGHS a basis, or a point: the first incumbent of a search, or a vertex close to it."""
    if not program.is_mixed_integer and request.algorithm not in (None, "choose", "simplex"):
        raise OptionError(
            f"start: HiGHS can start its simplex method from a point, not {request.algorithm!r}"
        )
    if isinstance(request.start, Basis):
        _set_basis(model, request.start)
        return
    known = np.flatnonzero(np.isfinite(request.start)).astype(np.int32)
    if not program.is_mixed_integer or (program.conditions and len(known) == program.shape[1]):
        # Of semi-continuous columns, parts of a point are refused.
        whole = highspy.HighsSolution()
        whole.col_value, whole.value_valid = request.start.tolist(), True
        outcome = model.setSolution(whole)
    else:
        outcome = model.setSolution(len(known), known, request.start[known])
    if outcome == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused the start")


def _set_basis(model: highspy.Highs, basis: Basis) -> None:
    held = highspy.HighsBasis()
    held.valid = True
    held.col_status = [highspy.HighsBasisStatus(status) for status in basis.columns.tolist()]
    held.row_status = [highspy.HighsBasisStatus(status) for status in basis.rows.tolist()]
    if model.setBasis(held) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused the basis")


def settings(request: Request, mixed_integer: bool) -> dict[str, Any]:
    """Return a request under HiGHS's own names; the caller's own options come last and win."""
    named: dict[str, Any] = {}
    if request.algorithm is not None:
        named["solver"] = request.algorithm
    if "pdlp" in (request.algorithm, request.options.get("solver")):
        # Its own default stops short of what a certificate at DEFAULT needs.
        named["kkt_tolerance"] = DEFAULT * 1e-2
    if request.time_limit is not None:
        named["time_limit"] = float(request.time_limit)
    if request.threads is not None:
        named["threads"] = int(request.threads)
    if request.tolerance is not None:
        named["kkt_tolerance"] = max(float(request.tolerance), SMALLEST_TOLERANCE)
    if not mixed_integer and request.algorithm in (None, "choose", "simplex"):
        # A large penalty sets the unit of all costs: what is within a usual tolerance of it may be
        # as large as the costs that matter. The simplex method goes by no other option.
        named["dual_feasibility_tolerance"] = SMALLEST_TOLERANCE
        if request.tolerance is not None:
            named["primal_feasibility_tolerance"] = named["kkt_tolerance"]
            named["dual_feasibility_tolerance"] = named["kkt_tolerance"]
    if mixed_integer:
        named["mip_rel_gap"] = DEFAULT if request.gap is None else float(request.gap)
        named["mip_abs_gap"] = float(request.absolute_gap)
    elif request.gap is not None:
        named["ipm_optimality_tolerance"] = max(float(request.gap), 1e-12)
    return named | request.options


class _Watch:
    """Listens to a running HiGHS: stops it, logs its lines, reports its progress."""

    def __init__(self, request: Request, sign: float) -> None:
        self.stop = threading.Event()
        self.reports = Reports(request.progress)
        self._sign = sign
        self._reported = -np.inf

    def __call__(self, kind: Any, message: str, out: Any, reply: Any, _: Any) -> None:
        if kind == HighsCallbackType.kCallbackLogging:
            logger.info("%s", message.rstrip("\n"))
            return
        if self.reports.wanted:
            self._report(kind, out)
        if reply is not None:
            reply.user_interrupt = self.stop.is_set()

    def _report(self, kind: Any, out: Any) -> None:
        now = time.perf_counter()
        if now - self._reported < _SECONDS_BETWEEN_REPORTS:
            return
        self._reported = now
        if kind == HighsCallbackType.kCallbackMipInterrupt:
            count, value, bound = out.mip_node_count, out.mip_primal_bound, out.mip_dual_bound
        else:
            count = max(out.simplex_iteration_count, out.ipm_iteration_count, 0)
            value, bound = out.objective_function_value, np.nan
        report = Progress.of(out.running_time, int(count), self._sign, value, bound)
        if self.reports(report):
            self.stop.set()


def run(model: highspy.Highs, request: Request, program: LinearProgram) -> None:
    """Run HiGHS with Ctrl-C, logging and progress wired up; Ctrl-C waits for a small program."""
    if _is_brief(program, request) and not _overtaxed(model.run(), model, request):
        return
    watch = _Watch(request, program.sign)
    model.setCallback(watch, None)
    kinds = [
        HighsCallbackType.kCallbackSimplexInterrupt,
        HighsCallbackType.kCallbackIpmInterrupt,
        HighsCallbackType.kCallbackMipInterrupt,
    ]
    if request.log:
        model.setOptionValue("output_flag", True)
        model.setOptionValue("log_to_console", False)
        kinds.append(HighsCallbackType.kCallbackLogging)
    for kind in kinds:
        model.startCallback(kind)
    try:
        if _overtaxed(run_interruptibly(model.run, watch.stop), model, request):
            # Solves of one thread share a pool of helpers, which keeps its size until reset.
            highspy.Highs.resetGlobalScheduler(True)
            run_interruptibly(model.run, watch.stop)
    finally:
        for kind in kinds:
            model.stopCallback(kind)
    watch.reports.raise_kept()


def _overtaxed(outcome: Any, model: highspy.Highs, request: Request) -> bool:
    """Whether HiGHS did not begin, because its pool of threads has another size."""
    untouched = model.getModelStatus() == HighsModelStatus.kNotset
    return bool(outcome == highspy.HighsStatus.kError and untouched and request.threads is not None)


def run_interruptibly(work: Callable[[], Result], stop: threading.Event) -> Result:
    """Run compiled work in a thread of its own, so that Python can hear Ctrl-C meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        # Python delivers Ctrl-C to the main thread only: nothing to listen for here.
        return work()
    results: list[Result] = []
    failures: list[BaseException] = []
    # Not Thread.join: interrupted, Python 3.11 takes the thread for finished.
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as failure:
            failures.append(failure)
        finally:
            done.set()

    worker = threading.Thread(target=run, name="edgeopt-solver", daemon=True)
    started = False
    while not done.is_set():
        try:
            if not started:
                started = True
                worker.start()
            # A signal may arrive just before this waits, and Python hears it only afterwards.
            done.wait(_PAUSE)
        except KeyboardInterrupt:
            if stop.is_set():
                raise
            stop.set()
    if failures:
        raise failures[0]
    return results[0]


def read(
    model: highspy.Highs,
    program: LinearProgram,
    request: Request,
    seconds: Seconds,
    path: str = "cold",
) -> Solution:
    """Return what HiGHS holds after a run, as a Solution in the sense of the program."""
    status = STATUS[model.getModelStatus()]
    found, info = model.getSolution(), model.getInfo()
    infeasible = status in (Status.CLAIMED_INFEASIBLE, Status.CLAIMED_UNBOUNDED)
    has_point = found.value_valid and not infeasible and _has_point(program, info)
    values = np.array(found.col_value) if has_point else None
    duals = None
    if program.shape[1] == 0:
        # HiGHS does not look at a program without columns; its only point is the empty one.
        values, duals = np.zeros(0), np.zeros(program.shape[0])
    elif found.dual_valid and not program.is_mixed_integer and not infeasible:
        duals = program.sign * np.array(found.row_dual)
    bound = None
    if program.is_mixed_integer and np.isfinite(info.mip_dual_bound):
        bound = program.sign * info.mip_dual_bound
    return answer(
        program,
        request,
        status,
        seconds=seconds,
        version=version(),
        bound=bound,
        values=values,
        duals=duals,
        path=path,
        settings=settings(request, program.is_mixed_integer),
    )


def _has_point(program: LinearProgram, info: Any) -> bool:
    """Whether the primal values are a point; without an incumbent HiGHS hands out a placeholder."""
    if program.is_mixed_integer:
        return bool(np.isfinite(info.objective_function_value)) and (
            info.primal_solution_status != int(highspy.SolutionStatus.kSolutionStatusNone)
        )
    return bool(info.primal_solution_status != int(highspy.SolutionStatus.kSolutionStatusNone))
