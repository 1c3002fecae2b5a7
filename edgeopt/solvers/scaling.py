"""How a program is handed to a solver: its objective near 1 and without its constant.

Solvers compare violations and costs with numbers of their own. The objective is therefore divided
by the power of two that brings its largest number into [1, 2), and its constant stays outside. Rows
and columns stay as they are unless they are to be equilibrated (`edgeopt.solvers.units`). What the
solver answers is multiplied back, without rounding.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import ScalingWarning
from edgeopt.solvers.quadratic import objective_exponent, scaled
from edgeopt.solvers.units import span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.request import Progress, Request
    from edgeopt.solvers.solution import Solution

    Integers = NDArray[np.int32]

LARGEST_RATIO: Final = 1e9
"""Largest over smallest entry of the matrix beyond which double precision leaves a feasibility
tolerance of 1e-6 fewer than one safe digit."""

_DIFFERENCES: Final = frozenset({"absolute_gap", "mip_abs_gap", "limits/absgap", "MIPGapAbs"})
"""Options of solvers that are differences of objectives."""

_OBJECTIVES: Final = frozenset(
    {
        "objective_bound", "objective_target",  # HiGHS
        "limits/primal", "limits/dual",  # SCIP
        "Cutoff", "BestObjStop", "BestBdStop",  # Gurobi
    }
)  # fmt: skip
"""Options of solvers that are objectives, of a minimisation."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Exponents of two that a program's rows, columns and objective are multiplied by."""

    # rows, objective: exponents of the factors of rows, shape [m], and of the objective
    rows: Integers
    columns: Integers  # exponents of the units in which values are counted, shape [n]
    objective: int
    offset: float = 0.0  # constant of the objective, which the solver does not see
    sign: float = (
        1.0  # -1 for a maximisation, which solvers see as the minimisation of its negative
    )

    @classmethod
    def plain(cls, program: LinearProgram) -> Scaling:
        """Return the scaling that leaves rows and columns as they are."""
        rows, columns = (np.zeros(size, dtype=np.int32) for size in program.shape)
        return cls._of(program, rows, columns)

    @classmethod
    def equilibrated(cls, program: LinearProgram) -> Scaling:
        """Return the scaling that brings the entries of a program closer together."""
        return cls._of(program, program.units.rows, program.units.columns)

    @classmethod
    def _of(cls, program: LinearProgram, rows: Integers, columns: Integers) -> Scaling:
        objective = objective_exponent(program, columns)
        return cls(rows, columns, objective, program.offset, program.sign)

    @property
    def is_plain(self) -> bool:
        """Whether rows and columns stay as they are."""
        return not (self.rows.any() or self.columns.any())

    def near(self, objective: float) -> Scaling:
        """Return the scaling in which an objective that is near the optimum has at least size 1.

        Solvers measure gaps below 1 as they are, not relatively.
        """
        size = abs(objective - self.offset)
        if not (np.isfinite(size) and size > 0.0):
            return self
        return replace(self, objective=max(self.objective, 1 - int(np.frexp(size)[1])))

    def apply(self, program: LinearProgram) -> LinearProgram:
        """Return the program as the solver gets it."""
        changes: dict[str, Any] = {
            "cost": np.ldexp(program.cost, self.columns + self.objective),
            "offset": 0.0,
        }
        if program.quadratic is not None:
            changes["quadratic"] = scaled(program.quadratic, self.columns, self.objective)
        if not self.is_plain:
            rows, columns = np.ldexp(1.0, self.rows), np.ldexp(1.0, self.columns)
            matrix = program.matrix.copy()
            matrix.data = matrix.data * rows[matrix.indices]
            matrix.data *= np.repeat(columns, np.diff(matrix.indptr))
            changes |= {
                "matrix": matrix,
                "row_lower": np.ldexp(program.row_lower, self.rows),
                "row_upper": np.ldexp(program.row_upper, self.rows),
                "lower": np.ldexp(program.lower, -self.columns),
                "upper": np.ldexp(program.upper, -self.columns),
            }
        return program.replace(**changes)

    def request(self, request: Request) -> Request:
        """Return the request with limits and reports in the objective that the solver sees."""
        return replace(
            request,
            absolute_gap=float(np.ldexp(request.absolute_gap, self.objective)),
            options=self._options(request.options, self._seen, self.objective),
            start=None if request.start is None else np.ldexp(request.start, -self.columns),
            progress=None if request.progress is None else self._reported(request.progress),
        )

    def restore(self, found: Solution, program: LinearProgram) -> Solution:
        """Return what a solver found as a solution of the program itself.

        Values are brought between the bounds of their columns, which a solver may leave by its
        tolerance: near 0 there is no other number to compare it with.
        """
        values = None
        if found.values is not None:
            values = np.clip(np.ldexp(found.values, self.columns), program.lower, program.upper)
        duals = None
        if found.duals is not None:
            # The optimum of an objective that is constant does not depend on any side.
            flat = program.quadratic is None or (values is not None and not values.any())
            constant = not program.cost.any() and flat
            known = np.zeros(program.shape[0]) if constant else found.duals
            duals = np.ldexp(known, self.rows - self.objective)
        return replace(
            found,
            problem=program,
            objective=float("nan") if values is None else program.objective(values),
            bound=self._known(found.bound),
            values=values,
            duals=duals,
            options=self._options(found.options, self._minimised, -self.objective),
        )

    def _known(self, objective: float) -> float:
        """Return an objective that the solver has found as the caller knows it."""
        return float(np.ldexp(objective, -self.objective)) + self.offset

    def _minimised(self, objective: float) -> float:
        return float(np.ldexp(objective, -self.objective)) + self.sign * self.offset

    def _seen(self, objective: float) -> float:
        return float(np.ldexp(objective - self.sign * self.offset, self.objective))

    def _options(self, options: Any, move: Any, exponent: int) -> dict[str, Any]:
        """Return options, of which those that are objectives, or differences of them, are moved."""
        moved = dict(options)
        moved |= {name: move(moved[name]) for name in _OBJECTIVES & moved.keys()}
        return moved | {
            name: float(np.ldexp(moved[name], exponent)) for name in _DIFFERENCES & moved.keys()
        }

    def _reported(self, progress: Any) -> Any:
        def report(now: Progress) -> bool | None:
            known = [self._known(number) for number in (now.objective, now.bound)]
            answer: bool | None = progress(replace(now, objective=known[0], bound=known[1]))
            return answer

        return report


def warn_if_badly_scaled(program: LinearProgram, *, stacklevel: int = 2) -> None:
    """Warn if the entries of the matrix stay further apart than `LARGEST_RATIO`, equilibrated."""
    limit = np.log2(LARGEST_RATIO)
    if span(program.matrix.data) <= limit:
        return
    entries = Scaling.equilibrated(program).apply(program).matrix.data
    if span(entries) <= limit:
        return
    sizes = np.abs(entries[entries != 0.0])
    warnings.warn(
        f"the entries of the matrix span {sizes.min():.1e} to {sizes.max():.1e} in the best units "
        f"of rows and columns: more than {LARGEST_RATIO:.0e}; drop the smallest entries or bring "
        "large penalties down",
        ScalingWarning,
        stacklevel=stacklevel + 1,
    )
