"""What backends share: from their log and Ctrl-C to the Solution that they return."""

from __future__ import annotations

import difflib
import io
import logging
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from edgeopt.errors import OptionError, SolverError
from edgeopt.solvers.solution import Quality, Seconds, Solution, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from numpy.typing import NDArray
    from scipy import sparse

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.request import Progress, ProgressCallback, Request

    Rows = NDArray[np.intp]


def refuse_options(solver: str, options: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse options that a solver would take without a word and ignore."""
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(sorted(known))}"
            raise OptionError(f"{solver} has no option {name!r}; {hint}")


def osqp_options() -> set[str]:
    """Return the names of OSQP's settings."""
    import osqp

    return {name for name in dir(osqp.OSQP().ext.OSQPSettings) if not name.startswith("_")}


def assemble(
    problem: Any,
    request: Request,
    status: Status,
    *,
    sign: float,
    seconds: tuple[float, float],
    version: str,
    objective: float = float("nan"),
    bound: float | None = None,
    values: Any = None,
    duals: Any = None,
    evidence: Any = None,
    path: str = "cold",
    settings: Mapping[str, Any] | None = None,
) -> Solution:
    """Build the solution that a backend claims, not yet certified."""
    if bound is None or np.isnan(bound):
        bound = (1.0 if status is Status.PROVEN_INFEASIBLE else -1.0) * sign * np.inf
    quality = Quality.NO_SOLUTION
    if values is not None:
        converged = status is Status.CONVERGENCE_CRITERIA_SATISFIED
        quality = Quality.OPTIMAL if converged else Quality.FEASIBLE
    return Solution(
        status=status,
        quality=quality,
        objective=objective if values is not None else float("nan"),
        bound=float(bound),
        values=values,
        duals=duals,
        seconds=Seconds(*seconds),
        solver=request.solver,
        version=version,
        options=request.record() | dict(settings or {}),
        problem=problem,
        path=path,
        evidence=evidence,
        sense="max" if sign < 0 else "min",
    )


def answer(
    program: LinearProgram, request: Request, status: Status, *, values: Any, **found: Any
) -> Solution:
    """Build the solution of a program in matrix form, whose values give its objective."""
    objective = float("nan") if values is None else program.objective(np.asarray(values))
    found |= {"sign": program.sign, "objective": objective, "values": values}
    return assemble(program, request, status, **found)


def answer_without_columns(program: LinearProgram, request: Request, version: str) -> Solution:
    """Build the solution of a program without columns, whose only point is the empty one."""
    rows = np.zeros(program.shape[0])
    holds = bool(((program.row_lower <= rows) & (rows <= program.row_upper)).all())
    return answer(
        program,
        request,
        Status.CONVERGENCE_CRITERIA_SATISFIED if holds else Status.CLAIMED_INFEASIBLE,
        seconds=(0.0, 0.0),
        version=version,
        values=np.zeros(0) if holds else None,
        duals=rows if holds else None,
    )


def refusal(name: str, program: LinearProgram, why: object) -> SolverError:
    """Return the error of a solver that gives up on a program; it names the largest number."""
    matrix = program.matrix.tocoo()
    columns, rows = program.column_label, program.row_label
    parts: tuple[tuple[NDArray[np.float64], Callable[[int], str]], ...] = (
        (matrix.data, lambda k: f"the coefficient of {columns(matrix.col[k])} in "
                                f"{rows(matrix.row[k])}"),
        (program.cost, lambda k: f"the cost of {columns(k)}"),
        (program.lower, lambda k: f"the lower bound of {columns(k)}"),
        (program.upper, lambda k: f"the upper bound of {columns(k)}"),
        (program.row_lower, lambda k: f"the lower side of {rows(k)}"),
        (program.row_upper, lambda k: f"the upper side of {rows(k)}"),
    )  # fmt: skip
    largest, place = 0.0, ""
    for numbers, named in parts:
        sizes = np.where(np.isfinite(numbers), np.abs(numbers), 0.0)
        if sizes.max(initial=0.0) > largest:
            largest, place = float(sizes.max()), named(int(np.argmax(sizes)))
    advice = f"; its largest number is {place}: take smaller numbers" if place else ""
    return SolverError(f"{name} refused the program: {why}{advice}, or another solver")


_NO_POINT: Final = (Status.CLAIMED_INFEASIBLE, Status.CLAIMED_UNBOUNDED, Status.ERROR)


def last_point(status: Status, point: Any) -> NDArray[np.float64] | None:
    """Return the point with which a solver ended that always has one, None if it is worth none."""
    return np.array(point) if status not in _NO_POINT and np.isfinite(point).all() else None


logger = logging.getLogger("edgeopt.solvers")


class LogStream(io.TextIOBase):
    """Passes every line written to it to the logger ``edgeopt.solvers``, level INFO."""

    def __init__(self) -> None:
        self._pending = ""

    def writable(self) -> bool:
        """Return True: that is all it is for."""
        return True

    def write(self, text: str) -> int:
        """Log the complete lines and keep the rest for later."""
        *lines, self._pending = (self._pending + text).split("\n")
        for line in lines:
            if line.strip():
                logger.info("%s", line)
        return len(text)


def log_lines(text: str) -> None:
    """Log what a solver has printed, line by line."""
    LogStream().write(text.rstrip() + "\n")


class Reports:
    """Hands progress to the caller, and keeps what it raises until the solver has come to rest.

    Solvers in other languages swallow an exception that passes through them, or end the process.
    """

    def __init__(self, progress: ProgressCallback | None) -> None:
        self.wanted = progress is not None
        self._progress = progress
        self._raised: BaseException | None = None

    def __call__(self, report: Progress) -> bool:
        """Return whether the solver has to stop; after an exception, nothing more is reported."""
        if self._progress is None:
            return False
        if self._raised is None:
            try:
                return bool(self._progress(report))
            except BaseException as raised:
                self._raised = raised
        return True

    def raise_kept(self) -> None:
        """Raise what the caller's function raised, as it was."""
        if self._raised is not None:
            raise self._raised


def only_common(request: Request, name: str) -> None:
    """Refuse what solvers of one algorithm without reports cannot do."""
    if request.progress is not None:
        raise OptionError(f"{name} reports no progress; leave progress out")
    if request.algorithm is not None:
        raise OptionError(f"{name} has no choice of algorithm; leave algorithm out")


Result = TypeVar("Result")


_PAUSE: Final = 0.2
"""Seconds after which a Ctrl-C is heard at the latest."""


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


@dataclass(frozen=True, eq=False)
class RowSides:
    """Equations, upper sides and lower sides of the rows of a program."""

    program: LinearProgram

    @cached_property
    def _by_row(self) -> sparse.csr_array:
        return self.program.matrix.tocsr()

    @cached_property
    def equal(self) -> Rows:
        """Rows whose sides are equal."""
        return np.flatnonzero(self.program.row_lower == self.program.row_upper)

    @cached_property
    def upper(self) -> Rows:
        """Other rows with a finite upper side."""
        different = self.program.row_lower != self.program.row_upper
        return np.flatnonzero(different & np.isfinite(self.program.row_upper))

    @cached_property
    def lower(self) -> Rows:
        """Other rows with a finite lower side."""
        different = self.program.row_lower != self.program.row_upper
        return np.flatnonzero(different & np.isfinite(self.program.row_lower))

    def matrix(self, rows: Rows) -> sparse.csr_array:
        """Return the chosen rows of the matrix."""
        return self._by_row[rows]

    def duals(
        self,
        equal: NDArray[np.float64],
        upper: NDArray[np.float64],
        lower: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return one dual for each row from derivatives by equations, upper and lower sides."""
        joined = np.zeros(self.program.shape[0])
        joined[self.equal] += np.reshape(equal, -1)
        joined[self.upper] += np.reshape(upper, -1)
        joined[self.lower] += np.reshape(lower, -1)
        return joined
