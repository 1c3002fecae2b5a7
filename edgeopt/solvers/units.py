"""Powers of two that bring the entries of a program closer together: equilibration.

Rows and columns are divided in turn by the geometric mean of their smallest and largest entry;
columns of whole numbers keep their unit, and a quadratic term is divided from both sides. Where
that leaves the entries as far apart as they were, everything stays as it is: a program is never
made worse. Columns that stand in no row are counted by their bounds. Factors are powers of two, so
that no number is rounded.

Fourer: Solving staircase linear programs by the simplex method, 1, Mathematical Programming 23,
1982, compares such scalings; Curtis and Reid, J. Inst. Maths Applics 10, 1972, is their origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram

    Vector = NDArray[np.float64]
    Integers = NDArray[np.int32]

SWEEPS: Final = 16  # how often rows and columns are divided in turn
GAIN: Final = 10.0
"""Powers of two by which the entries must come closer together: less is not worth a change."""

WIDE: Final = 33.0  # powers of two between entries beyond which solvers lose the smaller ones
DROPPED: Final = 2e-9  # HiGHS drops entries of 1e-9


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


def span(entries: Any) -> float:
    """Return the binary logarithm of the largest over the smallest of numbers other than 0."""
    sizes = np.abs(entries[entries != 0.0])
    return float(np.log2(sizes.max()) - np.log2(sizes.min())) if len(sizes) else 0.0


def wide(program: LinearProgram) -> bool:
    """Return whether entries of the matrix are so small, or so far apart, that some get lost."""
    entries = np.abs(program.matrix.data)
    dropped = (entries > 0.0) & (entries < DROPPED)
    return bool(dropped.any()) or span(entries) > WIDE


def units_of(program: LinearProgram) -> Units:
    """Return factors that bring the entries of a program closer together, or leave them."""
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
