r"""The door between a linear program and its solvers: units stay outside.

Solvers compare violations and costs with numbers of their own. So each gets a program whose rows
and columns are multiplied by powers of two (`edgeopt.solvers.units`) and whose largest cost is
brought into [1, 2); what it answers is multiplied back. All of this is exact: the same program in
other units gives the same decisions, to the last bit where the units differ by powers of two.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import ScalingWarning
from edgeopt.solvers.quadratic import objective_exponent, scaled
from edgeopt.solvers.request import Request
from edgeopt.solvers.start import ready

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import BackendSolve
    from edgeopt.solvers.request import Progress
    from edgeopt.solvers.solution import Solution

    Integers = NDArray[np.int32]

LARGEST_RATIO: Final = 1e9
"""Largest over smallest coefficient beyond which double precision leaves a feasibility tolerance
of 1e-6 fewer than one safe digit."""

OBJECTIVE_OPTIONS: Final = frozenset(
    {
        "absolute_gap",
        "objective_bound", "objective_target", "mip_abs_gap",  # HiGHS
        "limits/absgap", "limits/primal", "limits/dual",  # SCIP
        "MIPGapAbs", "Cutoff", "BestObjStop", "BestBdStop",  # Gurobi
    }
)  # fmt: skip
"""Options of solvers that are numbers in the objective's unit."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Exponents of two that a program's rows, columns and objective are multiplied by."""

    # rows, objective: exponents of the factors of rows, shape [m], and of the objective
    rows: Integers
    columns: Integers  # exponents of the units in which values are counted, shape [n]
    objective: int

    @classmethod
    def of(cls, program: LinearProgram) -> Scaling:
        """Return the scaling that takes the units out of a program."""
        units = program.units
        return cls(units.rows, units.columns, objective_exponent(program, units.columns))

    def apply(self, program: LinearProgram) -> LinearProgram:
        """Return the program with its units taken out."""
        rows, columns = np.ldexp(1.0, self.rows), np.ldexp(1.0, self.columns)
        matrix = program.matrix.copy()
        matrix.data = matrix.data * rows[matrix.indices]
        matrix.data *= np.repeat(columns, np.diff(matrix.indptr))
        return program.replace(
            cost=np.ldexp(program.cost, self.columns + self.objective),
            matrix=matrix,
            row_lower=np.ldexp(program.row_lower, self.rows),
            row_upper=np.ldexp(program.row_upper, self.rows),
            lower=np.ldexp(program.lower, -self.columns),
            upper=np.ldexp(program.upper, -self.columns),
            offset=float(np.ldexp(program.offset, self.objective)),
            quadratic=None
            if program.quadratic is None
            else scaled(program.quadratic, self.columns, self.objective),
        )

    def request(self, request: Request) -> Request:
        """Return the request with limits and reports in the objective's scaled unit."""
        return replace(
            request,
            absolute_gap=float(np.ldexp(request.absolute_gap, self.objective)),
            options=self._options(request.options, self.objective),
            start=None if request.start is None else np.ldexp(request.start, -self.columns),
            progress=None if request.progress is None else self._reported(request.progress),
        )

    def restore(self, found: Solution, program: LinearProgram) -> Solution:
        """Return what was found for the scaled program as a solution of the program itself.

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
            bound=float(np.ldexp(found.bound, -self.objective)),
            values=values,
            duals=duals,
            options=self._options(found.options, -self.objective),
        )

    def _options(self, options: Any, exponent: int) -> dict[str, Any]:
        return {
            name: float(np.ldexp(value, exponent)) if name in OBJECTIVE_OPTIONS else value
            for name, value in options.items()
        }

    def _reported(self, progress: Any) -> Any:
        def report(now: Progress) -> bool | None:
            unscaled = np.ldexp([now.objective, now.bound], -self.objective).tolist()
            answer: bool | None = progress(replace(now, objective=unscaled[0], bound=unscaled[1]))
            return answer

        return report


def solve_scaled(
    run: BackendSolve, program: LinearProgram, request: Request, *, warn: int | None = None
) -> Solution:
    """Hand a linear or mixed-integer program to a backend without its units."""
    path = None
    if request.start is not None:
        request, path = ready(program, request, partial(_continuous, request.time_limit))
    scaling = Scaling.of(program)
    plain = scaling.apply(program)
    if warn is not None:
        warn_if_badly_scaled(plain, stacklevel=warn + 1)
    found = scaling.restore(run(plain, scaling.request(request)), program)
    return found if path is None else replace(found, path=path)


def _continuous(time_limit: float | None, program: LinearProgram) -> Solution:
    """Solve a linear program for what HiGHS claims, uncertified."""
    from edgeopt.solvers.backend import highs

    return solve_scaled(highs.solve, program, Request(time_limit=time_limit))


def coefficient_ranges(program: LinearProgram) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest nonzero magnitude in each part of a program.

    Infinite sides are left out; a part without nonzeros is absent.
    """
    sides = np.concatenate([program.row_lower, program.row_upper])
    bounds = np.concatenate([program.lower, program.upper])
    parts: dict[str, NDArray[Any]] = {
        "matrix": program.matrix.data,
        "cost": program.cost,
        "row sides": sides,
        "column bounds": bounds,
    }
    ranges = {}
    for name, data in parts.items():
        magnitude = np.abs(data[np.isfinite(data) & (data != 0.0)])
        if magnitude.size:
            ranges[name] = (float(magnitude.min()), float(magnitude.max()))
    return ranges


def warn_if_badly_scaled(scaled: LinearProgram, *, stacklevel: int = 2) -> None:
    """Warn about parts of a program without units that span more than `LARGEST_RATIO`."""
    wide = [
        f"the {name} spans {smallest:.1e} to {largest:.1e}"
        for name, (smallest, largest) in coefficient_ranges(scaled).items()
        if largest > LARGEST_RATIO * smallest
    ]
    if wide:
        warnings.warn(
            f"{', '.join(wide)} in whatever units of rows and columns: more than "
            f"{LARGEST_RATIO:.0e}; drop the smallest entries or bring large penalties down",
            ScalingWarning,
            stacklevel=stacklevel + 1,
        )
