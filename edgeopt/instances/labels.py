"""Arrays with labels: every entry goes to the place that its labels name, or is refused.

An axis is *counted* where its label is the number itself (slots, CPU cores, durations), *known*
where its labels are given by the system (``"cpu"`` and ``"gpu"`` of resources), and *named*
otherwise: the first labelled field of an instance, in the order of its documentation, fixes the
order of the names, and all others follow. Labels come from ``xarray.DataArray``, from
``pandas.Series`` and ``DataFrame``, and from tables in files; whatever else is given is an array
by position.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.nesting import require_shallow
from edgeopt.instances.numerals import is_hole, is_real, whole_of
from edgeopt.instances.plausibility import stand_ins
from edgeopt.instances.units import factor, measures_time

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Flags, Ints


COUNTED: Final[Mapping[str, int]] = {
    "slot": 0, "frame": 0, "round": 0, "hour": 0, "cpu": 0, "gpu": 0, "position": 0, "duration": 1,
}  # fmt: skip
"""Axes whose labels are numbers, and the first of them."""

KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "resource": ("cpu", "gpu"), "coordinate": ("east", "north"), "end": ("from", "to"),
}  # fmt: skip
"""Axes whose labels are fixed."""

AXES: Final = 32
"""Most axes of a table; no field has as many, and NumPy can still gather them."""

FROM_ORIGIN: Final = ("slot", "frame", "round")
"""Counted axes that others may number from 1."""

TIMED: Final = (*FROM_ORIGIN, "hour")
"""Counted axes along which entries may have times."""

_SPREADSHEET: Final = frozenset(
    ("#REF!", "#N/A", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!")
)
"""What a spreadsheet writes for a cell that it cannot compute."""

_ENTRIES: Final = 10**8
_SHOWN: Final = 6

Labels = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Given:
    """An array as it was handed over: the name of each axis, its labels, and the unit."""

    values: NDArray[Any]
    axes: tuple[Hashable, ...]
    labels: tuple[tuple[Any, ...] | None, ...]  # None where an axis has no labels
    unit: str | None = None
    missing: Flags | None = None  # entries that were left out

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self.values.shape)

    def counted_from(self, origin: int, of: str = "") -> Given:
        """Return the array with slots and frames counted from 0, if they were from `origin`.

        Entries are slots or frames too, if they are numbers `of` these, and no times.
        """
        labels = tuple(
            tuple(_less(label, origin) for label in one)
            if axis in FROM_ORIGIN and one is not None
            else one
            for axis, one in zip(self.axes, self.labels, strict=True)
        )
        values = self.values
        if self.unit is not None and measures_time(self.unit):
            of = ""
        if of in FROM_ORIGIN and origin and values.dtype.kind in "uif":
            values = values.astype(np.float64) - origin
        elif of in FROM_ORIGIN and origin and values.size:
            values = np.vectorize(lambda entry: _less(entry, origin), otypes=[object])(values)
        return replace(self, values=values, labels=labels)

    def along(self, axis: int, order: Ints | list[int], count: int) -> Given:
        """Return the array with its entries along an axis put into other places."""
        shape = (*self.shape[:axis], count, *self.shape[axis + 1 :])
        kind = self.values.dtype if self.values.dtype.kind in "fO" else np.float64
        values = np.full(shape, np.nan, dtype=kind)
        missing = np.ones(shape, dtype=np.bool_)
        place = (slice(None),) * axis + (np.asarray(order, dtype=np.int64),)
        values[place] = self.values
        missing[place] = False if self.missing is None else self.missing
        if not missing.any():
            values = values.astype(self.values.dtype)
        return replace(self, values=values, missing=missing)


def _less(label: Any, origin: int) -> Any:
    """Return a number, or a text that is one, less the number of the first entry."""
    number = whole_of(label)
    return label if number is None else number - origin


# --- what comes with labels ----------------------------------------------------------------


def _is_of(package: str, value: Any) -> bool:
    """Return whether a value is of a class of a package, or of one made from it.

    The class says so itself: among the loaded modules may be one that another thread has only
    begun to import.
    """
    return any(base.__module__.partition(".")[0] == package for base in type(value).__mro__)


def is_dataset(value: Any) -> bool:
    """Return whether a value is an ``xarray.Dataset``."""
    if not _is_of("xarray", value):
        return False
    import xarray

    return isinstance(value, xarray.Dataset)


def extract_labels(field: str, value: Any) -> Given | None:
    """Return what a table of pandas or xarray carries, or None if it is neither."""
    if isinstance(value, Given):
        return value
    if _is_of("xarray", value):
        import xarray

        if not isinstance(value, xarray.DataArray):
            return None
        labels = tuple(
            tuple(value.coords[axis].to_index()) if axis in value.coords else None
            for axis in value.dims
        )
        return _noting_holes(Given(value.to_numpy(), value.dims, labels, _unit_of(value.attrs)))
    if not _is_of("pandas", value):
        return None
    import pandas

    if not isinstance(value, pandas.Series | pandas.DataFrame):
        return None
    if isinstance(value, pandas.DataFrame) and value.columns.nlevels > 1:
        value = value.stack(list(range(value.columns.nlevels)), future_stack=True)
    elif isinstance(value, pandas.DataFrame) and value.index.nlevels > 1:
        value = value.stack(future_stack=True)
    unit = _unit_of(value.attrs)
    if value.index.nlevels > 1:
        columns = [list(value.index.get_level_values(n)) for n in range(value.index.nlevels)]
        return long_form(field, tuple(value.index.names), columns, list(value), unit)
    axes = [value.index, value.columns] if isinstance(value, pandas.DataFrame) else [value.index]
    plain = all(one.name is None and one.equals(pandas.RangeIndex(len(one))) for one in axes)
    names = tuple(None if plain else axis.name for axis in axes)
    labels = tuple(None if plain else tuple(axis) for axis in axes)
    return _noting_holes(Given(value.to_numpy(), names, labels, unit))


def _noting_holes(given: Given) -> Given:
    """Return a table of objects with a note of those that are none."""
    if given.values.dtype.kind != "O":
        return given
    holes = np.array([is_hole(entry) for entry in given.values.ravel().tolist()], dtype=np.bool_)
    missing = holes.reshape(given.shape)
    if not missing.any():
        return given
    return replace(given, values=np.where(missing, np.nan, given.values), missing=missing)


def _unit_of(attributes: Mapping[Any, Any]) -> str | None:
    unit = attributes.get("units")
    return None if unit is None else str(unit)


def long_form(
    field: str,
    axes: tuple[Hashable, ...],
    columns: Sequence[Sequence[Any]],
    values: Sequence[Any],
    unit: str | None = None,
    default: Any = None,
) -> Given:
    """Gather a table with one entry per line into an array, labels in order of appearance."""
    if len(axes) > AXES:
        raise InstanceError(field, f"must have at most {AXES} axes", value=f"{len(axes)} axes")
    labels = [tuple(dict.fromkeys(column)) for column in columns]
    shape = tuple(map(len, labels))
    if np.prod(shape, dtype=float) > _ENTRIES:
        rule = f"has labels for more than {_ENTRIES} entries"
        raise InstanceError(field, rule, value=f"shape {shape}")
    place = [{label: n for n, label in enumerate(one)} for one in labels]
    where = tuple(
        np.array([known[label] for label in column], dtype=np.int64)
        for known, column in zip(place, columns, strict=True)
    )
    flat = np.ravel_multi_index(where, shape) if where else np.zeros(len(values), dtype=np.int64)
    _, first = np.unique(flat, return_index=True)
    for n in sorted(set(range(len(values))) - set(first.tolist()))[:1]:
        entry = entry_of(axes, [column[n] for column in columns])
        raise InstanceError(field, f"{entry} has two entries; keep one")
    empty = list(map(is_hole, values))
    numbers = all(hole or is_real(value) for value, hole in zip(values, empty, strict=True))
    array = np.full(shape, np.nan, dtype=np.float64 if numbers else object)
    missing = np.full(shape, default is None)
    if default is not None:
        array[...] = default
    array[where] = [np.nan if hole else value for value, hole in zip(values, empty, strict=True)]
    missing[where] = empty
    return Given(array, axes, tuple(labels), unit, missing)


# --- where it goes -------------------------------------------------------------------------


def named(axis: str) -> bool:
    """Return whether the labels of an axis are names."""
    return axis not in COUNTED and axis not in KNOWN


def as_labels(field: str, axis: str, labels: Sequence[Any]) -> Labels:
    """Return names as texts, each of them once."""
    texts = []
    for label in labels:
        whole = isinstance(label, float | np.floating) and float(label).is_integer()
        texts.append("" if is_hole(label) else str(int(label)) if whole else str(label))
    for n, text in enumerate(texts):
        if not text or not text.isprintable():
            rule = f"label {text!r} along '{axis}' must be a text of one line, not empty"
            raise InstanceError(field, rule)
        if text in _SPREADSHEET:
            rule = f"label {text!r} along '{axis}' is an error of a spreadsheet; correct it there"
            raise InstanceError(field, rule)
        if text in texts[:n]:
            raise InstanceError(field, f"label {text!r} along '{axis}' occurs twice; keep one")
    return tuple(texts)


def to_axis_order(field: str, given: Given, axes: Sequence[str], spare: Sequence[str]) -> Given:
    """Return an array with its axes in the declared order; those in `spare` may be left out."""
    if all(axis is None for axis in given.axes) and not any(given.labels):
        return given
    whole = [
        n
        for n, axis in enumerate(given.axes)
        if not (str(axis).startswith("any_") and given.shape[n] == 1)
    ]
    given = replace(
        given,
        values=given.values.reshape([given.shape[n] for n in whole]),
        axes=tuple(given.axes[n] for n in whole),
        labels=tuple(given.labels[n] for n in whole),
    )
    if None in given.axes:
        unnamed = [
            place
            for place, axis in zip(("index", "columns"), given.axes, strict=False)
            if axis is None
        ]
        left = [axis for axis in axes if axis not in given.axes]
        pairs = zip(unnamed, left, strict=False)
        places = ", ".join(f"{place}='{axis}'" for place, axis in pairs)
        rule = f"a table with unnamed axes; name them, e.g. frame.rename_axis({places})"
        raise InstanceError(field, rule)
    wanted = [axis for axis in axes if axis in given.axes or axis not in spare]
    if sorted(map(str, given.axes)) != sorted(wanted):
        found = ", ".join(map(str, given.axes))
        must = [axis for axis in axes if axis not in spare] or axes
        rule = f"axes are ({found}); expected a permutation of ({', '.join(must)})"
        if spare and must is not axes:
            rule += f", with or without {', '.join(spare)}"
        raise InstanceError(field, rule)
    order = [given.axes.index(axis) for axis in wanted]
    values, labels = given.values.transpose(order), [given.labels[n] for n in order]
    missing = None if given.missing is None else given.missing.transpose(order)
    if len(spare) == len(axes):  # a table that spreads keeps all axes, with one entry
        shape = [values.shape[wanted.index(axis)] if axis in wanted else 1 for axis in axes]
        values = values.reshape(shape)
        missing = None if missing is None else missing.reshape(shape)
        labels = [labels[wanted.index(axis)] if axis in wanted else None for axis in axes]
        wanted = list(axes)
    return replace(given, values=values, axes=tuple(wanted), labels=tuple(labels), missing=missing)


def no_label(label: Any, axis: str) -> str:
    """Say that a label cannot stand along an axis that counts."""
    return f"label {label!r} along '{axis}' must be a whole number"


def counted(field: str, given: Given, place: int, axis: str) -> Given:
    """Put entries where their numbers say, with holes where a number is missing."""
    labels, first = given.labels[place], COUNTED[axis]
    assert labels is not None
    if not labels:
        raise InstanceError(field, f"has no entry along '{axis}'")
    numbers = []
    for label in labels:
        number = whole_of(label)
        if number is None:
            raise InstanceError(field, no_label(label, axis))
        numbers.append(number)
    low, high = min(numbers), max(numbers)
    if len(set(numbers)) < len(numbers):
        twice = next(n for i, n in enumerate(numbers) if n in numbers[:i])
        raise InstanceError(field, f"{axis} {twice} has two entries; keep one")
    if low < first:
        rule = f"{axis} {low} does not exist; {axis}s count from {first} (found {low}..{high})"
        raise InstanceError(field, f"{rule}: number them so")
    if high - first >= 4 * len(numbers) + 1000:
        rule = f"{axis} {high} is far beyond the {len(numbers)} entries along '{axis}'"
        raise InstanceError(field, f"{rule}; check its labels")
    return given.along(place, [n - first for n in numbers], high - first + 1)


def known(field: str, given: Given, place: int, axis: str) -> Given:
    """Put entries of a known axis in its order."""
    labels, wanted = given.labels[place], KNOWN[axis]
    assert labels is not None
    found = as_labels(field, axis, labels)
    if found == tuple(map(str, range(len(wanted)))):
        return given
    return given.along(place, order_of(field, axis, found, wanted), len(wanted))


def order_of(field: str, axis: str, found: Labels, wanted: Labels, whose: str = "") -> Ints:
    """Return the place of each label that was found; both must be the same set.

    The wanted ones are those of the field that `whose` names, or of the instance as it is.
    """
    missing = [label for label in wanted if label not in found]
    extra = [label for label in found if label not in wanted]
    has = f"{whose or 'the instance'} has {listed(wanted)}"
    if extra:
        near = difflib.get_close_matches(extra[0], missing, n=1)
        hint = f": add it to {whose}, or take it out here" if whose else ""
        hint = f": did you mean {near[0]!r}?" if near else hint
        rule = f"label {extra[0]!r} along '{axis}' is unknown ({has}){hint}"
        raise InstanceError(field, rule)
    if missing:
        hint = f": add it, or take it out of {whose}" if whose else ""
        rule = f"label {missing[0]!r} along '{axis}' is missing ({has}){hint}"
        raise InstanceError(field, rule)
    place = {label: n for n, label in enumerate(wanted)}
    return np.array([place[label] for label in found], dtype=np.int64)


def listed(labels: Sequence[Any]) -> str:
    """Write a few labels."""
    more = f", ... {len(labels)} in all" if len(labels) > _SHOWN else ""
    return ", ".join(map(str, labels[:_SHOWN])) + more


def label_of(axis: str, place: int, names: Sequence[str] | None) -> str | int:
    """Return the label of an entry: its name, or the number that it has."""
    names = names or KNOWN.get(axis, ())
    return names[place] if place < len(names) else place + COUNTED.get(axis, 0)


def entry_of(axes: Sequence[Hashable], labels: Sequence[Any]) -> str:
    """Say which entry is meant, by a label along each axis: ``server 'north', slot 3``."""
    return ", ".join(
        f"{axis} {label!r}" if isinstance(label, str) else f"{axis} {label}"
        for axis, label in zip(axes, labels, strict=True)
    )


def timed(
    field: str, labels: tuple[Any, ...], axis: str, seconds: float | None
) -> tuple[list[int], float | None]:
    """Return which slot or frame each timestamp is, if they are evenly spaced, and their length."""
    stamps = stamped(field, labels)
    ordered = stamps.sort_values()
    if not ordered.is_unique:
        raise InstanceError(field, f"two entries along '{axis}' are of one time; keep one")
    steps = (ordered[1:] - ordered[:-1]).total_seconds().to_numpy()
    wanted = float(steps[0]) if seconds is None and steps.size else float(seconds or 0)
    if steps.size and np.abs(steps - wanted).max() > 1e-6 * wanted:
        n = int(np.argmax(np.abs(steps - wanted) > 1e-6 * wanted))
        rule = f"{axis}s are {wanted:g} s long, but {ordered[n + 1]} follows {ordered[n]} after "
        raise InstanceError(field, f"{rule}{steps[n]:g} s; resample the table")
    place = {stamp: n for n, stamp in enumerate(ordered)}
    return [place[stamp] for stamp in stamps], wanted if steps.size else seconds


def last(axes: Sequence[str], count: int) -> Sequence[str]:
    """Return the axes that an array of so many has: it may leave out the first."""
    return axes[max(0, len(axes) - count) :]


def is_time(labels: Sequence[Any] | None) -> bool:
    """Return whether labels or entries are timestamps."""
    return bool(labels) and all(isinstance(one, np.datetime64 | datetime) for one in labels or ())


def stamped(field: str, times: Sequence[Any]) -> Any:
    """Return timestamps as an index of pandas, if they are of one zone and none is missing."""
    import pandas

    try:
        stamps = pandas.DatetimeIndex(list(times))
    except (ValueError, TypeError):
        raise InstanceError(field, "has times of several zones; use one zone") from None
    for n in np.flatnonzero(stamps.isna())[:1]:
        raise InstanceError(field, "has no time (NaT): give it, or leave the entry out", index=(n,))
    return stamps


def without_labels(field: str, value: Any) -> Any:
    """Return the numbers of a table that has no labels; refuse one that has."""
    require_shallow(field, value)
    given = extract_labels(field, value)
    if given is None:
        if isinstance(value, list | tuple):
            for entry in value:
                without_labels(field, entry)
        return value
    for axis, labels in zip(given.axes, given.labels, strict=True):
        if axis is not None or labels is not None:
            where = f"along '{axis}' " if axis is not None else ""
            rule = f"is labelled {where}where entries go by position; hand over .to_numpy()"
            raise InstanceError(field, rule)
    return given.values


def in_units(field: str, given: Given, unit: str) -> tuple[NDArray[Any], str]:
    """Return the numbers in the declared unit, and a note if they were converted."""
    if given.unit is None or given.unit == unit:
        return given.values, ""
    by = factor(field, given.unit, unit)
    if by == 1.0:
        return given.values, ""
    odd = stand_ins(np.asarray(given.values))  # as they were, before none looks odd any more
    note = f"{field}: converted from {given.unit} to {unit} (times {by:g})" + f"; {odd}" * bool(odd)
    return np.asarray(given.values, dtype=np.float64) * by, note


def seconds_of(field: str, value: Any) -> float | None:
    """Return a length of time in seconds, of a table or plain; None if it is no number yet."""
    given = extract_labels(field, value)
    try:
        number = float(np.asarray(value if given is None else given.values))
    except (ValueError, TypeError):
        return None
    unit = None if given is None else given.unit
    return number if unit is None else number * factor(field, unit, "s")
