"""The entries of a record in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.instances.labels import Labels, last, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Field


def reordered(record: Any, orders: Mapping[str, Labels]) -> Any:
    """Return a record with the entries of named axes in other orders, validated anew."""
    places: dict[str, list[int]] = {}
    for axis, wanted in orders.items():
        have = record._orders.get(axis) or tuple(map(str, range(record._length(axis) or 0)))
        places[axis] = [have.index(label) for label in wanted if label in have]
    fields = {}
    for one in record._fields:
        value = getattr(record, one.name)
        if isinstance(value, tuple) and one.texts:
            axis = record._first_alike(one.axes[0])
            value = tuple(value[n] for n in places[axis]) if axis in places else value
        elif hasattr(value, "_fields") and hasattr(value, "_orders"):
            inner = {
                axis: orders[record._first_alike(axis)]
                for axis in dict.fromkeys([*value._along(), *value._referred()])
                if record._first_alike(axis) in orders
            }
            # Its entries go by the numbers of this record, whatever they were called.
            if inner:
                value = unlabelled(reordered(_called(value, record), inner))
        elif isinstance(value, np.ndarray):
            value = _moved(record, one, value, orders, places)
        fields[one.name] = value
    return type(record)._with(fields, {**record._orders, **orders}, record._notes)


def unlabelled(part: Any) -> Any:
    """Return a part of a record without labels: they are the record's."""
    return type(part)(*(getattr(part, one.name) for one in part._fields))


def _called(part: Any, record: Any) -> Any:
    """Return a part of a record with the labels of the record."""
    labels = {}
    for axis in dict.fromkeys([*part._along(), *part._referred()]):
        first = record._first_alike(axis)
        length = record._length(first)
        if named(first) and length is not None:
            whole = tuple(map(str, range(length)))
            labels[axis] = record._orders.get(first, whole)
    fields = {one.name: getattr(part, one.name) for one in part._fields}
    return type(part)._with(fields, labels, part._notes)


def _moved(
    record: Any,
    one: Field,
    value: NDArray[Any],
    orders: Mapping[str, Labels],
    places: Mapping[str, list[int]],
) -> NDArray[Any]:
    for n, axis in enumerate(last(one.axes, value.ndim)):
        order = places.get(record._first_alike(axis))
        if order is not None and value.shape[n] > 1:
            value = np.take(value, order, axis=n)
    axis = record._first_alike(one.of) if one.of else ""
    if axis in orders:
        have = record._orders.get(axis) or tuple(map(str, range(record._length(axis) or 0)))
        to = np.array([orders[axis].index(label) for label in have], dtype=np.int64)
        value = np.where(value >= 0, to[np.maximum(value, 0)], value) if to.size else value
    return value
