"""Numbers that come with labels, by pandas, xarray or a mapping, put where their labels say.

Labels of an index are the names of its entries, or whole numbers where it is only counted. Every
label must be there once: what is missing, unknown or twice is refused by name.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    AxisNames = Mapping[str, Sequence[Hashable]]
    """What the entries of indices are called, by index, where they have names."""


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers with labels: an array with labels along each axis, or a list of labelled entries."""

    values: NDArray[Any]
    axes: tuple[Hashable, ...]  # the index that each axis is, None where it does not say
    labels: tuple[Sequence[Any] | None, ...]  # along each axis, or of each entry
    listed: bool = False


class Members(NamedTuple):
    """Where numbers are to go: indices of each member, and what entries of indices are called."""

    dims: tuple[str, ...]
    indices: NDArray[np.int64]  # [members, dims]
    names: AxisNames


def has_labels(value: Any) -> bool:
    """Return whether a value is of pandas or xarray."""
    if isinstance(value, np.ndarray | list | float | int) or value is None:
        return False
    # A value can only come from a library that is loaded already: its class says which.
    library = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    return not library.isdisjoint(("pandas", "xarray"))


def table_of(field: str, value: Any) -> Table | None:
    """Return the labelled numbers that a value is; None if it has no labels."""
    if hasattr(value, "data_vars"):
        raise InputError(field, "take one of its arrays", value=type(value).__name__)
    if isinstance(value, Mapping):
        keys = list(value)
        values = np.array(list(value.values()))
        width = len(keys[0]) if keys and isinstance(keys[0], tuple) else 0
        if not width:
            return Table(values, (None,), (keys,))
        if any(not isinstance(key, tuple) or len(key) != width for key in keys):
            raise InputError(field, "its keys must all have a label for each index")
        return Table(values, (None,) * width, tuple(zip(*keys, strict=True)), listed=True)
    if not has_labels(value):
        return None
    if hasattr(value, "dims"):
        along = [value.indexes.get(dim) for dim in value.dims]
        for dim, labels in zip(value.dims, along, strict=True):
            if labels is not None and labels.nlevels > 1:
                raise InputError(field, f"unstack its axis {dim!r}, which stands for several")
        return Table(value.to_numpy(), tuple(value.dims), tuple(along))
    if not hasattr(value, "index"):
        return None  # an index, or an array without labels
    if hasattr(value, "columns"):
        if value.columns.nlevels == value.index.nlevels == 1:
            axes = value.index, value.columns
            return Table(value.to_numpy(), tuple(axis.name for axis in axes), axes)
        value = value.stack(list(range(value.columns.nlevels)), future_stack=True)
    if value.index.nlevels == 1:
        return Table(value.to_numpy(), (value.index.name,), (value.index,))
    levels = tuple(value.index.get_level_values(n) for n in range(value.index.nlevels))
    return Table(value.to_numpy(), tuple(value.index.names), levels, listed=True)


def aligned(field: str, table: Table, members: Members) -> NDArray[Any]:
    """Return the number of each member, spread over the indices that the table does not have."""
    dims = _dims_of(field, table, members)
    columns = [members.indices[:, members.dims.index(dim)] for dim in dims]
    along = zip(dims, table.labels, columns, strict=True)
    values = _plain(field, table.values)
    if table.listed:
        found = values[_entries(field, members, list(along))]
    else:
        places = []
        for axis, (dim, labels, column) in enumerate(along):
            if labels is None and dim in members.names:
                rule = "has no coordinates: give it the names of its entries"
                raise InputError(field, rule, value=f"axis {dim!r}")
            given = range(values.shape[axis]) if labels is None else labels
            needed, which = np.unique(column, return_inverse=True)
            places.append(_places(field, dim, given, needed, members.names.get(dim))[which])
        found = values[tuple(places)] if places else np.full(len(members.indices), values)
    if found.dtype.kind == "f" and np.isnan(found).any():
        first = int(np.argmax(np.isnan(found)))
        raise InputError(field, f"is no number at {_where(members, first)}", value="nan")
    return found


def _plain(field: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind in "biuf":
        return values
    try:
        return np.array(values.tolist(), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(field, "must hold numbers", value=f"of type {values.dtype}") from None


def _dims_of(field: str, table: Table, members: Members) -> list[str]:
    """Return which index each axis of a table is: by its name, else in order, else by labels."""
    axes, known = list(table.axes), list(members.dims)
    for axis in axes:
        if axis is not None and axis not in known:
            rule = f"is none of the indices {known}"
            raise InputError(field, rule, value=f"axis {axis!r}")
    if len({axis for axis in axes if axis is not None}) < sum(axis is not None for axis in axes):
        raise InputError(field, "has two axes of one name", value=repr(axes))
    left = [dim for dim in known if dim not in axes]
    if axes.count(None) == len(left):
        return [left.pop(0) if axis is None else str(axis) for axis in axes]
    for place, axis in enumerate(axes):
        if axis is None:
            labels = table.labels[place]
            given = set(() if labels is None else labels)
            fits = [dim for dim in left if given == set(_occurring(members, dim))]
            if len(fits) != 1:
                named = f"name it, as one of the indices {left}" if left else "has one too many"
                raise InputError(field, named, value=f"axis {place}")
            left.remove(fits[0])
            axes[place] = fits[0]
    return [str(axis) for axis in axes]


def _occurring(members: Members, dim: str) -> list[Any]:
    numbers = np.unique(members.indices[:, members.dims.index(dim)]).tolist()
    names = members.names.get(dim)
    return numbers if names is None else [names[number] for number in numbers]


def numbers_of(
    field: str, dim: str, labels: Sequence[Any], names: Sequence[Hashable] | None
) -> NDArray[np.int64]:
    """Return which entry of an index each label is, counted from 0; unknown ones are refused."""
    if names is None:
        try:
            numbers = np.asarray(labels)
            if numbers.dtype.kind in "iu" or not len(numbers):
                return numbers.astype(np.int64)
        except (TypeError, ValueError):
            pass
        wrong = next((one for one in labels if not isinstance(one, int | np.integer)), True)
        raise InputError(field, "its entries are counted, not named", value=f"{dim} {wrong!r}")
    number_of = {name: number for number, name in enumerate(names)}
    try:
        return np.array([number_of[label] for label in labels], dtype=np.int64)
    except KeyError as unknown:
        label = unknown.args[0]
        close = difflib.get_close_matches(str(label), list(map(str, names)), 3, 0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise InputError(field, f"there is no {dim} {label!r}{hint}") from None


def _places(
    field: str, dim: str, labels: Sequence[Any], needed: NDArray[np.int64], names: Any
) -> NDArray[np.int64]:
    """Return where along an axis each entry that is needed stands."""
    numbers = numbers_of(field, dim, labels, names)
    order = np.argsort(numbers, kind="stable")
    found = numbers[order]

    def called(number: int) -> str:
        return f"{dim} {number if names is None else names[number]!r}"

    if (found[1:] == found[:-1]).any():
        twice = int(found[1:][found[1:] == found[:-1]][0])
        raise InputError(field, f"has {called(twice)} twice")
    missing = np.setdiff1d(needed, found)
    if len(missing):
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise InputError(field, f"has nothing for {called(int(missing[0]))}{more}")
    beyond = np.setdiff1d(found, needed)
    if len(beyond):
        raise InputError(field, f"there is no {called(int(beyond[0]))} here")
    return order


def _entries(
    field: str, members: Members, along: list[tuple[str, Any, NDArray[np.int64]]]
) -> NDArray[np.int64]:
    """Return which entry of a list each member is."""
    wanted = np.stack([column for _, _, column in along], axis=1)
    given = np.stack(
        [numbers_of(field, dim, labels, members.names.get(dim)) for dim, labels, _ in along], axis=1
    )
    every = np.concatenate([given, wanted])
    which = np.zeros(len(every), dtype=np.int64)  # entries of equal indices have equal numbers
    for numbers in every.T:
        values, own = np.unique(numbers, return_inverse=True)
        which = np.unique(which * len(values) + own, return_inverse=True)[1]
    _, first = np.unique(which, return_index=True)
    unique = every[first]
    entry = np.full(len(unique), -1)
    of_given, of_wanted = which[: len(given)], which[len(given) :]
    entry[of_given] = np.arange(len(given))

    def called(numbers: NDArray[np.int64]) -> str:
        dims = tuple(dim for dim, _, _ in along)
        return _where(Members(dims, numbers[None], members.names), 0)

    if len(np.unique(of_given)) < len(given):
        counts = np.bincount(of_given)
        raise InputError(field, f"has {called(unique[int(np.argmax(counts > 1))])} twice")
    if (entry[of_wanted] < 0).any():
        first = of_wanted[int(np.argmax(entry[of_wanted] < 0))]
        raise InputError(field, f"has nothing for {called(unique[first])}")
    beyond = np.setdiff1d(of_given, of_wanted)
    if len(beyond):
        raise InputError(field, f"there is no {called(unique[beyond[0]])} here")
    return entry[of_wanted]


def _where(members: Members, place: int) -> str:
    pairs = zip(members.dims, members.indices[place].tolist(), strict=True)
    names = members.names
    return ", ".join(f"{dim} {names[dim][n] if dim in names else n!r}" for dim, n in pairs)
