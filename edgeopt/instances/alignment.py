"""One order for all fields of a record: labelled arrays are put into it, or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.labels import (
    COUNTED,
    FROM_ORIGIN,
    KNOWN,
    TIMED,
    Given,
    Labels,
    as_labels,
    counted,
    entry_of,
    extract_labels,
    in_units,
    is_time,
    known,
    label_of,
    last,
    listed,
    named,
    order_of,
    stamped,
    timed,
    to_axis_order,
)
from edgeopt.instances.nesting import lengths_of, require_shallow
from edgeopt.instances.numerals import is_hole, real_of, whole_of
from edgeopt.instances.units import factor, measures_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Field
    from edgeopt.instances.records import Record


_PLAIN: Final = frozenset({np.ndarray, float, int, bool, str, list, tuple, type(None)})
_ALREADY: Final = ""  # whose labels are those of the instance

FROM_1: Final = (
    "if they count from 1, pass origin=1, or add the line 'first_slot,1' to settings.csv"
)


def align(record: Record) -> None:
    """Replace labelled fields by arrays in one order, before any field is checked."""
    if all(
        type(value := getattr(record, one.name)) in _PLAIN and not _are_times(one, value)
        for one in record._fields
    ):
        return
    Alignment(record).carry_out()


def _are_times(one: Field, value: Any) -> bool:
    """Return whether entries that are slots are given as timestamps without labels."""
    if one.of not in FROM_ORIGIN:
        return False
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "MO" and is_time(list(value))
    # An index of times has a zone, as a Series has not.
    return (isinstance(value, list | tuple) or hasattr(value, "tz")) and is_time(list(value))


class Alignment:
    """The orders of named axes of a record, found field by field."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.orders: dict[str, Labels] = dict(record._orders)  # by the first axis of its letter
        self.whose = dict.fromkeys(self.orders, _ALREADY)
        self.tabled: set[str] = set()  # axes along which a table or part has labels
        self.codes: dict[str, Labels] = {}  # of axes that only entries refer to
        # First time of counted axes, how long their entries are in seconds, and whose that is.
        self.began: dict[str, tuple[str, Any, float | None]] = {}
        self.notes = list(record._notes)
        self.tables: dict[str, Given] = {}
        self.parts: dict[str, Record] = {}

    def carry_out(self) -> None:
        """Find the orders, put all fields into them, and keep them with the record."""
        self._read()
        if self.tables or self.parts:
            self._from_names()
            for one in self.record._fields:
                if one.name in self.tables and self.tables[one.name].values.size:
                    self.tables[one.name] = self._placed(one, self.tables[one.name])
                elif one.name in self.parts:
                    self._learn(one, self.parts[one.name])
            for one in self.record._fields:
                if one.name in self.tables and not self.tables[one.name].values.size:
                    self.tables[one.name] = self._empty(self.tables[one.name])
            for one in self.record._fields:
                self._require_labels(one)
            for one in self.record._fields:
                if one.of in FROM_ORIGIN and one.name in self.tables:
                    self.tables[one.name] = self._on_time(one, self.tables[one.name])
            for one in self.record._fields:
                if one.ascending and one.name in self.tables:
                    self._sort(one)
            for one in self.record._fields:
                if one.name in self.tables:
                    self._set(one.name, self._numbers(one, self.tables[one.name]))
                elif one.name in self.parts:
                    self._set(one.name, self._joined(one, self.parts[one.name]))
                elif one.of and getattr(self.record, one.name) is not None:
                    self._set(one.name, self._by_label(one, getattr(self.record, one.name)))
        kept = {axis: one for axis, one in self.orders.items() if not _by_position(one)}
        object.__setattr__(self.record, "_orders", kept | self.codes)
        object.__setattr__(self.record, "_notes", tuple(self.notes))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self.record, name, value)

    def _name(self, one: Field) -> str:
        return self.record._prefix + one.name

    def _read(self) -> None:
        for one in self.record._fields:
            value = getattr(self.record, one.name)
            if _are_times(one, value):
                entries = np.array([None, *value], dtype=object)[1:]
                self.tables[one.name] = Given(entries, one.axes, (None,))
                continue
            if type(value) in _PLAIN:
                require_shallow(self._name(one), value)
                continue
            if hasattr(value, "_orders") and hasattr(value, "_fields"):
                if value._orders:
                    self.parts[one.name] = value
                self.notes += [note for note in value._notes if note not in self.notes]
                continue
            given = extract_labels(self._name(one), value)
            if given is not None:
                spare = one.broadcastable
                self.tables[one.name] = to_axis_order(self._name(one), given, one.axes, spare)

    def _from_names(self) -> None:
        """Take texts that name the entries of an axis as its labels."""
        for one in self.record._fields:
            value = getattr(self.record, one.name)
            if not one.texts or not isinstance(value, list | tuple):
                continue
            axis = self.record._first_alike(one.axes[0])
            if axis not in self.orders and len(set(map(str, value))) == len(value):
                self.orders[axis], self.whose[axis] = tuple(map(str, value)), one.name

    # --- one field --------------------------------------------------------------------------

    def _placed(self, one: Field, given: Given) -> Given:
        """Put a labelled array into the orders that are known, and note those that it brings."""
        name = self._name(one)
        for place, axis in enumerate(given.axes):
            labels = given.labels[place]
            if axis is None or labels is None:
                continue
            axis = str(axis)
            if axis in COUNTED:
                if axis in TIMED and is_time(labels):
                    given = self._timed(one, given, place, axis)
                given = counted(name, given, place, axis)
            elif axis in KNOWN:
                given = known(name, given, place, axis)
            else:
                first, found = self.record._first_alike(axis), as_labels(name, axis, labels)
                self.tabled |= {first} if self.whose.get(first) != _ALREADY else set()
                if first not in self.orders:
                    self.orders[first], self.whose[first] = found, name
                wanted = self.orders[first]
                if found != wanted:
                    order = order_of(name, axis, found, wanted, self.whose[first])
                    given = given.along(place, order, len(wanted))
        return given

    def _sort(self, one: Field) -> None:
        """Put what has labels into the ascending order of a field; equal entries stay as they are.

        The labels of an instance that exists already stay where they are.
        """
        name, values = self._name(one), self.tables[one.name].values
        axis = self.record._first_alike(one.axes[0])
        if not self._binds(axis) or self.whose[axis] not in map(self._name, self._labelled()):
            return
        if values.dtype.kind not in "iuf" or (values[1:] >= values[:-1]).all():
            return
        order = np.argsort(values, kind="stable")
        places = np.argsort(order)
        self.orders[axis] = tuple(self.orders[axis][n] for n in order)
        for other, given in self.tables.items():
            for place, along in enumerate(given.axes):
                if self.record._first_alike(str(along)) == axis:
                    given = given.along(place, places, len(order))
            self.tables[other] = given
        self.notes.append(f"{one.axes[0]}s put in the order of {name}")

    def _labelled(self) -> list[Field]:
        return [one for one in self.record._fields if one.name in self.tables]

    def _empty(self, given: Given) -> Given:
        """Return an array without entries, as long as others along the axes that it has."""
        shape = [
            len(KNOWN.get(str(axis)) or self.orders.get(self.record._first_alike(str(axis)), ()))
            if labels is not None and not labels
            else length
            for axis, length, labels in zip(given.axes, given.shape, given.labels, strict=True)
        ]
        if all(shape):  # then entries are missing: some axis must remain empty
            return given
        return replace(given, values=np.zeros(shape), missing=None)

    def _timed(self, one: Field, given: Given, place: int, axis: str) -> Given:
        labels = given.labels[place]
        assert labels is not None
        name, seconds = self._name(one), self.record._seconds(axis, self._known_lengths())
        if seconds is None and axis in self.began:
            seconds = self.began[axis][2]
        numbers, length = timed(name, labels, axis, seconds)
        start = labels[numbers.index(0)]
        whose, begun, _ = self.began.setdefault(axis, (name, start, length))
        zones = [getattr(time, "tzinfo", None) for time in (begun, start)]
        if str(zones[0]) != str(zones[1]):
            rule = f"times along '{axis}' are in zone {zones[1]}, those of {whose} in {zones[0]}"
            raise InstanceError(name, f"{rule}; use one zone")
        if begun != start:
            rule = f"begins along '{axis}' at {start}, {whose} at {begun}"
            raise InstanceError(name, f"{rule}; hand over the same span of time")
        first = COUNTED[axis]
        shifted = tuple(number + first for number in numbers)
        return replace(given, labels=(*given.labels[:place], shifted, *given.labels[place + 1 :]))

    def _on_time(self, one: Field, given: Given) -> Given:
        """Replace times by the slots in which they lie: timestamps, and numbers in seconds."""
        name, axis, unit = self._name(one), one.of, given.unit
        if unit in (axis, f"{axis}s"):
            return replace(given, unit=None)
        listing = given.values.ravel().tolist()
        if given.values.dtype.kind == "M":
            listing = list(given.values.ravel())
        stamps = is_time(listing)
        if not stamps and (unit is None or not measures_time(unit)):
            return given
        length = self.record._seconds(axis, self._known_lengths())
        if length is None and axis in self.began:
            length = self.began[axis][2]
        if length is None or not length > 0:
            rule = f"is in times, and nothing says how long a {axis} lasts: give numbers of {axis}s"
            raise InstanceError(name, rule)
        note = f"{name}: converted to {axis}s of {length:g} s, "
        if stamps:
            times = stamped(name, listing)
            start = self._start(name, axis, times)
            seconds = (times - start).total_seconds().to_numpy().reshape(given.shape)
            note += f"counted from {start}"
        else:
            seconds = self._real(one, given).values * factor(name, str(unit), "s")
            note += f"from {unit}"
        self.notes.append(f"{note}: each is the {axis} in which the time lies")
        return replace(given, values=np.floor(seconds / length + 1e-9), unit=None)

    def _start(self, name: str, axis: str, times: Any) -> Any:
        """Return when slot 0 begins: as fields along the slots say, else with the first time."""
        if axis not in self.began and any(axis in one.axes for one in self.record._fields):
            rule = f"is in times, but no field has times along '{axis}' that say when the first "
            raise InstanceError(name, f"{rule}begins: label one, or give numbers of {axis}s")
        whose, start, _ = self.began.setdefault(axis, (name, times.min(), None))
        if str(getattr(start, "tzinfo", None)) != str(times.tz):
            rule = f"times are in zone {times.tz}, those of {whose} in {start.tzinfo}; use one zone"
            raise InstanceError(name, rule)
        return start

    def _known_lengths(self) -> dict[str, int]:
        """Return the lengths of axes, as far as fields show them before they are checked."""
        found: dict[str, int] = {}
        for one in self.record._fields:
            given = self.tables.get(one.name)
            shape = lengths_of(getattr(self.record, one.name)) if given is None else given.shape
            axes = last(one.axes, len(shape)) if given is None else map(str, given.axes)
            found.update(zip(axes, shape, strict=False))
        return found

    def _learn(self, one: Field, part: Record) -> None:
        """Note the orders that a part of the record brings."""
        for axis, labels in part._orders.items():
            first = self.record._first_alike(axis)
            if axis in part._along():
                if first not in self.orders:
                    self.orders[first], self.whose[first] = labels, self._name(one)
                self.tabled |= {first} if self.whose[first] != _ALREADY else set()

    def _require_labels(self, one: Field) -> None:
        """Refuse a field that goes by position along an axis on which another one has labels."""
        value = getattr(self.record, one.name)
        if value is None or one.name in self.parts or one.texts:
            return
        if one.name in self.tables:
            given = self.tables[one.name]
            loose = [
                (axis, length)
                for axis, length, labels in zip(
                    given.axes or one.axes, given.shape, given.labels, strict=True
                )
                if labels is None
            ]
            if None in given.axes:
                loose = list(zip(last(one.axes, len(given.shape)), given.shape, strict=False))
        elif one.freeze is not None or one.broadcastable:
            shape = lengths_of(value)
            loose = list(zip(last(one.axes, len(shape)), shape, strict=False))
        elif hasattr(value, "_along"):
            loose = [(axis, 2) for axis in value._along()]
        else:
            return
        for axis, length in loose:
            first = self.record._first_alike(str(axis)) if axis is not None else ""
            if length > 1 and self._binds(first):
                rule = (
                    f"is labelled along '{axis}' ({listed(self.orders[first])}) but "
                    f"{self._name(one)} is not labelled along it; label both, or hand over "
                    ".to_numpy() of both"
                )
                raise InstanceError(self.whose[first], rule)

    def _binds(self, axis: str) -> bool:
        """Return whether entries along an axis go by labels, and by nothing else."""
        return axis in self.tabled and not _by_position(self.orders[axis])

    def _numbers(self, one: Field, given: Given) -> Any:
        """Return the array of a table, once it has no hole, is in its unit, and holds numbers."""
        name = self._name(one)
        if given.missing is not None and given.missing.any() and one.missing is None:
            raise InstanceError(name, self._of_hole(given))
        if one.texts:
            return tuple(map(str, given.values.tolist()))
        if one.of and named(one.of):
            given = self._coded(one, given)
        values, note = in_units(name, self._real(one, given), one.unit)
        self.notes += [note] * bool(note)
        if one.missing is not None and not np.isnan(one.missing) and values.dtype.kind == "f":
            values = np.where(np.isnan(values), one.missing, values)
        return values

    def _real(self, one: Field, given: Given) -> Given:
        """Return a table of numbers; refuse what is none, such as a word among slots."""
        counts = bool(one.of) and not named(one.of)
        if given.values.dtype.kind in ("uif" if counts else "buif"):
            return given
        numbers = np.full(given.shape, np.nan)
        for index, value in np.ndenumerate(given.values):
            # Texts are numbers only where entries are meant, as their labels may be.
            wrong = isinstance(value, str) and not one.of
            wrong |= counts and isinstance(value, bool | np.bool_)
            number = None if wrong else real_of(value)
            if number is None:
                said = f"{value!r}" if isinstance(value, str) else value
                rule = f"{said} of {self._where(given, index)} is no number"
                raise InstanceError(self._name(one), rule + f" of a {one.of}" * counts)
            numbers[index] = number
        return replace(given, values=numbers)

    def _of_hole(self, given: Given) -> str:
        assert given.missing is not None
        for place, axis in enumerate(given.axes):
            whole = given.missing.all(axis=tuple(set(range(given.missing.ndim)) - {place}))
            if whole.any() and str(axis) in COUNTED:
                first = COUNTED[str(axis)]
                missing = int(np.argmax(whole)) + first
                there = np.flatnonzero(~whole) + first
                said = f"{axis} {missing} has no entry; {axis}s count from {first} "
                said += f"(found {there[0]}..{there[-1]})"
                shifted = there[0] == 1 and str(axis) in FROM_ORIGIN
                return f"{said}: {FROM_1 if shifted else 'give every one of them'}"
        return f"has no entry for {self._where(given, np.argwhere(given.missing)[0].tolist())}"

    def _where(self, given: Given, index: Sequence[int]) -> str:
        """Say which entry is meant."""
        axes = list(map(str, given.axes))
        names = [self.orders.get(self.record._first_alike(axis)) for axis in axes]
        return entry_of(axes, list(map(label_of, axes, index, names)))

    def _coded(self, one: Field, given: Given) -> Given:
        """Replace the labels that entries are by places."""
        first = self.record._first_alike(one.of)
        texts = given.values.dtype.kind in "OUS"
        if not (texts or self._binds(first)):
            return given
        flat = [None if is_hole(value) else value for value in given.values.ravel().tolist()]
        if first not in self.orders and first not in self.record._along():
            used = as_labels(
                self._name(one), one.of, [v for v in dict.fromkeys(flat) if v is not None]
            )
            if any(whole_of(label) is None for label in used):
                self.codes[first] = used
        numbers = [np.nan if value is None else self._place(one, value) for value in flat]
        values: NDArray[Any] = np.reshape(np.array(numbers, dtype=np.float64), given.shape)
        return replace(given, values=values)

    def _by_label(self, one: Field, value: Any) -> Any:
        """Replace labels by places in what is no table: an array, or lists of lists."""
        first = self.record._first_alike(one.of)
        if first not in self.orders or _by_position(self.orders[first]):
            return value
        listing = value.tolist() if isinstance(value, np.ndarray) else value
        if isinstance(listing, list | tuple):
            return [self._by_label(one, entry) for entry in listing]
        if not isinstance(listing, str) and not self._binds(first):
            return value
        return self._place(one, listing)

    def _place(self, one: Field, value: Any) -> float:
        """Return the place of the entry that a label names."""
        first = self.record._first_alike(one.of)
        labels = self.orders.get(first) or self.codes.get(first, ())
        [label] = as_labels(self._name(one), one.of, [value])
        if label in labels:
            return labels.index(label)
        if one.missing is not None and label == f"{one.missing:g}":
            return float(one.missing)
        if not labels and (number := whole_of(label)) is not None:
            return number
        what = f"none of the {one.of}s ({listed(labels)})" if labels else "no number"
        raise InstanceError(self._name(one), f"{label!r} is {what}")

    def _joined(self, one: Field, part: Record) -> Record:
        """Put a part of the record into its orders."""
        name, orders = self._name(one), {}
        for axis, labels in part._orders.items():
            first = self.record._first_alike(axis)
            if first not in self.orders:
                rule = f"names {axis}s ({listed(labels)}), but no field is labelled along '{axis}'"
                raise InstanceError(name, f"{rule}; label one, or give their numbers")
            wanted = self.orders[first]
            if axis in part._along():
                order_of(name, axis, labels, wanted, self.whose[first])
            else:
                for label in set(labels) - set(wanted):
                    rule = f"{label!r} is none of the {axis}s ({listed(wanted)})"
                    raise InstanceError(name, rule)
            orders[axis] = wanted
        joined: Record = unlabelled(reordered(part, orders))
        return joined


def _by_position(labels: Labels) -> bool:
    return labels == tuple(map(str, range(len(labels))))


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
