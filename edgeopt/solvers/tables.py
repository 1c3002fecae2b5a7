"""One block of a solution by label: as a Series, a DataFrame or a DataArray, or a part of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InputError
from edgeopt.solvers.alignment import numbers_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from edgeopt.solvers.alignment import AxisNames
    from edgeopt.solvers.labels import LabelBlock

    At = Mapping[str, Any] | None
    """Which labels of an index: one, a list, or a slice from one to another, both included."""


def series_of(
    block: LabelBlock, held: NDArray[np.float64], names: AxisNames, at: At = None
) -> pd.Series:
    """Return the members that labels choose; an index of which one label is asked is left out."""
    import pandas as pd

    indices, kept = block.indices(), np.arange(len(block))
    keys = list(indices.T)
    single, sort = set(), False
    for dim, numbers in _numbers(block, names, at).items():
        axis = block.dims.index(dim)
        single |= {dim} if isinstance(numbers, int) else set()
        sort |= isinstance(numbers, list) and not isinstance((at or {})[dim], slice)
        rank = {number: place for place, number in enumerate(np.atleast_1d(numbers).tolist())}
        keys[axis] = np.array([rank.get(number, -1) for number in indices[:, axis].tolist()])
        kept = kept[keys[axis][kept] >= 0]
    if sort:  # in the order in which labels were listed
        kept = kept[np.lexsort([key[kept] for key in reversed(keys)])]
    levels = {}
    for axis, dim in enumerate(block.dims):
        if dim not in single:
            numbers = indices[kept, axis].tolist()
            levels[dim] = [names[dim][number] for number in numbers] if dim in names else numbers
    values = held.ravel()[kept]
    if not levels:
        return pd.Series(values, name=block.name)
    if len(levels) == 1:
        [(dim, labels)] = levels.items()
        return pd.Series(values, pd.Index(labels, name=dim), name=block.name)
    index = pd.MultiIndex.from_arrays(list(levels.values()), names=list(levels))
    return pd.Series(values, index, name=block.name)


def frame_of(
    block: LabelBlock, held: NDArray[np.float64], names: AxisNames, at: At = None
) -> pd.DataFrame:
    """Return a table with the last index across and the others down; one index stands down."""
    series = series_of(block, held, names, at)
    if series.index.nlevels == 1:
        return series.to_frame()
    across = series.index.get_level_values(-1).unique()
    index: Any = series.index
    down = index.droplevel(-1).unique()
    table: pd.DataFrame = series.unstack().reindex(index=down, columns=across)  # as unstack sorts
    return table


def array_of(
    block: LabelBlock, held: NDArray[np.float64], names: AxisNames, at: At = None
) -> xr.DataArray:
    """Return an array with an axis for each index, NaN where the block leaves entries out."""
    import pandas as pd
    import xarray as xr

    if isinstance(block.index, tuple):
        counted = {dim: range(n) for dim, n in zip(block.dims, block.index, strict=True)}
        made = xr.DataArray(held.reshape(block.index), counted, block.dims, block.name)
    else:
        index = pd.MultiIndex.from_arrays(list(block.index.T), names=block.dims)
        made = xr.DataArray.from_series(pd.Series(held.ravel(), index, name=block.name))
    chosen = made.sel(_numbers(block, names, at))
    return chosen.assign_coords(
        {
            dim: (chosen[dim].dims, _called(names[dim], chosen[dim].to_numpy()))
            for dim in block.dims
            if dim in names
        }
    )


def _called(names: Any, numbers: NDArray[np.int64]) -> Any:
    return [names[n] for n in numbers] if numbers.ndim else names[int(numbers)]


def _numbers(block: LabelBlock, names: AxisNames, at: At) -> dict[str, int | list[int]]:
    """Return which entries of indices labels choose: one, or several."""
    chosen: dict[str, int | list[int]] = {}
    where = f"at, of {block.name!r}"
    for dim, wanted in (at or {}).items():
        if dim not in block.dims:
            raise InputError(where, f"is none of the indices {list(block.dims)}", value=repr(dim))
        column = block.indices()[:, block.dims.index(dim)]
        there = np.unique(column).tolist()
        listed = isinstance(wanted, list | tuple | np.ndarray) or hasattr(wanted, "nlevels")
        asked = list(wanted) if listed else [wanted]
        if isinstance(wanted, slice):
            asked = [end for end in (wanted.start, wanted.stop) if end is not None]
            if wanted.step is not None:
                raise InputError(where, "a slice of labels has no step", value=repr(wanted))
        found = numbers_of(where, dim, asked, names.get(dim)).tolist()
        for label, number in zip(asked, found, strict=True):
            if number not in there:
                raise InputError(where, f"there is no {dim} {label!r} here")
        if isinstance(wanted, slice):
            low = there[0] if wanted.start is None else found[0]
            high = there[-1] if wanted.stop is None else found[-1]
            found = [number for number in there if low <= number <= high]
        chosen[dim] = found if listed or isinstance(wanted, slice) else found[0]
    return chosen
