"""How a program is handed to a solver: its objective near 1, its entries close together.

Solvers compare violations and costs with numbers of their own. The objective is therefore divided
by the power of two that brings its largest number into [1, 2), and its constant stays outside. Rows
and columns stay as they are unless they are to be equilibrated. What the solver answers is
multiplied back. Factors are powers of two, so that no number is rounded.

Equilibration divides rows and columns in turn by the geometric mean of their smallest and largest
entry; columns of whole numbers keep their unit, and a quadratic term is divided from both sides.
Where that leaves the entries as far apart as they were, everything stays as it is: a program is
never made worse. Columns that stand in no row are counted by their bounds.

Fourer: Solving staircase linear programs by the simplex method, 1, Mathematical Programming 23,
1982, compares such scalings; Curtis and Reid, J. Inst. Maths Applics 10, 1972, is their origin.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import ScalingWarning
from edgeopt.solvers.quadratic import scaled
from edgeopt.solvers.tolerance import EPSILON

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Progress, Request
    from edgeopt.solvers.solution import Solution

    Integers = NDArray[np.int32]


SWEEPS: Final = 16  # how often rows and columns are divided in turn
GAIN: Final = 10.0
"""Powers of two by which the entries must come closer together: less is not worth a change."""

WIDE: Final = 33.0  # powers of two between entries beyond which solvers lose the smaller ones
DROPPED: Final = 2e-9  # HiGHS drops entries of 1e-9
SMALL: Final = 20  # powers of two below the largest cost at which solvers may overlook one


@dataclass(frozen=True, eq=False)
class Units:
    """Exponents of the powers of two that rows are multiplied by, and columns counted in."""

    rows: Integers  # shape [m]
    columns: Integers  # shape [n]; 0 for columns of whole numbers

    @cached_property
    def column_unit(self) -> Vector:
        """Units of the columns, shape [n]."""
        return np.ldexp(1.0, self.columns)

    def row_size(self, program: LinearProgram) -> Vector:
        """Return what one unit of a row's columns adds to it at most, shape [m]; 0 without any."""
        matrix, size = program.matrix, np.zeros(program.shape[0])
        by_column = np.repeat(self.column_unit, np.diff(matrix.indptr))
        np.maximum.at(size, matrix.indices, np.abs(matrix.data) * by_column)
        return size


class _Entries(NamedTuple):
    """The entries of a matrix other than 0: row, column and binary logarithm of the size."""

    row: Any
    column: Any
    level: Vector

    @classmethod
    def of(cls, matrix: Any) -> _Entries:
        there = matrix.data != 0.0
        column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))[there]
        return cls(matrix.indices[there], column, np.log2(np.abs(matrix.data[there])))

    def scaled(self, by_row: Vector, by_column: Vector) -> Vector:
        level: Vector = self.level + by_row[self.row] + by_column[self.column]
        return level


def span(program: LinearProgram) -> float:
    """Return the binary logarithm of the largest over the smallest entry of the matrix but 0."""
    smallest, largest = program.entry_range
    return float(np.log2(largest) - np.log2(smallest))


def wide(program: LinearProgram) -> bool:
    """Return whether entries of the matrix are so small, or so far apart, that some get lost."""
    return program.entry_range[0] < DROPPED or span(program) > WIDE


def units_of(program: LinearProgram) -> Units:
    """Return factors that bring the entries of a program closer together, or leave them.

    Those of a program with conditions, which have units of their own, stay.
    """
    if program.conditions:
        return Units(*(np.zeros(size, dtype=np.int32) for size in program.shape))
    rows, columns = _balanced(program)
    alone = np.diff(program.matrix.indptr) == 0
    if program.quadratic is not None:
        alone &= np.diff(program.quadratic.indptr) == 0
    columns = np.where(alone, _bound_levels(program), columns)
    if not program.is_mixed_integer:
        shift = _common_shift(program, rows, columns)
        rows, columns = rows - shift, columns + shift
    return Units(rows.astype(np.int32), columns.astype(np.int32))


def _balanced(program: LinearProgram) -> tuple[Integers, Integers]:
    """Return exponents at which rows and columns have entries around 1; 0 where that gains nothing.

    An entry of the quadratic term is divided by two columns: each column sees of it what the other
    one leaves, and half of it on the diagonal.
    """
    linear = _Entries.of(program.matrix)
    curved = None if program.quadratic is None else _Entries.of(program.quadratic)
    if curved is not None and not len(curved.level):
        curved = None
    rows, columns = np.zeros(program.shape[0]), np.zeros(program.shape[1])
    for _ in range(SWEEPS):
        rows = -_middle(linear.level + columns[linear.column], linear.row, rows)
        sizes, places = linear.level + rows[linear.row], linear.column
        if curved is not None:
            whole = curved.scaled(columns, columns)
            level = curved.level - 0.5 * (whole.min() + whole.max())
            diagonal = curved.row == curved.column
            seen = np.where(diagonal, 0.5 * level, level + columns[curved.row])
            sizes, places = np.concatenate([sizes, seen]), np.concatenate([places, curved.column])
        columns = np.where(program.integer, 0.0, -_middle(sizes, places, columns))
    rows, columns = np.round(rows), np.round(columns)
    gain = _gain(linear.level, linear.scaled(rows, columns))
    if curved is not None:
        gain += 0.5 * _gain(curved.level, curved.scaled(columns, columns))
    keep = 1 if gain >= GAIN else 0
    return (keep * rows).astype(np.int32), (keep * columns).astype(np.int32)


def _bound_levels(program: LinearProgram) -> Integers:
    """Return the exponent of the larger finite bound of each column; 0 near 1, or without any."""
    size = np.zeros(program.shape[1])
    for side in (program.lower, program.upper):
        size = np.maximum(size, np.where(np.isfinite(side), np.abs(side), 0.0))
    level = np.frexp(size)[1]
    return np.where(program.integer | (np.abs(level) < GAIN), 0, level)


def _middle(level: Vector, places: Any, like: Vector) -> Vector:
    """Return the middle between smallest and largest level at each place, 0 where there is none."""
    low, high = np.full(len(like), np.inf), np.full(len(like), -np.inf)
    np.minimum.at(low, places, level)
    np.maximum.at(high, places, level)
    filled = np.isfinite(low)
    return np.where(filled, 0.5 * (np.where(filled, low, 0.0) + np.where(filled, high, 0.0)), 0.0)


def _gain(before: Vector, after: Vector) -> float:
    """Return by how many powers of two entries come closer together or, no further apart, to 1."""
    if not len(before):
        return 0.0
    together = float(np.ptp(before) - np.ptp(after))
    return together if together < 0.0 else max(together, np.abs(before).max() - np.abs(after).max())


def _common_shift(program: LinearProgram, rows: Integers, columns: Integers) -> np.int32:
    """Return the exponent of one factor for all sides and bounds, if they are far from 1."""
    parts = [np.ldexp(side, rows) for side in (program.row_lower, program.row_upper)]
    parts += [np.ldexp(side, -columns) for side in (program.lower, program.upper)]
    size = np.abs(np.concatenate(parts))
    size = size[np.isfinite(size) & (size > 0.0)]
    shift = np.round(np.median(np.log2(size))) if len(size) else 0.0
    return np.int32(shift if abs(shift) > GAIN else 0)


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
            start=self._start(request.start),
            lazy=self._lazy(request.lazy),
            progress=None if request.progress is None else self._reported(request.progress),
        )

    def _lazy(self, lazy: Any) -> Any:
        """Return the function of rows for points in the units of the columns."""
        if lazy is None or self.is_plain:
            return lazy
        unit = np.ldexp(1.0, self.columns)

        def rows(values: Vector) -> list[Any]:
            found = lazy(values[: len(unit)] * unit)
            return [({j: a * unit[j] for j, a in terms.items()}, *sides) for terms, *sides in found]

        return rows

    def _start(self, start: Any) -> Any:
        """Return a point in the units of the columns; a basis has none."""
        return np.ldexp(start, -self.columns) if isinstance(start, np.ndarray) else start

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


def objective_exponent(program: LinearProgram, columns: Integers) -> int:
    """Return the power of two that brings the largest number of the objective into [1, 2).

    Where that would hide the smallest cost of a linear objective, as a large penalty does, their
    geometric middle is brought there. Costs of columns that are fixed are a constant.
    """
    moving = program.lower < program.upper
    numbers = np.abs(np.ldexp(program.cost, columns)[moving])
    curved = program.quadratic is not None
    if program.quadratic is not None:
        numbers = np.concatenate([numbers, np.abs(scaled(program.quadratic, columns, 0).data)])
    numbers = numbers[numbers > 0.0]
    if not len(numbers):
        return 0
    smallest, largest = (int(np.frexp(number)[1]) for number in (numbers.min(), numbers.max()))
    hidden = not curved and largest - smallest > SMALL
    return 1 - ((smallest + largest) // 2 if hidden else largest)


def preferred_scaling(program: LinearProgram) -> Scaling:
    """Return the scaling in which a program is tried first."""
    if program.is_mixed_integer or wide(program):
        return Scaling.equilibrated(program)
    return Scaling.plain(program)


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


def warn_if_badly_scaled(program: LinearProgram, *, stacklevel: int = 2) -> None:
    """Warn if the entries of the matrix stay further apart than `LARGEST_RATIO`, equilibrated."""
    limit = np.log2(LARGEST_RATIO)
    if span(program) <= limit:
        return
    equilibrated = Scaling.equilibrated(program).apply(program)
    if span(equilibrated) <= limit:
        return
    smallest, largest = equilibrated.entry_range
    warnings.warn(
        f"the entries of the matrix span {smallest:.1e} to {largest:.1e} in the best units "
        f"of rows and columns: more than {LARGEST_RATIO:.0e}; drop the smallest entries or bring "
        "large penalties down",
        ScalingWarning,
        stacklevel=stacklevel + 1,
    )
