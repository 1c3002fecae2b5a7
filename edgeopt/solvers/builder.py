"""Linear programs put together from blocks of columns and rows that share names of indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edgeopt.errors import InputError
from edgeopt.solvers.labels import LabelBlock, Labels
from edgeopt.solvers.program import LinearProgram

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.solvers.program import Sense

    Dims = Mapping[str, int | ArrayLike]
    Terms = Mapping[str, Any]


class Builder:
    """Blocks of columns and rows so far; `LinearProgram.build` says how they go together."""

    def __init__(self, sense: Sense, offset: float) -> None:
        self._sense = sense
        self._offset = offset
        self._columns: list[LabelBlock] = []
        self._rows: list[LabelBlock] = []
        self._vectors: dict[str, list[NDArray[Any]]] = {}
        self._entries: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []

    def columns(
        self,
        name: str,
        dims: Dims | None = None,
        *,
        cost: ArrayLike = 0.0,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        integer: ArrayLike = False,
    ) -> None:
        """Add a block of columns; numbers and arrays are spread over its shape."""
        block = _new_block(name, dims, self._columns, "columns")
        given = {"cost": cost, "lower": lower, "upper": upper, "integer": integer}
        spread = {field: _spread(block, field, value) for field, value in given.items()}
        self._columns.append(block)
        for field, vector in spread.items():
            self._vectors.setdefault(field, []).append(vector)

    def rows(
        self,
        name: str,
        dims: Dims | None = None,
        terms: Terms | None = None,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        equal: ArrayLike | None = None,
    ) -> None:
        """Add a block of rows: terms of blocks of columns between a lower and an upper side."""
        block = _new_block(name, dims, self._rows, "rows")
        if (lower is None and upper is None) == (equal is None):
            rule = "needs lower, upper or both, or equal alone"
            raise InputError(f"rows {name!r}", rule)
        low, high = (lower, upper) if equal is None else (equal, equal)
        row_lower = _spread(block, "lower", -np.inf if low is None else low)
        row_upper = _spread(block, "upper", np.inf if high is None else high)
        labels = Labels(sum(map(len, self._columns)), self._columns, "column")
        first = sum(map(len, self._rows))
        found = []
        for key, weight in (terms or {}).items():
            span, _ = labels.block(key)
            column_block = next(one for one in self._columns if one.name == key)
            row, column, value = _term(block, column_block, weight)
            found.append((row + first, column + span.start, value))
        self._rows.append(block)
        self._entries += found
        for field, vector in (("row_lower", row_lower), ("row_upper", row_upper)):
            self._vectors.setdefault(field, []).append(vector)

    def program(self) -> LinearProgram:
        """Return the program of all blocks added so far."""
        if not self._columns:
            raise InputError("program", "has no columns yet; add a block with columns(...)")
        vectors: dict[str, Any] = {
            field: np.concatenate(parts) for field, parts in self._vectors.items()
        }
        shape = (sum(map(len, self._rows)), len(vectors["cost"]))
        none = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        row, column, value = (
            np.concatenate(part) for part in zip(none, *self._entries, strict=True)
        )
        return LinearProgram(
            matrix=sparse.coo_array((value, (row, column)), shape=shape),
            **({"row_lower": [], "row_upper": []} | vectors),
            sense=self._sense,
            offset=self._offset,
            row_names=self._rows,
            column_names=self._columns,
        )


def _new_block(name: str, dims: Dims | None, others: list[LabelBlock], what: str) -> LabelBlock:
    if any(other.name == name for other in others):
        raise InputError(what, "there is a block of this name already", value=repr(name))
    sizes = dict(dims or {})
    whole = [isinstance(size, int | np.integer) for size in sizes.values()]
    if all(whole):
        shape = tuple(int(size) for size in sizes.values())  # type: ignore[arg-type]
        if min(shape, default=0) < 0:
            raise InputError(f"{what} {name!r}", f"needs sizes of at least 0, not {shape}")
        return LabelBlock(name, tuple(sizes), shape)
    if any(whole):
        rule = "needs either a size for each index, or a list of equal length for each"
        raise InputError(f"{what} {name!r}", rule)
    lists = [np.asarray(members) for members in sizes.values()]
    if any(one.ndim != 1 or one.dtype.kind not in "iu" for one in lists):
        raise InputError(f"{what} {name!r}", "its lists of indices must hold whole numbers")
    if len({len(one) for one in lists}) != 1:
        raise InputError(f"{what} {name!r}", "its lists of indices must be of one length")
    listed = np.stack(lists, axis=1).astype(np.int64)
    if len(np.unique(listed, axis=0)) < len(listed):
        raise InputError(f"{what} {name!r}", "its lists of indices name a member twice")
    return LabelBlock(name, tuple(sizes), listed)


def _spread(block: LabelBlock, field: str, value: ArrayLike) -> NDArray[Any]:
    try:
        return np.broadcast_to(np.asarray(value), block.shape).ravel()
    except ValueError:
        raise InputError(
            f"{field} of {block.name!r}",
            f"must be a number, or an array that spreads over the shape {block.shape}",
            value=f"shape {np.shape(value)}",
        ) from None


def _term(
    rows: LabelBlock, columns: LabelBlock, weight: Any
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return row, column and value of each entry that a block of columns has in a block of rows."""
    where = f"{columns.name!r} in rows {rows.name!r}"
    number = 0 if sparse.issparse(weight) else np.ndim(weight)
    matrix = (len(rows), len(columns))
    outer = rows if set(rows.dims) > set(columns.dims) else columns
    nested = set(rows.dims) <= set(columns.dims) or outer is rows
    if sparse.issparse(weight) or (number and np.shape(weight) != outer.shape):
        if np.shape(weight) != matrix:
            over = f" or of shape {outer.shape}, one weight for each member of {outer.name!r}"
            rule = f"must be a number, a matrix of shape {matrix}{over if nested else ''}"
            raise InputError(where, rule, value=f"shape {np.shape(weight)}")
        entries = sparse.coo_array(weight)
        return entries.row, entries.col, entries.data
    if number and not nested:
        rule = f"must be a number or a matrix of shape {matrix}: neither has all indices of both"
        raise InputError(where, rule)
    row, column = _meeting(rows, columns, where)
    if not number:
        return row, column, np.full(len(row), float(weight))
    flat = np.asarray(weight, dtype=np.float64).ravel()
    return row, column, flat[row if outer is rows else column]


def _meeting(
    rows: LabelBlock, columns: LabelBlock, where: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of a row and a column that agree in every index that both have."""
    shared = [dim for dim in columns.dims if dim in rows.dims]
    if not shared and rows.dims and columns.dims:
        rule = f"share no index: {list(rows.dims)} and {list(columns.dims)}; give a matrix"
        raise InputError(where, rule)
    number = np.zeros(len(rows) + len(columns), dtype=np.int64)
    for dim in shared:
        sizes = {
            block.index[block.dims.index(dim)]
            for block in (rows, columns)
            if isinstance(block.index, tuple)
        }
        if len(sizes) > 1:
            raise InputError(where, f"have different sizes of {dim!r}: {sorted(sizes)}")
        along = [block.indices()[:, block.dims.index(dim)] for block in (rows, columns)]
        values, index = np.unique(np.concatenate(along), return_inverse=True)
        _, number = np.unique(number * len(values) + index, return_inverse=True)
    of_row, of_column = number[: len(rows)], number[len(rows) :]
    order = np.argsort(of_row, kind="stable")
    first = np.searchsorted(of_row[order], of_column, side="left")
    count = np.searchsorted(of_row[order], of_column, side="right") - first
    column = np.repeat(np.arange(len(columns)), count)
    within = np.arange(len(column)) - np.repeat(np.cumsum(count) - count, count)
    return order[np.repeat(first, count) + within], column
