"""A restricted master held as a `LinearProgram`, which any backend solves."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edgeopt.errors import ScalingWarning
from edgeopt.solvers import LinearProgram, solve
from edgeopt.solvers.columns import GeneratedProgram, Priced, Restricted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.solvers.program import Sense

# Tolerances that backends accept and that leave the duals of some use.
FINEST, COARSEST = 1e-10, 1e-7


@dataclass(frozen=True)
class LinearColumns:
    """Columns of a linear program.

    Parameters
    ----------
    cost
        Objective coefficients, shape [n].
    matrix
        Coefficients in the rows of the master, shape [m, n].
    lower, upper
        Bounds, shape [n] or one number for all.
    """

    cost: NDArray[np.float64]
    matrix: Any
    lower: NDArray[np.float64] | float = 0.0
    upper: NDArray[np.float64] | float = np.inf


@dataclass
class LinearMaster:
    """A master held as a `LinearProgram` and solved by any backend; duals are those of its rows.

    Parameters
    ----------
    program
        Rows, and the columns to start with: together they must be feasible.
    options
        Passed to `solve`. HiGHS's interior-point method without crossover by default: its duals lie
        in the middle of the optimal face.
    """

    program: LinearProgram
    options: dict[str, Any] = field(
        default_factory=lambda: {"algorithm": "ipm", "run_crossover": "off"}
    )
    name: str = "column generation"
    version: str = ""

    @property
    def sense(self) -> Sense:
        """Sense of the program."""
        return self.program.sense

    def solve(self, gap: float, time_limit: float | None) -> Restricted:
        """Solve the program as it stands, at the backend's accuracy or better."""
        tolerance = float(np.clip(gap, FINEST, COARSEST))
        with warnings.catch_warnings():
            # The program is the method's own: its caller can do nothing about its coefficients.
            warnings.simplefilter("ignore", ScalingWarning)
            solution = solve(
                self.program, time_limit=time_limit, **({"tolerance": tolerance} | self.options)
            )
        self.version = f"{solution.solver} {solution.version}"
        return Restricted(solution.objective, solution.values, solution.duals)

    def add(self, columns: LinearColumns) -> int:
        """Append columns to the program."""
        old, count = self.program, np.asarray(columns.cost).size
        width = old.shape[1]
        self.program = LinearProgram(
            np.concatenate([old.cost, columns.cost]),
            sparse.hstack([old.matrix, sparse.csc_array(columns.matrix)], format="csc"),
            old.row_lower,
            old.row_upper,
            np.concatenate([old.lower, np.broadcast_to(columns.lower, count)]),
            np.concatenate([old.upper, np.broadcast_to(columns.upper, count)]),
            np.concatenate([old.integer, np.zeros(count, dtype=bool)]),
            old.sense,
            old.offset,
            old.row_names,
            [*(old.column_label(i) for i in range(width)), *_numbered(width, count)],
        )
        return int(count)

    def complete(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values with columns added later at 0."""
        return np.pad(values, (0, self.program.shape[1] - values.size))

    def whole(self, pricing: Callable[[Any], Priced[Any]]) -> GeneratedProgram:
        """Return the program generated so far together with pricing for the columns left out."""
        return GeneratedProgram(self.program, pricing)


def _numbered(first: int, count: int) -> list[str]:
    return [f"generated[index={first + i}]" for i in range(count)]
