"""What backends share: rows by their sides, logs, refusals."""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError, SolverError
from edgeopt.solvers.solution import Solution, Status, answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy import sparse

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Request

    Rows = NDArray[np.intp]


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


def only_common(request: Request, name: str) -> None:
    """Refuse what solvers of one algorithm without reports cannot do."""
    if request.progress is not None:
        raise OptionError(f"{name} reports no progress; leave progress out")
    if request.algorithm is not None:
        raise OptionError(f"{name} has no choice of algorithm; leave algorithm out")


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
