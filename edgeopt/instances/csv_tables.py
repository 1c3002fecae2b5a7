"""Instances as tables in long form, one CSV file per field: read and written."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import struct
import textwrap
import typing
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.errors import InstanceError, OutputError
from edgeopt.instances.fields import Flags, Integers
from edgeopt.instances.labels import (
    AXES,
    COUNTED,
    FROM_ORIGIN,
    KNOWN,
    TIMED,
    Given,
    extract_labels,
    listed,
    long_form,
    named,
    no_label,
)
from edgeopt.instances.netcdf import Labelled
from edgeopt.instances.numerals import number_of, whole_of
from edgeopt.instances.records import Record
from edgeopt.instances.validate import (
    check_probabilities,
    described,
    frozen_flags,
    path_of,
    real_numbers,
)
from edgeopt.reading import content_of, room_of
from edgeopt.writing import Folder, write_file
from edgeopt.writing.results import csv_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.instances.fields import Field
    from edgeopt.instances.instance import Instance


SETTINGS: Final = "settings"
"""Name of the table of numbers and texts."""

KIND: Final = "edgeopt_kind"
"""Name of the text there that tells of which system an instance is."""

_FIRST_SLOT: Final = "first_slot"  # the setting that tells the number of the first slot
_HOLES: Final = ("", "-")
_OTHER_FORMATS: Final = (
    ".tsv", ".txt", ".xls", ".xlsx", ".xlsm", ".ods", ".json", ".parquet", ".feather", ".dat",
)  # fmt: skip
_MAC: Final = "__MACOSX"  # folder of what archivers of a Mac note beside the files
_LARGEST: Final = 2**30  # bytes of a table


def gathered(cls: Any, data: Any, origin: int) -> Labelled:
    """Sort what `from_labelled` is given into arrays and texts."""
    if not isinstance(data, Mapping):  # a Dataset is one too, of coordinates and variables
        rule = "must be an xarray.Dataset or a mapping from fields to tables"
        raise InstanceError("data", rule, value=described(data))
    variables, declared = getattr(data, "data_vars", data), dict(fields_of_tables(cls))
    attributes = getattr(data, "attrs", {})
    texts = {
        name: value for name, value in attributes.items() if not str(name).startswith("edgeopt_")
    }
    arrays: dict[str, Any] = {}
    for name, value in variables.items():
        if value is None:  # at its default
            continue
        one, given = declared.get(str(name)), extract_labels(str(name), value)
        if given is not None:
            value = given.counted_from(origin, "" if one is None else one.of)
        elif origin and one is not None and one.of in FROM_ORIGIN:
            value = real_numbers(str(name), value) - origin
        place = texts if isinstance(value, str) or _are_texts(cls, str(name)) else arrays
        place[str(name)] = value
    return Labelled(arrays, texts, where="the data", partial=True)


def _are_texts(cls: Any, name: str) -> bool:
    return any(one.texts for one in cls._fields if one.name == name)


def is_zip(path: object) -> bool:
    """Return whether a path is that of a zip file."""
    return isinstance(path, str | os.PathLike) and os.fspath(path)[-4:] in (".zip", ".ZIP")


def holds_tables(path: object) -> bool:
    """Return whether a path is that of a folder or of a zip file."""
    return is_zip(path) or (isinstance(path, str | os.PathLike) and os.path.isdir(path))


# --- reading -------------------------------------------------------------------------------


def read_folder(path: str | os.PathLike[str], cls: type[Instance], origin: int = 0) -> Labelled:
    """Read all tables of a folder, or of a zip file."""
    place, declared = path_of(path), dict(fields_of_tables(cls))
    arrays: dict[str, Any] = {}
    texts: dict[str, Any] = {}
    names = {SETTINGS, *declared}
    found = dict(_zipped(place, names) if is_zip(place) else _files(place, names))
    if names.isdisjoint(found):
        from edgeopt.instances.formats import hint  # only failures ask for it

        rule = f"holds no tables; 'edgeopt template {cls._kind} --out DIR' writes an example"
        raise InstanceError(str(path), rule + hint(place, "folder"))
    where = f"{SETTINGS}.csv"
    for line, row in _rows(where, found.pop(SETTINGS, "")):
        _setting(where, line, row, declared, arrays, texts)
    kind = texts.pop(KIND, cls._kind)
    if kind != cls._kind:
        raise InstanceError(str(path), f"holds an instance of {kind}, not of {cls._kind}")
    origin = _origin(where, arrays, texts, origin)
    for name, text in found.items():
        one = declared.get(name)
        given = _table(f"{name}.csv", name, _rows(f"{name}.csv", text), one)
        place_of = texts if one is not None and one.texts else arrays
        place_of[name] = given.counted_from(origin, "" if one is None else one.of)
    return Labelled(arrays, texts, where=f"the folder {place.name}", partial=True)


def fields_of_tables(
    record: Record | type[Record], prefix: str = ""
) -> Iterator[tuple[str, Field]]:
    """Go through the fields of a record or class and of its parts, under the names of files."""
    for one in record._fields:
        usual = record._usual.get(one.name, one.type)
        part = usual if isinstance(record, type) else getattr(record, one.name)
        if isinstance(part, Record) or (isinstance(part, type) and issubclass(part, Record)):
            yield from fields_of_tables(part, f"{prefix}{one.name}_")
        else:
            yield prefix + one.name, one


def _origin(where: str, arrays: dict[str, Any], texts: dict[str, Any], origin: int) -> int:
    """Return the number of the first slot, which settings may tell."""
    given = arrays.pop(_FIRST_SLOT, None)
    if given is None and _FIRST_SLOT not in texts:
        return origin
    number = texts.get(_FIRST_SLOT) if given is None else given.values.item()
    if number not in (0, 1):
        raise InstanceError(
            where, f"{_FIRST_SLOT}: must be 0 or 1, the number of the first slot", value=number
        )
    return int(number)


def _files(folder: Path, names: Collection[str]) -> Iterator[tuple[str, str]]:
    if not folder.is_dir():
        raise InstanceError(str(folder), "no such folder")
    found: dict[str, None] = {}
    for file in sorted(one for one in folder.iterdir() if _is_table(one.name, names)):
        _require_new(folder, file.name, found)
        found[file.name] = None
        try:
            if file.stat().st_size > _LARGEST:
                raise InstanceError(file.name, f"is larger than {_LARGEST} bytes")
            yield file.stem, _decoded(file.name, content_of(file))
        except OSError as error:
            raise InstanceError(file.name, f"cannot be read ({error.strerror})") from None


def _is_table(name: str, names: Collection[str]) -> bool:
    """Return whether a file is a table, and none of those that archivers of a Mac put beside it.

    A table of a field in another format is refused: what it says would be left out.
    """
    path = Path(name)
    if path.stem in names and path.suffix.lower() in _OTHER_FORMATS:
        raise InstanceError(name, f"is no table in CSV; save it as {path.stem}.csv")
    return path.suffix.lower() == ".csv" and not name.startswith("._")


def _require_new(where: Path, name: str, others: Mapping[str, Any]) -> None:
    """Refuse a second table of one field."""
    for other in others:
        if Path(other).stem == Path(name).stem:
            both = f"two files named {name}" if other == name else f"both {other} and {name}"
            raise InstanceError(str(where), f"holds {both}; keep one")


_DAMAGED: Final = (
    OSError, EOFError, RuntimeError, ValueError, LookupError, OverflowError, struct.error,
    zlib.error, zipfile.BadZipFile,
)  # fmt: skip
# What zipfile raises on damaged archives, depending on which byte is damaged.


def _zipped(path: Path, names: Collection[str]) -> Iterator[tuple[str, str]]:
    if not path.is_file():
        raise InstanceError(str(path), "no such file")
    try:
        found = _unpacked(path, names)
    except InstanceError:
        raise
    except _DAMAGED as error:
        reason = str(error) or type(error).__name__
        raise InstanceError(str(path), f"is no readable zip file ({reason})") from None
    for name, content in found.items():
        yield Path(name).stem, _decoded(name, content)


def _unpacked(path: Path, names: Collection[str]) -> dict[str, bytes]:
    """Return the tables of a zip file by name, in whichever of its folders they are."""
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(path) as archive:
        members = _members(path, archive)
        for one in sorted(members, key=lambda one: one.filename):
            name = Path(one.filename).name
            table = _is_table(name, names) and _MAC not in Path(one.filename).parts
            if table:
                _require_new(path, name, found)
            # What is no table is read as well, because a damaged name looks like one that is none.
            with archive.open(one) as packed:
                # Whatever the member goes on to hold, it is not inflated beyond what it declares.
                content = packed.read(one.file_size + 1)
            found |= {name: content} if table else {}
    return found


_PACKED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Ways to pack of which no more is inflated than is asked for."""

_RARE: Final = "is packed in a rare way; pack it by deflate, as is usual"


def _members(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members of a zip file: all that it counts, and no more than it may hold."""
    members, room = archive.infolist(), min(_LARGEST, room_of(path.stat().st_size))
    # A damaged length of an entry swallows the next ones, and `zipfile` does not count.
    with open(path, "rb") as file:
        file.seek(-min(path.stat().st_size, _END.size + _MOST_COMMENT), os.SEEK_END)
        tail = file.read()
    (counted,) = _END.unpack_from(tail, tail.rfind(b"PK\5\6"))
    if counted not in (len(members), 2**16 - 1):
        raise zipfile.BadZipFile(f"it counts {counted} files, but lists {len(members)}")
    for one in members:
        if one.compress_type not in _PACKED:
            raise InstanceError(one.filename, _RARE)
        room -= one.file_size
        if room < 0:
            size = sum(one.file_size for one in members)
            rule = "holds more than tables so small can unpack to; unpack it and name the folder"
            raise InstanceError(str(path), rule, value=f"{size} bytes")
    return members


_END: Final = struct.Struct("<10xH10x")
"""The end of a zip file, which says how many members there are."""

_MOST_COMMENT: Final = 2**16
"""Bytes of the comment behind it."""


def _decoded(where: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InstanceError(where, f"must be in UTF-8: byte {error.start} is not") from None


def _rows(where: str, text: str) -> list[tuple[int, list[str]]]:
    try:
        reader = csv.reader(io.StringIO(text), strict=True)
        return [
            (reader.line_num, [cell.strip() for cell in row])
            for row in reader
            if any(cell.strip() for cell in row)
        ]
    except csv.Error as error:
        raise InstanceError(where, f"line {reader.line_num}: {error}") from None


def _setting(
    where: str,
    line: int,
    row: list[str],
    declared: Mapping[str, Field],
    arrays: dict[str, Any],
    texts: dict[str, Any],
) -> None:
    if row[:2] == ["name", "value"]:
        return
    if len(row) not in (2, 3) or not row[0]:
        raise InstanceError(where, f"line {line}: must be a name, a value, and maybe a unit")
    name, text, unit = (*row, "")[:3]
    if name in arrays or name in texts:
        raise InstanceError(where, f"line {line}: {name} stands twice; keep one")
    one = declared.get(name)
    value = _number(text, one)
    if value is None and one is not None and one.freeze is not None:
        raise InstanceError(where, f"line {line}: {name}: {_no_number(text)}")
    if value is None or (one is not None and one.freeze is None):
        texts[name] = text.replace("\\n", "\n")
    else:
        arrays[name] = Given(np.asarray(value), (), (), unit or None)


def _number(text: str, one: Field | None) -> float | None:
    """Return the number of a cell, a truth value only where the field may hold one."""
    if text.lower() in ("true", "false") and (one is None or one.freeze is frozen_flags):
        return float(text.lower() == "true")
    return number_of(text)


def _no_number(text: str) -> str:
    hint = "; write decimals with a point, and thousands without a mark" if "," in text else ""
    return f"{text[:80]!r} is no number{hint}"


def _table(where: str, name: str, rows: list[tuple[int, list[str]]], one: Field | None) -> Given:
    if not rows:
        raise InstanceError(where, "is empty; its first line names the axes and 'value [unit]'")
    *axes, last = rows.pop(0)[1]
    heading = re.fullmatch(r"value(?:\s*\[(.*)\])?", last)
    if heading is None or not axes or "" in axes or len(set(axes)) < len(axes):
        rule = "first line must be the names of the axes, then 'value [unit]'"
        rule += ", separated by commas, not by ';'" if ";" in last else ""
        raise InstanceError(where, rule, value=",".join([*axes, last])[:80])
    if len(axes) > AXES:
        rule = f"first line must name at most {AXES} axes, then 'value [unit]'"
        raise InstanceError(where, rule, value=f"{len(axes)} axes")
    default = None
    if rows and len(rows[0][1]) == 1 and rows[0][1][0].startswith("default="):
        line, [text] = rows.pop(0)
        default = _number(text.removeprefix("default="), one)
        if default is None:
            raise InstanceError(where, f"line {line}: the default must be a number", value=text)
    for line, row in rows:
        if len(row) != len(axes) + 1:
            rule = f"line {line}: must have {len(axes) + 1} cells ({', '.join(axes)}, value)"
            raise InstanceError(where, rule, value=f"{len(row)} cells")
    lines = [line for line, _ in rows]
    columns = [
        _labels(where, axis, lines, [row[n] for _, row in rows]) for n, axis in enumerate(axes)
    ]
    values = _values(where, lines, [row[-1] for _, row in rows], one)
    return long_form(name, tuple(axes), columns, values, heading[1] or None, default)


def _values(where: str, lines: list[int], cells: list[str], one: Field | None) -> list[Any]:
    """Return the entries of a table: numbers, or texts where entries are texts or have names."""
    texts = [None if cell in _HOLES else cell for cell in cells]
    if None in texts and one is not None and one.missing is None:
        line = lines[texts.index(None)]
        raise InstanceError(where, f"line {line}: the entry is empty, and may not be left out")
    numbers = [None if text is None else _number(text, one) for text in texts]
    words = [n for n, text in enumerate(texts) if text is not None and numbers[n] is None]
    named_entries = one is not None and bool(one.of) and named(one.of)
    if words and one is not None and one.of in FROM_ORIGIN and all(map(_TIME.match, cells)):
        return _times(where, one.of, lines, cells)
    if one is not None and (one.texts or (named_entries and words)):
        return texts
    for n in words[:1]:
        raise InstanceError(where, f"line {lines[n]}: {_no_number(cells[n])}")
    return numbers


def _labels(where: str, axis: str, lines: list[int], cells: list[str]) -> list[Any]:
    """Return the labels of a column: timestamps where they are, otherwise texts."""
    if axis not in COUNTED or not cells:
        return cells
    if axis in TIMED and re.match(r"\d{4}-\d\d-\d\d", cells[0]):
        return _times(where, axis, lines, cells)
    for line, cell in zip(lines, cells, strict=True):
        if whole_of(cell) is None:
            raise InstanceError(where, f"line {line}: {no_label(cell[:80], axis)}")
    return cells


_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d", re.ASCII)  # a date alone is none


def _times(where: str, axis: str, lines: list[int], cells: list[str]) -> list[Any]:
    """Return the timestamps of a column."""
    import pandas

    try:
        stamps = pandas.to_datetime(cells, errors="coerce")
    except (ValueError, TypeError):
        rule = f"the times along '{axis}' are in several zones; use one zone"
        raise InstanceError(where, rule) from None
    for n in np.flatnonzero(stamps.isna())[:1]:
        rule = (
            f"line {lines[n]}: {cells[n][:80]!r} along '{axis}' is no time like {cells[0][:80]!r}"
        )
        raise InstanceError(where, rule)
    return list(stamps)


_COMMAND: Final = "template"
_SPARSE: Final = 0.5  # share of equal entries from which a table leaves them out
_FEW: Final = 8  # entries that are always written


def write_folder(instance: Any, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write the tables of an instance to a folder."""
    folder = Folder(path, _COMMAND, force=force)
    if not force and any(folder.path.glob("*.csv")):
        raise OutputError(
            f"{os.fspath(path)} exists; --force replaces it (force=True in Python): its tables may "
            "have been changed"
        )
    for name, text in _sheets(instance).items():
        folder.write(name, text)


def write_zip(instance: Any, path: str | os.PathLike[str]) -> None:
    """Write the tables of an instance to a zip file, the same bytes for the same instance."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _sheets(instance).items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    write_file(path, packed.getvalue())


def _sheets(instance: Any) -> dict[str, str]:
    variables, texts = instance._content()
    fields = dict(fields_of_tables(instance))
    sheets, settings, said = {}, [["name", "value", "unit"], [KIND, instance._kind, ""]], []
    for name, variable in variables.items():
        if name in instance._implied:
            continue
        values, one = np.asarray(variable.values), fields.get(name)
        kept = [n for n, axis in enumerate(variable.dims) if not axis.startswith("any_")]
        axes = tuple(variable.dims[n] for n in kept)
        if any(axis.startswith(f"{name}_") for axis in axes):
            rule = "is a model of your own, which tables cannot hold; save the instance as .nc"
            raise InstanceError(name.partition("_")[0], rule)
        values = values.reshape([values.shape[n] for n in kept])
        if not axes:
            unit = "" if variable.unit == "1" else variable.unit
            settings.append([name, _written(values.item()), unit])
        else:
            sheets[f"{name}.csv"] = _sheet(instance, axes, values, variable.unit, one)
        said.append((name, f"{name}.csv" if axes else f"{SETTINGS}.csv", one))
    for name, text in texts.items():
        one = fields.get(name)
        if one is not None and one.texts:
            names = np.array(text.split("\n"), dtype=object)
            sheets[f"{name}.csv"] = _sheet(instance, one.axes, names, "1", None)
        elif text:
            settings.append([name, text.replace("\n", "\\n"), ""])
        said.append((name, f"{name}.csv" if one is not None and one.texts else "settings.csv", one))
    sheets[f"{SETTINGS}.csv"] = csv_text(settings)
    sheets["README.txt"] = _explained(instance, said)
    return sheets


def _sheet(instance: Any, axes: tuple[str, ...], values: Any, unit: str, one: Field | None) -> str:
    labels = [_called(instance, axis, n) for axis, n in zip(axes, values.shape, strict=True)]
    meant = _labels_of(instance, one.of) if one is not None and one.of else ()
    hole = None if one is None else one.missing
    heading = "value" if unit == "1" else f"value [{unit}]"
    rows = [[*axes, heading]]
    flat = values.ravel()
    default = None
    if flat.dtype != np.object_ and flat.size > _FEW and hole is None and not meant:
        common, counts = np.unique(flat, return_counts=True)
        if counts.max() > _SPARSE * flat.size and all(n > 0 for n in values.shape):
            default = common[counts.argmax()]
            # Labels that no line would name must not be lost.
            rows.append([f"default={_written(default.item())}"])
    first = {
        tuple(n if k == axis else 0 for k in range(values.ndim))
        for axis, count in enumerate(values.shape)
        for n in range(count)
    }
    for index in np.ndindex(values.shape):
        value = values[index]
        if (default is not None and value == default and index not in first) or value == hole:
            continue
        entry = value if isinstance(value, str) else _written(value.item())
        if meant:
            entry = meant[int(value)]
        rows.append([*(names[n] for names, n in zip(labels, index, strict=True)), entry])
    return csv_text(rows)


def _labels_of(instance: Any, axis: str) -> tuple[str, ...]:
    """Return the labels of an axis, none where it has numbers."""
    found: tuple[str, ...] = instance.labels.get(instance._first_alike(axis), ())
    return KNOWN.get(axis) or found


def _called(instance: Any, axis: str, length: int) -> tuple[str, ...]:
    """Return the labels of an axis, or its numbers."""
    first = COUNTED.get(axis, 0)
    return _labels_of(instance, axis) or tuple(map(str, range(first, first + length)))


def _written(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value)) if not math.copysign(1, value) < 0 or value else "-0.0"
    return repr(value)


_ABOUT: Final = """\
Tables of {a} instance. Each file but settings.csv holds one field, an entry per line: the labels
of its axes, then the value. The first line names the axes, in any order, and the unit, which may be
any that differs from the one below by a factor. Lines may stand in any order.

Axes that count, such as slots, have numbers (from 0, durations from 1){times}. Where the first slot
or frame is number 1, settings.csv says so by a line 'first_slot,1'.
All others have labels of your choice; the fields must agree on them. An empty cell or '-' is an
entry that does not exist. 'default=0' in the second line stands for all entries without a line of
their own. Fields at their default may be left out.

    edgeopt study {kind} --instance THIS_FOLDER
"""


def _rule(one: Field) -> str:
    """Say in words which entries a field takes."""
    if one.of:
        numbers = f"numbers of {one.of}s, from {COUNTED.get(one.of, 0)}"
        return f"Entries are {numbers if one.of in COUNTED else f'labels of {one.of}s'}."
    if one.message:
        return f"It {one.message}."
    if one.texts or one.type is str:
        return "Any text of one line." if one.texts else "Any text."
    words = []
    if one.type in (Flags, bool):
        words.append("0 or 1")
    elif one.type in (Integers, int):
        words.append("whole")
    if typing.get_origin(one.type) is Literal:
        words.append(f"one of {', '.join(typing.get_args(one.type))}")
    if one.above is not None:
        words.append(f"above {one.above:g}")
    elif one.least is not None:
        words.append("not negative" if one.least == 0 else f"at least {one.least:g}")
    if one.most is not None:
        words.append(f"at most {one.most:g}")
    if one.check is check_probabilities:
        words.append("probabilities")
    said = (", ".join(words) or "finite numbers") + (" or inf" if one.infinite else "")
    return f"Entries are {said}."


def _explained(instance: Any, said: list[tuple[str, str, Field | None]]) -> str:
    counts = {axis for _, _, one in said if one is not None for axis in one.axes}
    times = " or evenly spaced timestamps" if counts & {"slot", "frame"} else ""
    article = "an" if instance._kind[0] in "aeiou" else "a"
    text = _ABOUT.format(a=f"{article} {instance._kind}", kind=instance._kind, times=times)
    parts = [text]
    for name, file, one in said:
        if one is None:
            continue
        lines = textwrap.wrap(f"{one.doc} {_rule(one)}".strip(), 92)
        axes = f"  axes: {', '.join(one.axes)}" if one.axes else ""
        unit = f"  unit: {one.unit}" if one.unit != "1" else ""
        body = textwrap.indent("\n".join(lines), "    ")
        parts.append(f"{file}: {name}{axes}{unit}\n{body}\n")
    left = [
        one.name
        for one in instance._fields
        if one.optional and one.name not in {name for name, _, _ in said}
    ]
    if left:
        parts.append(f"Fields that are left out here: {listed(left)}\n")
    return "\n".join(parts)
