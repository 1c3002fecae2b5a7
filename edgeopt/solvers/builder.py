"""Linear programs put together from blocks of columns and rows that share names of indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edgeopt.errors import InputError
from edgeopt.solvers.alignment import Members, aligned, numbers_of, table_of
from edgeopt.solvers.labels import LabelBlock, Labels
from edgeopt.solvers.program import LinearProgram

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.solvers.alignment import AxisNames, Table
    from edgeopt.solvers.program import Sense

    Dims = Mapping[str, Any] | Sequence[str]
    Terms = Mapping[str, Any]


class Builder:
    """Blocks of columns and rows so far; `LinearProgram.build` says how they go together."""

    def __init__(self, sense: Sense, offset: float) -> None:
        self._sense = sense
        self._offset = offset
        self._columns: list[LabelBlock] = []
        self._rows: list[LabelBlock] = []
        self._names: dict[str, tuple[Hashable, ...]] = {}  # of the entries of indices
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
        block, names = self._new_block(name, dims, self._columns, "columns")
        given = {"cost": cost, "lower": lower, "upper": upper, "integer": integer}
        spread = {field: _spread(block, field, value, names) for field, value in given.items()}
        self._columns.append(block)
        self._names = names
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
        block, names = self._new_block(name, dims, self._rows, "rows")
        if (lower is None and upper is None) == (equal is None):
            rule = "needs lower, upper or both, or equal alone"
            raise InputError(f"rows {name!r}", rule)
        low, high = (lower, upper) if equal is None else (equal, equal)
        row_lower = _spread(block, "lower", -np.inf if low is None else low, names)
        row_upper = _spread(block, "upper", np.inf if high is None else high, names)
        labels = Labels(sum(map(len, self._columns)), self._columns, "column")
        first = sum(map(len, self._rows))
        found = []
        for key, weight in (terms or {}).items():
            span, _ = labels.block(key)
            column_block = next(one for one in self._columns if one.name == key)
            row, column, value = _term(block, column_block, weight, names)
            found.append((row + first, column + span.start, value))
        self._rows.append(block)
        self._names = names
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
            labels=self._names,
        )

    def _new_block(
        self, name: str, dims: Dims | None, others: list[LabelBlock], what: str
    ) -> tuple[LabelBlock, dict[str, tuple[Hashable, ...]]]:
        """Return a block, and the names of entries of all indices with those that are new."""
        if any(other.name == name for other in others):
            raise InputError(what, "there is a block of this name already", value=repr(name))
        where, names = f"{what} {name!r}", dict(self._names)
        if _is_multi_index(dims):
            block = _listed_block(name, dims, names, self._is_counted, where)
            return block, names
        given = {} if dims is None else dims
        if not isinstance(given, Mapping):
            unknown = next((dim for dim in given if dim not in names), None)
            if unknown is not None:
                rule = f"no earlier block names the entries of {unknown!r}: {{{unknown!r}: [...]}}"
                raise InputError(where, rule)
            given = {dim: names[dim] for dim in given}
        numbers: dict[str, Any] = {}  # of the entries of each index that has names
        for dim, entries in given.items():
            named = _as_names(entries)
            if named is None and dim in names and entries == len(names[dim]):
                named = names[dim]
            if named is None and dim in names:
                rule = f"the entries of {dim!r} have names: {list(names[dim])}"
                raise InputError(where, rule, value=repr(entries))
            if named is not None:
                numbers[dim] = _numbered(where, dim, named, names, self._is_counted(dim))
        sizes = {dim: size for dim, size in given.items() if dim not in numbers}
        if numbers and all(isinstance(size, int | np.integer) for size in sizes.values()):
            entries = [numbers.get(dim, np.arange(sizes.get(dim, 0))) for dim in given]
            return _grid(name, tuple(given), entries, names, where), names
        if numbers:
            raise InputError(where, "lists of numbers stand beside names; name all, or count all")
        return _counted_block(name, sizes, where), names

    def _is_counted(self, dim: str) -> bool:
        used = any(dim in block.dims for block in (*self._columns, *self._rows))
        return used and dim not in self._names


def _is_multi_index(value: Any) -> bool:
    return hasattr(value, "nlevels") and value.nlevels > 1


def _as_names(entries: Any) -> tuple[Hashable, ...] | None:
    """Return the names of the entries of an index; None if they are counted, or numbers."""
    if hasattr(entries, "nlevels"):  # an index of pandas
        return tuple(entries)
    if isinstance(entries, list | tuple | np.ndarray) and len(entries):
        named = [str(entry) for entry in entries if isinstance(entry, str)]
        return tuple(named) if len(named) == len(entries) else None
    return None


def _numbered(
    where: str, dim: str, named: Sequence[Hashable], names: dict[str, Any], counted: bool
) -> NDArray[np.int64]:
    """Return which entries of an index names stand for; the first names that an index gets fix it.

    They are put into `names`.
    """
    if counted:
        raise InputError(where, f"an earlier block counts {dim!r}: name its entries there as well")
    twice = next((one for place, one in enumerate(named) if one in named[:place]), None)
    if twice is not None:
        raise InputError(where, f"has {dim} {twice!r} twice")
    names.setdefault(dim, tuple(named))
    return numbers_of(where, dim, named, names[dim])


def _grid(
    name: str, dims: tuple[str, ...], entries: list[Any], names: dict[str, Any], where: str
) -> LabelBlock:
    """Return the block of all combinations of some entries of indices."""
    shape = tuple(map(len, entries))
    every = [
        dim not in names or np.array_equal(ones, np.arange(len(names[dim])))
        for dim, ones in zip(dims, entries, strict=True)
    ]
    if all(every):
        return LabelBlock(name, dims, shape)
    listed = np.stack([one.ravel() for one in np.meshgrid(*entries, indexing="ij")], axis=1)
    return LabelBlock(name, dims, listed, shape)


def _listed_block(name: str, index: Any, names: dict[str, Any], counted: Any, where: str) -> Any:
    """Return the block of combinations that an index of pandas with several levels lists."""
    dims = tuple(index.names)
    if any(not isinstance(dim, str) for dim in dims) or len(set(dims)) < len(dims):
        raise InputError(where, "its index needs a name for each level", value=repr(list(dims)))
    columns = []
    for level, dim in enumerate(dims):
        given = index.get_level_values(level)
        if not counted(dim) and dim not in names:
            names[dim] = tuple(given.unique())
        columns.append(numbers_of(where, dim, given, names.get(dim)))
    return _of_list(name, dims, np.stack(columns, axis=1), where)


def _counted_block(name: str, sizes: dict[str, Any], where: str) -> LabelBlock:
    whole = [isinstance(size, int | np.integer) for size in sizes.values()]
    if all(whole):
        shape = tuple(int(size) for size in sizes.values())
        if min(shape, default=0) < 0:
            raise InputError(where, f"needs sizes of at least 0, not {shape}")
        return LabelBlock(name, tuple(sizes), shape)
    if any(whole):
        rule = "needs either a size for each index, or a list of equal length for each"
        raise InputError(where, rule)
    lists = [np.asarray(members) for members in sizes.values()]
    if any(one.ndim != 1 or one.dtype.kind not in "iu" for one in lists):
        raise InputError(where, "its lists of indices must hold whole numbers, or names")
    if len({len(one) for one in lists}) != 1:
        raise InputError(where, "its lists of indices must be of one length")
    return _of_list(name, tuple(sizes), np.stack(lists, axis=1).astype(np.int64), where)


def _of_list(name: str, dims: tuple[str, ...], listed: NDArray[np.int64], where: str) -> LabelBlock:
    if len(np.unique(listed, axis=0)) < len(listed):
        raise InputError(where, "its lists of indices name a member twice")
    return LabelBlock(name, dims, listed)


def _spread(block: LabelBlock, field: str, value: Any, names: AxisNames) -> NDArray[Any]:
    table = table_of(f"{field} of {block.name!r}", value)
    if table is not None:
        return aligned(f"{field} of {block.name!r}", table, block.members(names))
    try:
        return np.broadcast_to(np.asarray(value), block.shape).ravel()
    except ValueError:
        raise InputError(
            f"{field} of {block.name!r}",
            f"must be a number, or an array that spreads over the shape {block.shape}",
            value=f"shape {np.shape(value)}",
        ) from None


def _term(
    rows: LabelBlock, columns: LabelBlock, weight: Any, names: AxisNames
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return row, column and value of each entry that a block of columns has in a block of rows."""
    where = f"{columns.name!r} in rows {rows.name!r}"
    table = table_of(where, weight)
    if table is not None:
        return _labelled_term(rows, columns, table, names, where)
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


def _labelled_term(
    rows: LabelBlock, columns: LabelBlock, table: Table, names: AxisNames, where: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    if set(rows.dims) & set(columns.dims) or not rows.dims or not columns.dims:
        row, column = _meeting(rows, columns, where)
    elif len(table.axes) < 2:
        raise InputError(where, f"needs labels of {list(rows.dims)} and of {list(columns.dims)}")
    else:  # every row meets every column
        row = np.repeat(np.arange(len(rows)), len(columns))
        column = np.tile(np.arange(len(columns)), len(rows))
    of_rows, of_columns = rows.indices()[row].T, columns.indices()[column].T
    along = dict(zip(rows.dims, of_rows, strict=True)) | dict(
        zip(columns.dims, of_columns, strict=True)
    )
    nested = set(rows.dims) <= set(columns.dims)  # axes without names are then those of an array
    dims = columns.dims if nested else tuple(along)
    indices = np.array([along[dim] for dim in dims], dtype=np.int64).reshape(len(dims), len(row)).T
    value = aligned(where, table, Members(dims, indices, names))
    kept = value != 0
    return row[kept], column[kept], value[kept].astype(np.float64)


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
