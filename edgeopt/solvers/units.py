"""Powers of two that take the units out of a linear program.

A row may be stated in other units with its sides, a column with its bounds, the objective as a
whole: each is a factor, and none of them changes what is to be decided. `units_of` finds factors
that undo them. It computes with exponents alone, which are whole numbers: a unit that is changed by
a power of two changes its factor by that power, and what is left of the program by no bit.

A column's unit is first read off its bounds and the sides of its rows, or passed on to it by rows
without sides. Rows, then columns, are brought to 1 by their largest entry. Where that leaves
entries far apart, the matrix is balanced first: rows and columns in turn, by the mean of their
exponents.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Integers = NDArray[np.int32]
    Mask = NDArray[np.bool_]
    Lines = tuple[Integers, Integers, Integers]

__all__ = ["Units", "column_exponents", "objective_exponent", "units_of"]

SWEEPS: Final = 10  # how often rows and columns are balanced in turn
WIDE: Final = 40
"""Exponent of the largest entry over the smallest beyond which units are computed once more."""

_NONE: Final = np.int32(-(2**30))  # smaller than any exponent


class Coefficients(Protocol):
    """The parts of a `LinearProgram` that determine its units."""

    @property
    def cost(self) -> Vector: ...
    @property
    def matrix(self) -> sparse.csc_array: ...
    @property
    def row_lower(self) -> Vector: ...
    @property
    def row_upper(self) -> Vector: ...
    @property
    def lower(self) -> Vector: ...
    @property
    def upper(self) -> Vector: ...
    @property
    def integer(self) -> Mask: ...


@dataclass(frozen=True, eq=False)
class Units:
    """Exponents of two that multiply rows, and by which values of columns are counted."""

    rows: Integers  # one for each row, shape [m]
    # one for each column, shape [n]; 0 for columns of whole numbers, which have no unit
    columns: Integers

    @cached_property
    def column_unit(self) -> Vector:
        """Units of the columns, shape [n]."""
        return np.ldexp(1.0, self.columns)

    def row_size(self, program: Coefficients) -> Vector:
        """Return what one unit of a row's columns adds to it at most, shape [m]."""
        matrix, size = program.matrix, np.zeros(program.matrix.shape[0])
        entries = np.abs(matrix.data) * np.repeat(self.column_unit, np.diff(matrix.indptr))
        by_row = sparse.csc_array((entries, matrix.indices, matrix.indptr), shape=matrix.shape)
        by_row = by_row.tocsr()
        filled = np.diff(by_row.indptr) > 0
        if filled.any():
            size[filled] = np.maximum.reduceat(by_row.data, by_row.indptr[:-1][filled])
        return size


def _exponent(values: Vector) -> Integers:
    """Return the exponents of numbers other than 0: the whole part of their binary logarithm."""
    return np.frexp(values)[1] - 1


def objective_exponent(cost: Vector, columns: Integers) -> int:
    """Return the power of two that brings the largest cost per unit of a column into [1, 2)."""
    some = cost != 0.0
    return -int((_exponent(cost[some]) + columns[some]).max()) if some.any() else 0


def column_exponents(program: Coefficients, rows: Integers) -> Integers:
    """Return exponents for the columns of a program whose rows have theirs."""
    entries = _Entries(program.matrix)
    level, filled = entries.largest(entries.by_column, rows)
    columns = np.where(filled, -level, _largest(program.lower, program.upper)[0])
    return np.where(program.integer, 0, columns)


class _Entries:
    """Exponents of the entries other than 0, listed by column and by row."""

    def __init__(self, matrix: sparse.csc_array) -> None:
        if not matrix.data.all():
            matrix = matrix.copy()
            matrix.eliminate_zeros()
        self.matrix = matrix
        order = sparse.csc_array(
            (np.arange(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape
        ).tocsr()
        exponent = _exponent(matrix.data)
        # For each direction, exponents, the other index of each, and where lines begin.
        self.by_column = (exponent, matrix.indices, matrix.indptr)
        self.by_row = (exponent[order.data], order.indices, order.indptr)

    def rows_of(self, columns: Mask) -> Mask:
        """Return the rows in which any of the columns stands."""
        rows = np.zeros(self.matrix.shape[0], dtype=bool)
        rows[self.matrix.indices[np.repeat(columns, np.diff(self.matrix.indptr))]] = True
        return rows

    def largest(
        self, by: Lines, other: Integers, known: Mask | None = None
    ) -> tuple[Integers, Mask]:
        """Return the largest exponent of each line, and which lines have one.

        Entries count with the exponent of their other line, those of unknown ones not at all.
        """
        exponent, index, start = by
        filled = np.diff(start) > 0
        level = np.full(len(start) - 1, _NONE, dtype=np.int32)
        if filled.any():
            now = exponent + other[index]
            if known is not None:
                now = np.where(known[index], now, _NONE)
            level[filled] = np.maximum.reduceat(now, start[:-1][filled])
        return level, level > _NONE

    def mean(self, by: Lines, other: Integers) -> Integers:
        """Return the mean exponent of each line, rounded down; 0 for lines without entries."""
        exponent, index, start = by
        count = np.diff(start)
        filled = count > 0
        level = np.zeros(len(count), dtype=np.int32)
        if filled.any():
            total = np.add.reduceat(exponent + other[index], start[:-1][filled], dtype=np.int64)
            # Rounded down, a mean moves along by the same when all entries move by a whole number.
            level[filled] = total // count[filled]
        return level

    def span(self, rows: Integers, columns: Integers) -> int:
        """Return the exponent of the largest entry over the smallest."""
        exponent, index, start = self.by_column
        now = exponent + rows[index] + np.repeat(columns, np.diff(start))
        return int(now.max() - now.min()) if now.size else 0


def units_of(program: Coefficients) -> Units:
    """Return factors that bring the entries of a program as close to 1 as powers of two can.

    They are the same for every statement of a program that differs by powers of two in the units of
    rows, of continuous columns and of the objective, up to those powers.
    """
    entries = _Entries(program.matrix)
    start = _first_columns(program, entries)
    found = _balanced(program, entries, start)
    span = entries.span(found.rows, found.columns)
    if span > WIDE:
        # Sides that are rounding, or stand for infinity, say nothing of units: the matrix must do.
        for _ in range(SWEEPS):
            rows = -entries.mean(entries.by_row, start)
            start = np.where(program.integer, start, -entries.mean(entries.by_column, rows))
        other = _balanced(program, entries, start)
        if entries.span(other.rows, other.columns) < span - WIDE // 2:
            return other
    return found


def _balanced(program: Coefficients, entries: _Entries, columns: Integers) -> Units:
    """Return factors that bring the largest entry of each row and column to about 1."""
    level, filled = entries.largest(entries.by_row, columns)
    # An integer column may have a huge entry in a row whose small entries matter.
    mixed = entries.rows_of(program.integer)
    level[mixed] = entries.mean(entries.by_row, columns)[mixed]
    side, sided = _largest(program.row_lower, program.row_upper)
    rows = np.where(filled, -level, np.where(sided, -side, 0))
    level, filled = entries.largest(entries.by_column, rows)
    return Units(rows, np.where(filled & ~program.integer, -level, columns))


def _largest(low: Vector, high: Vector) -> tuple[Integers, Mask]:
    """Return the exponent of the larger finite side, and where there is one other than 0."""
    size = np.fmax(
        np.where(np.isfinite(low), np.abs(low), 0.0), np.where(np.isfinite(high), np.abs(high), 0.0)
    )
    there = size > 0.0
    return np.where(there, _exponent(np.where(there, size, 1.0)), 0), there


def _first_columns(program: Coefficients, entries: _Entries) -> Integers:
    """Return a unit for each column that follows every change of its unit by a power of two."""
    size, known = _largest(program.lower, program.upper)
    side, sided = _largest(program.row_lower, program.row_upper)
    rows = -side
    # By its two bounds or by the tightest of its rows, whichever leaves it less room.
    level, filled = entries.largest(entries.by_column, rows, sided)
    boxed = known & np.isfinite(program.lower) & np.isfinite(program.upper)
    columns = np.where(filled & ~(boxed & (size < -level)), -level, size)
    columns, known = np.where(program.integer, 0, columns), known | filled | program.integer
    columns, known = _spread(entries, columns, known, rows, sided)
    rest = ~known & (program.cost != 0.0)
    if rest.any():
        # Only the objective determines the size of these.
        counted = known & (program.cost != 0.0)
        highest = -objective_exponent(program.cost[counted], columns[counted])
        columns[rest], known = highest - _exponent(program.cost[rest]), known | rest
        columns, known = _spread(entries, columns, known, rows, sided)
    if not known.all():
        # Nothing at all does: only sizes against each other matter.
        loose, count = entries.matrix[:, ~known].tocoo(), program.matrix.shape[0]
        graph = sparse.coo_array(
            (np.ones(loose.nnz), (loose.row, count + loose.col)),
            shape=(count + loose.shape[1],) * 2,
        )
        part = connected_components(graph, directed=False)[1][count:]
        known[np.flatnonzero(~known)[np.unique(part, return_index=True)[1]]] = True
        columns, known = _spread(entries, columns, known, rows, sided)
    return columns


def _spread(
    entries: _Entries, columns: Integers, known: Mask, rows: Integers, rows_known: Mask
) -> tuple[Integers, Mask]:
    """Pass units on from known columns to rows, and from known rows to columns, level by level."""
    while not known.all():
        level, filled = entries.largest(entries.by_row, columns, known)
        new_rows = filled & ~rows_known
        rows, rows_known = np.where(new_rows, -level, rows), rows_known | new_rows
        level, filled = entries.largest(entries.by_column, rows, rows_known)
        new = filled & ~known
        if not new.any():
            break
        columns, known = np.where(new, -level, columns), known | new
    return columns, known
