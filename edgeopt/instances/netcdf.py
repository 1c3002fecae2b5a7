"""Labelled files: NetCDF with dimension names, units, a format version and a content hash.

Every system saves its instances in this one way, and never by pickle.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import mmap
import os
import struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.labels import Labels, as_labels
from edgeopt.instances.validate import described, path_of
from edgeopt.reading import room_of
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

_KIND, _VERSION, _HASH = "edgeopt_kind", "edgeopt_format", "edgeopt_fingerprint"
_LABELS, _LABELS_HASH = "edgeopt_labels", "edgeopt_labels_fingerprint"
_UNREADABLE = (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError)
# What h5py raises on damaged files, depending on which byte is damaged.

_MADE = "_NCProperties"
_ONLY_DIMENSION = b"This is a netCDF dimension but not a netCDF variable"
_NAMESAKE = "_nc4_non_coord_"
# Which library wrote the file, what NetCDF calls an axis that has no numbers of its own, and what
# it puts before the name of an array that is named like one of its axes.


class Variable(NamedTuple):
    """An array with labels."""

    dims: tuple[str, ...]  # name of each axis; equal names stand for equal lengths within a file
    values: ArrayLike
    unit: str = "1"  # unit of the entries, "1" for a pure number
    title: str = ""  # what the entries are, in a few words


class Layout(NamedTuple):
    """What is to be written."""

    kind: str  # which sort of instance the data make up
    version: int  # version of the layout of this kind
    variables: Mapping[str, Variable]
    attributes: Mapping[str, str]

    def fingerprint(self) -> str:
        """Return the hash of the data that the file will carry."""
        arrays = {name: variable.values for name, variable in self.variables.items()}
        return content_hash(self.kind, arrays, self.attributes)


class Labelled(NamedTuple):
    """What a file holds."""

    arrays: dict[str, Any]  # the variables, without their labels
    attributes: dict[str, Any]  # texts that belong to the file as a whole
    labels: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # by axis, where there are any
    notes: tuple[str, ...] = ()  # what was done to the data
    where: str = "the file"  # where they come from, for errors
    partial: bool = False  # whether fields at their default may be left out
    units: Mapping[str, Any] = MappingProxyType({})  # that a file says, by variable

    def require_unit(self, name: str, unit: str) -> None:
        """Refuse a variable whose unit is not the one that was written."""
        found = self.units.get(name, unit)
        if not isinstance(found, str) or found != unit:
            rule = f"must be in {unit!r}: {self.where} says another unit; write it anew"
            raise InstanceError(name, rule, value=described(found))

    def array(self, name: str) -> Any:
        """Return a variable."""
        if name not in self.arrays:
            raise self.without(name)
        return self.arrays[name]

    def text(self, name: str) -> str:
        """Return an attribute as text."""
        if name not in self.attributes:
            raise self.without(name)
        return str(self.attributes[name])

    def without(self, name: str) -> InstanceError:
        """Return the error of a field that is missing, and which other may be meant for it."""
        near = difflib.get_close_matches(name, [*self.arrays, *self.attributes], n=1)
        hint = f", which has {near[0]}: is that meant?" if near else ": add it"
        return InstanceError(name, f"is missing from {self.where}{hint}")


def content_hash(kind: str, arrays: Mapping[str, ArrayLike], attributes: Mapping[str, str]) -> str:
    """Hash names, shapes, types and bytes of all data; labels and units do not count."""
    digest = hashlib.sha256()

    def add(*parts: str | bytes) -> None:
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            # The length in front keeps ("ab", "c") apart from ("a", "bc").
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)

    add(kind)
    for name in sorted(attributes):
        add("attribute", name, attributes[name])
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        portable = array.astype(array.dtype.newbyteorder("<"))
        add("array", name, portable.dtype.str, repr(array.shape), portable.tobytes())
    return digest.hexdigest()


def write(
    path: str | os.PathLike[str],
    layout: Layout,
    labels: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    notes: tuple[str, ...] = (),
) -> None:
    """Write a file that appears under its name only once it is complete."""
    import xarray

    labelled = {
        name: (v.dims, np.asarray(v.values), {"units": v.unit, "long_name": v.title})
        for name, v in layout.variables.items()
    }
    header = {_KIND: layout.kind, _VERSION: layout.version, _HASH: layout.fingerprint()}
    if labels or notes:
        said = json.dumps({"labels": dict(labels), "notes": list(notes)})
        header |= {_LABELS: said, _LABELS_HASH: hashlib.sha256(said.encode()).hexdigest()}
    dataset = xarray.Dataset(labelled, attrs={**header, **layout.attributes})
    encoding = {name: {"_FillValue": None} for name in dataset.variables}
    write_file(path, lambda draft: dataset.to_netcdf(draft, engine="h5netcdf", encoding=encoding))


def read(path: str | os.PathLike[str], kind: str, version: int) -> Labelled:
    """Read a file and check that nothing in it has changed since it was written."""
    where = str(path_of(path))
    if not os.path.isfile(where):
        raise InstanceError(where, "no such file")
    try:
        arrays, attributes, units = _contents(where)
    except _UNREADABLE as error:
        if isinstance(error, InstanceError):
            raise
        from edgeopt.instances.formats import hint  # only failures ask for it

        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InstanceError(
            where, f"is not a readable NetCDF file ({reason}){hint(where, 'netcdf')}"
        ) from error
    found = attributes.pop(_KIND, None)
    if not isinstance(found, str) or found != kind:
        rule = f"must hold an instance of kind {kind!r}"
        raise InstanceError(where, rule, value=described(found))
    stored = attributes.pop(_VERSION, None)
    if isinstance(stored, np.bool_) or not isinstance(stored, np.integer) or stored < 1:
        raise InstanceError(
            f"{where}:{_VERSION}", "must be a whole number, at least 1", value=described(stored)
        )
    if stored > version:
        raise InstanceError(
            where,
            f"is in a newer format than this edgeopt reads (newest known: {version}); update it",
            value=int(stored),
        )
    expected = attributes.pop(_HASH, None)
    said, proof = attributes.pop(_LABELS, None), attributes.pop(_LABELS_HASH, None)
    for name in (*arrays, *attributes):
        _text(where, name)
    texts = {name: _text(f"{where}:{name}", value) for name, value in attributes.items()}
    if not isinstance(expected, str) or content_hash(kind, arrays, texts) != expected:
        raise InstanceError(where, "is damaged: its data do not match its fingerprint")
    if said is None and proof is None:
        return Labelled(arrays, texts, units=units)
    said = _text(f"{where}:{_LABELS}", said)
    if not isinstance(proof, str) or hashlib.sha256(said.encode()).hexdigest() != proof:
        raise InstanceError(where, "is damaged: its labels do not match their fingerprint")
    return Labelled(arrays, texts, *_labels(f"{where}:{_LABELS}", said), units=units)


def _labels(where: str, said: str) -> tuple[dict[str, Labels], tuple[str, ...]]:
    """Return labels by axis, and notes, from how `write` says them."""
    try:
        kept = json.loads(said, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        kept = None
    held: dict[str, Any] = kept if isinstance(kept, dict) else {}
    labels, notes = held.get("labels"), held.get("notes")
    sound = isinstance(labels, dict) and all(map(_are_texts, [*labels.values(), notes]))
    if not sound or labels is None or notes is None:
        raise InstanceError(where, "must hold texts: labels by axis, and notes; save it anew")
    return {axis: as_labels(where, axis, names) for axis, names in labels.items()}, tuple(notes)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return what is said, of which the last of two would hide the first."""
    said = dict(pairs)
    if len(said) < len(pairs):
        raise ValueError("said twice")
    return said


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _text(field: str, value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    # What was no UTF-8 is read as lone surrogates, which cannot be encoded again.
    if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InstanceError(field, "must be a text in UTF-8", value=described(value))
    return value


_HEAP, _OBJECT = struct.Struct("<4sB3xQ"), struct.Struct("<HH4xQ")
# Heads of a global heap and of an object in it, HDF5 File Format Specification 3.0, III.E.


def _require_heaps(where: str) -> None:
    """Refuse a file in which the objects of a global heap, its texts, do not follow one another.

    HDF5 follows their lengths without a check: one that is 0 holds it for ever.
    """
    with open(where, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        start = held.find(b"GCOL")
        while 0 <= start <= len(held) - _HEAP.size:
            _, version, size = _HEAP.unpack_from(held, start)
            end, place = start + size, start + _HEAP.size
            # Numbers may look like the mark of a heap, but hardly like its head, too.
            while start % 8 == 0 and version == 1 and place + _OBJECT.size <= end <= len(held):
                number, _, length = _OBJECT.unpack_from(held, place)
                # The free space, object 0, counts its head; others are followed by up to 7 bytes.
                taken = length if number == 0 else _OBJECT.size + (length + 7) // 8 * 8
                if not 0 < taken <= end - place:
                    raise ValueError("a heap of its texts is damaged")
                place += taken
            start = held.find(b"GCOL", start + 4)


def _contents(where: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any], dict[str, Any]]:
    import h5py

    _require_heaps(where)
    with h5py.File(where, "r") as file:
        room = room_of(os.path.getsize(where))  # `write` packs nothing, others may have
        arrays, units = {}, {}
        for name in file:
            field, dataset = f"{where}:{name}", file.get(name, getlink=True)
            # A link may lead to another file, or in a circle.
            if isinstance(dataset, h5py.HardLink):
                dataset = file[name]
            if not isinstance(dataset, h5py.Dataset) or dataset.external or dataset.is_virtual:
                rule = "must be an array within the file, no group and no link"
                raise InstanceError(field, rule, value=type(dataset).__name__)
            label = dataset.attrs.get("NAME")
            if isinstance(label, bytes) and label.startswith(_ONLY_DIMENSION):
                continue
            if dataset.shape is None or dataset.dtype.kind not in "biuf":
                raise InstanceError(field, "must hold numbers", value=f"dtype {dataset.dtype}")
            room -= dataset.nbytes
            if room < 0:
                raise InstanceError(
                    field,
                    f"declares more numbers than a file of {os.path.getsize(where)} bytes may hold",
                    value=f"{dataset.nbytes} bytes",
                )
            kind = dataset.attrs.get("dtype")  # NetCDF has no type for truth values
            flags = isinstance(kind, str) and kind == "bool"
            own = name.removeprefix(_NAMESAKE)
            arrays[own] = np.asarray(dataset[()], dtype=np.bool_ if flags else None)
            if "units" in dataset.attrs:
                units[own] = _attribute(dataset.attrs["units"])
        said = {name: _attribute(file.attrs[name]) for name in file.attrs if name != _MADE}
        return arrays, said, units


def _attribute(value: Any) -> Any:
    """Undo what NetCDF does to attributes: a number is an array of one, an empty text nothing."""
    if isinstance(value, np.ndarray) and value.shape == (1,):
        return value[0]
    empty = getattr(value, "shape", ()) is None and value.dtype.kind in "SO"
    return "" if empty else value
