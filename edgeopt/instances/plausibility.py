"""Numbers that are valid but hardly what they seem: notes, never errors.

A note says what was found and what it may mean: a number that often stands for a missing value, or
entries that would be usual in another unit than the one that a field declares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.units import factor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Field, Usual

_STAND_INS: Final = (-999.0, -9999.0, -99999.0, -999.9, -9999.9)
"""Numbers that files of measurements write for what is missing."""

_FILLED: Final = 1e20
"""From here on numbers are rather those that files of fields on grids fill gaps with."""

_THOUSAND: Final = 1000.0

_MOST: Final = 20
"""Most notes of one kind."""


def first_places(odd: NDArray[np.bool_]) -> list[list[int]]:
    """Return the places of entries that notes are about, as many as there are notes."""
    places: list[list[int]] = np.argwhere(odd)[:_MOST].tolist()
    return places


def implausible(record: Any) -> Iterator[str]:
    """Go through the notes on the numbers of a record and of its parts."""
    for one in record._fields:
        value = getattr(record, one.name)
        if hasattr(value, "_fields") and hasattr(value, "_sizes"):
            yield from implausible(value)
            continue
        if not isinstance(value, np.ndarray | float | int):
            continue
        array = np.asarray(value)
        if not array.size or array.dtype.kind not in "if":
            continue
        name = record._prefix + one.name
        found = stand_ins(array)
        if found:
            yield f"{name}: {found}"
        if one.usual is not None:
            yield from _in_another_unit(name, one, array, one.usual)


def stand_ins(array: NDArray[Any]) -> str:
    """Say how many entries are a number that often stands for a missing one; nothing if none is."""
    if not array.size or array.dtype.kind not in "if":
        return ""
    low, high = array.min(), np.max(array, initial=0, where=np.isfinite(array))
    if high < _FILLED and low > max(_STAND_INS) and low > -_FILLED:
        return ""
    odd = stands_in(array)
    count = np.count_nonzero(odd)
    if not count:
        return ""
    first = tuple(np.argwhere(odd)[0].tolist())
    said = f"{array[first]:g}" + (f" at {list(first)}" if first else "")
    return (
        f"{count} of {array.size} entries may stand for what is missing, such as {said}; "
        "if so, leave them out or give the right ones"
    )


def stands_in(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries are a number that often stands for a missing one."""
    filled: NDArray[np.bool_] = np.isfinite(array) & (np.abs(array) >= _FILLED)
    return filled | np.isin(array, _STAND_INS)


def _in_another_unit(name: str, one: Field, array: NDArray[Any], usual: Usual) -> Iterator[str]:
    """Say that entries would be usual in another unit, if they are none in their own."""
    sizes = np.abs(array[np.isfinite(array) & (array != 0)])
    if not sizes.size:
        return
    typical = float(np.median(sizes))
    if float(sizes.max()) > usual.low and typical <= usual.high:
        return
    range_ = f"usual are {usual.low:g} to {usual.high:g} {one.unit}"
    said = f"{name}: entries are about {typical:.3g} {one.unit}, {range_}"
    for unit in usual.units:
        if usual.low <= typical * factor(name, unit, one.unit) <= usual.high:
            yield f"{said}; if they are in {unit}, give that unit"
            return
    if usual.low <= typical * _THOUSAND <= usual.high:
        yield f"{said}, a thousand times as much; check the unit"
