"""Instances as tables with labels, written field by field from what a class declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import xarray

from edgeopt.instances.fields import Names
from edgeopt.instances.labels import COUNTED, KNOWN
from edgeopt.instances.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Field
    from edgeopt.instances.instance import Instance


_WHOLE: Final = {
    "slot": "horizon", "device": "devices", "server": "servers", "profile": "profiles",
    "duration": "max_duration",
}  # fmt: skip
"""Sizes along which a profit may be given once for all."""

Tables = dict[str, Any]


def declared(record: Record, prefix: str = "") -> Iterator[tuple[str, Field, Any]]:
    """Go through the fields of a record and of its parts, in the documented order."""
    for one in type(record)._fields:
        value = getattr(record, one.name)
        if isinstance(value, Record):
            yield from declared(value, f"{prefix}{one.name}_")
        elif value is not None:
            yield prefix + one.name, one, value


def labels_of(axis: str) -> str:
    """Return the axis under which the labels of an axis stand."""
    return {"origin": "site", "target": "site"}.get(axis, axis)


def labelled(instance: Instance) -> tuple[Tables, dict[str, str], dict[str, list[str]]]:
    """Write every field as a table with labels; entries that name others as labels.

    Returned are tables and numbers by field, texts by field, and labels by axis.
    """
    labels: dict[str, list[str]] = {}
    tables: Tables = {}
    texts: dict[str, str] = {}
    for _, one, value in declared(instance):
        if one.type == Names:
            labels[labels_of(one.axes[0])] = list(value)
    for name, one, value in declared(instance):
        if one.type == Names:
            axis = one.axes[0]
            tables[name] = xarray.DataArray(
                np.array(value, dtype=object), dims=[axis], coords={axis: list(value)}
            )
        elif isinstance(value, str):
            texts[name] = value
        elif not one.axes:
            tables[name] = value
        else:
            tables[name] = _table(instance, one, np.asarray(value), labels)
    if "profit_weight" in tables:
        texts["profit_model"] = "LogProfit"
    return tables, texts, labels


def _table(
    instance: Any, one: Field, array: NDArray[Any], labels: dict[str, list[str]]
) -> xarray.DataArray:
    axes = one.axes[len(one.axes) - array.ndim :]
    for place in reversed(range(array.ndim)):
        spreads = one.name == "profit" and array.shape[place] < getattr(
            instance, _WHOLE[axes[place]]
        )
        if spreads or (one.singleton and place == 0 and array.shape[0] == 1):
            array, axes = array[(slice(None),) * place + (0,)], axes[:place] + axes[place + 1 :]
    if one.of and one.of not in COUNTED:
        size = {"server": "servers", "site": "sites", "node": "nodes"}.get(one.of)
        count = getattr(instance, size) if size else 1 + int(array.max(initial=0))
        known = labels.setdefault(one.of, [])
        known += [f"{one.of} {n}" for n in range(len(known), count)]
        array = np.vectorize(lambda n: known[n] if n >= 0 else np.nan, otypes=[object])(array)
    coordinates: dict[str, Any] = {}
    for axis, length in zip(axes, array.shape, strict=True):
        if axis in COUNTED:
            coordinates[axis] = np.arange(length) + COUNTED[axis]
        elif axis in KNOWN:
            coordinates[axis] = list(KNOWN[axis])
        else:
            known = labels.setdefault(labels_of(axis), [])
            known += [f"{labels_of(axis)} {n}" for n in range(len(known), length)]
            coordinates[axis] = known[:length]
    return xarray.DataArray(array, dims=axes, coords=coordinates)


def shuffled(
    array: xarray.DataArray, order: Callable[[int], Any], reverse: bool
) -> xarray.DataArray:
    """Return a table with the entries of every axis in another order, and axes reversed."""
    for axis in array.dims:
        array = array.isel({axis: order(array.sizes[axis])})
    return array.transpose(*array.dims[::-1]) if reverse else array
