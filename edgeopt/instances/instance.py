"""The base of instances: equal by content, with labels, copied, and saved to files."""

from __future__ import annotations

import difflib
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from edgeopt.errors import InstanceError
from edgeopt.instances.alignment import reordered
from edgeopt.instances.csv_tables import (
    gathered,
    holds_tables,
    is_zip,
    read_folder,
    write_folder,
    write_zip,
)
from edgeopt.instances.labels import as_labels, named, order_of
from edgeopt.instances.netcdf import Labelled, Layout, read, write
from edgeopt.instances.plausibility import implausible
from edgeopt.instances.records import Record
from edgeopt.options import check_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

__all__ = ["Instance"]


class Instance(Record):
    """Base of instances: equal when their content is, hashed, copied, and saved to labelled files.

    Keywords of a class, besides those of `Record`: ``kind`` names it in files, ``version`` counts
    the changes of its layout there.
    """

    _kind: ClassVar[str] = ""
    _version: ClassVar[int] = 1
    _implied: ClassVar[frozenset[str]] = frozenset()  # fields of parts that tables leave out

    def __init_subclass__(cls, *, kind: str = "", version: int = 1, **others: Any) -> None:
        super().__init_subclass__(**others)
        if kind:
            cls._kind, cls._version = kind, version

    def _layout(self) -> Layout:
        """Return the content as labelled arrays and texts."""
        return Layout(self._kind, self._version, *self._content())

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """Labels of the entries of named axes, by axis; empty where none were given.

        Texts that name all entries of an axis differently, such as ``names``, are its labels.
        Labels are saved in files, and are no part of the fingerprint.
        """
        said = {
            self._first_alike(one.axes[0]): texts
            for one in self._fields
            if one.texts and (texts := getattr(self, one.name)) and len(set(texts)) == len(texts)
        }
        return MappingProxyType({**said, **self._orders})

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the data: what was done when they were read, and odd numbers.

        Such as a conversion of units, or entries that often stand for a missing value.
        """
        return tuple(dict.fromkeys((*self._notes, *self._odd)))

    @cached_property
    def _odd(self) -> tuple[str, ...]:
        return (*implausible(self), *self._remarks())

    def _remarks(self) -> Iterable[str]:
        """Return notes on what is odd about fields taken together."""
        return ()

    def _noted(self, notes: Iterable[str]) -> Self:
        """Return the instance with more to know of its data."""
        fields = {one.name: getattr(self, one.name) for one in self._fields}
        return self._with(fields, self._orders, (*self._notes, *notes))

    def _repr_html_(self) -> str:
        """Show the fields as a table."""
        from edgeopt.instances.html import table_of

        return table_of(self)

    @property
    def axes(self) -> Mapping[str, int]:
        """Lengths of the named axes of the instance and of its parts, the first of each kind."""
        parts = (getattr(self, one.name) for one in self._fields)
        inner = (axis for part in parts if isinstance(part, Record) for axis in part._along())
        first = dict.fromkeys(self._first_alike(axis) for axis in (*self._along(), *inner))
        lengths = {axis: self._length(axis) for axis in first}
        return MappingProxyType({axis: n for axis, n in lengths.items() if n is not None})

    def with_labels(self, labels: Mapping[str, Sequence[Any]]) -> Self:
        """Return the instance with labels for the entries of named axes, as they stand.

        Parameters
        ----------
        labels
            All labels of an axis, each of them once, by axis.

        Raises
        ------
        InstanceError
            If an axis has no names, or another number of entries.
        """
        given = dict(self._orders)
        for axis, names in labels.items():
            first, length = self._of_named(axis)
            given[first] = as_labels(axis, axis, names)
            if len(given[first]) != length:
                raise InstanceError(axis, f"must have {length} labels, has {len(given[first])}")
        fields = {one.name: getattr(self, one.name) for one in self._fields}
        return self._with(fields, given, self._notes)

    def _of_named(self, axis: str) -> tuple[str, int]:
        """Return the first of the axes of one kind, and its length."""
        first = self._first_alike(axis)
        length = self._length(first) if named(first) else None
        if length is None:
            rule = f"is no axis with names; these are: {', '.join(self.axes)}"
            raise InstanceError(axis, rule)
        return first, length

    def called(self, axis: str) -> tuple[str, ...] | None:
        """Return what pictures and tables call the entries of an axis, None for their numbers."""
        first = self._first_alike(axis)
        for one in self._fields:
            if one.texts and self._first_alike(one.axes[0]) == first and getattr(self, one.name):
                return tuple(getattr(self, one.name))
        return self._orders.get(first)

    def name_of(self, axis: str, place: int) -> str:
        """Return what pictures, tables and messages call an entry: its label, or ``server 3``."""
        names = self.called(axis)
        return f"{axis} {place}" if names is None else names[place]

    def reordered(self, orders: Mapping[str, Sequence[Any]]) -> Self:
        """Return the instance with the entries of named axes in other orders, validated anew.

        Parameters
        ----------
        orders
            All labels of an axis, by axis; numbers from 0 where it has no labels.

        Raises
        ------
        InstanceError
            If an axis has no names, labels are missing or unknown, or the other order breaks a
            rule, such as tasks that must stand in the order of their arrival.
        """
        wanted = {}
        for axis, labels in orders.items():
            first, length = self._of_named(axis)
            have = self.labels.get(first) or tuple(map(str, range(length)))
            wanted[first] = as_labels(axis, axis, labels)
            order_of(axis, axis, wanted[first], have)
        labelled = self._with(
            {one.name: getattr(self, one.name) for one in self._fields}, self.labels, self._notes
        )
        made: Self = reordered(labelled, wanted)
        return made

    @classmethod
    def from_labelled(cls, data: Any, /, *, origin: int = 0) -> Self:
        """Build an instance from tables with labels: every entry goes where its labels say.

        Parameters
        ----------
        data
            An ``xarray.Dataset``, or a mapping from the names of fields to ``xarray.DataArray``,
            ``pandas.Series`` or ``pandas.DataFrame`` whose axes have the names that the class
            documents, to arrays by position, numbers and texts. A field that is a record is given
            as its own fields, under names such as ``reserved_start``. Slots and frames may be
            timestamps; so may entries that are slots or frames, such as arrivals, which may have a
            unit of time as well, where the length of a slot is known.
        origin
            Number of the first slot or frame, in labels and in entries that are slots or frames
            themselves, such as an arrival.

        Raises
        ------
        InstanceError
            If a label is missing, unknown or occurs twice, an axis has no name, a field is
            labelled along an axis along which another one is not, or a unit does not fit.

        Examples
        --------
        >>> import pandas
        >>> from edgeopt.instances.rescue import RescueInstance, generate
        >>> instance = generate(servers=2, devices=3, horizon=4, reserved=0, rng=7)
        >>> fields = {name: getattr(instance, name) for name in ("arrival", "duration", "reserved")}
        >>> rows = pandas.Index(["north", "south"], name="server")
        >>> slots = pandas.RangeIndex(4, name="slot")
        >>> fields["capacity"] = pandas.DataFrame(instance.capacity, rows, slots)[::-1]
        >>> fields["profit"] = [[[[[1.0]]]]]  # the same for all runs
        >>> RescueInstance.from_labelled(fields).labels["server"]
        ('south', 'north')
        """
        check_whole("origin", origin, 0, 1)
        return cls(**cls._all_of(gathered(cls, data, origin)))

    @classmethod
    def from_folder(cls, path: str | os.PathLike[str], *, origin: int = 0) -> Self:
        """Read a folder of tables, or a ``.zip`` of one, as ``edgeopt template`` writes it.

        Parameters
        ----------
        path
            The folder: a file ``FIELD.csv`` per array, one entry per line, and ``settings.csv``
            with numbers and texts.
        origin
            Number of the first slot or frame, in labels and in entries that are slots or frames
            themselves, unless ``settings.csv`` says so.

        Raises
        ------
        InstanceError
            If a file is missing, is no such table, or breaks a rule of its field; the error names
            the file and the line.
        """
        check_whole("origin", origin, 0, 1)
        return cls(**cls._all_of(read_folder(path, cls, origin)))

    def to_folder(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the tables of the instance to a folder, with a ``README.txt`` that explains them.

        Parameters
        ----------
        path
            The folder.
        force
            Whether to write to a folder that is not empty; tables there may have been changed.

        Raises
        ------
        OutputError
            If the folder is not empty, or cannot be written to.
        """
        write_folder(self, path, force=force)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields replaced, validated anew."""
        fields = {one.name: getattr(self, one.name) for one in self._fields}
        unknown = sorted(set(changes) - set(fields))
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {unknown[0]!r}")
        return self._with({**fields, **changes}, self._orders, self._notes)

    def rounded(self, digits: int = 6) -> Self:
        """Return the instance in decimals of so many significant digits, validated anew.

        Drawn data differ between kinds of processors in the last bits of their numbers; rounded,
        they are equal, but for a number that lies within that difference of a boundary.

        Parameters
        ----------
        digits
            Significant decimals of each real number, 1 to 15. Fields are rounded to nearest, or in
            the direction in which a valid instance stays valid, such as sizes down; reserved
            demands are cut by ``10**(1 - digits)`` beforehand. Distributions of durations become
            multiples of a power of two, ``2**-20`` for six digits, that sum to exactly 1. Data that
            have this form already stay as they are; so do labels and notes.

        Raises
        ------
        OptionError
            If the number of digits is out of range.
        InstanceError
            If the data break a rule at so few digits, such as means of durations that no longer
            increase.
        """
        from edgeopt.instances.decimals import rounded

        return rounded(self, digits)

    def fingerprint(self) -> str:
        """Return a hash of the content: equal data, equal fingerprint, on every machine."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return self._layout().fingerprint()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a labelled NetCDF file, or tables in a ``.zip``, see `to_folder`.

        NetCDF has dimension names, units, labels and a format version. The file appears under its
        name only once it is complete.
        """
        if is_zip(path):
            write_zip(self, path)
        else:
            write(path, self._layout(), self._orders, self._notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` or `to_folder` has written."""
        if holds_tables(path):
            return cls.from_folder(path)
        data = read(path, cls._kind, cls._version)
        made = cls._with(cls._all_of(data), data.labels, data.notes)
        for axis, labels in data.labels.items():
            made._require_axis(str(path), axis, len(labels))
        return made

    def _require_axis(self, where: str, axis: str, count: int) -> None:
        """Refuse labels of a file along an axis that has none, or has another number of entries."""
        parts = (self, *(getattr(self, one.name) for one in self._fields))
        inner = (part._referred() for part in parts if isinstance(part, Record))
        if not named(axis) or axis not in {*self.axes, *(one for some in inner for one in some)}:
            raise InstanceError(where, f"has labels along '{axis}', which is no axis with names")
        length = self._length(axis)
        if length not in (None, count):
            rule = f"has {count} labels along '{axis}', which has {length} entries"
            raise InstanceError(where, rule)

    @classmethod
    def _all_of(cls, data: Labelled) -> dict[str, Any]:
        """Take the fields out of what a file holds, and make sure that nothing else was there."""
        known = [one.name for one in cls._fields]
        fields = cls._taken(data)
        for name in sorted({*data.arrays, *data.attributes}):
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "update edgeopt"
            raise InstanceError(name, f"is no field that this {cls.__name__} knows: {hint}")
        return fields

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash(self.fingerprint())
