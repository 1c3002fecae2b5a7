"""Reading instances as tables in long form: a folder or zip file with one CSV file per field."""

from __future__ import annotations

import csv
import io
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.labelled import Labelled
from edgeopt.instances.labels import (
    AXES,
    COUNTED,
    FROM_ORIGIN,
    Given,
    carried,
    long_form,
    named,
    no_label,
)
from edgeopt.instances.numerals import number_of, whole_of
from edgeopt.instances.records import Record
from edgeopt.instances.validate import described, frozen_flags, path_of, real_numbers

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
        one, given = declared.get(str(name)), carried(str(name), value)
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
    found = dict(_zipped(place) if is_zip(place) else _files(place))
    if not found:
        rule = f"holds no tables; 'edgeopt template {cls._kind} --out DIR' writes an example"
        raise InstanceError(str(path), rule)
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
    told = arrays.pop(_FIRST_SLOT, None)
    if told is None and _FIRST_SLOT not in texts:
        return origin
    number = texts.get(_FIRST_SLOT) if told is None else told.values.item()
    if number not in (0, 1):
        raise InstanceError(
            where, f"{_FIRST_SLOT}: must be 0 or 1, the number of the first slot", value=number
        )
    return int(number)


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    if not folder.is_dir():
        raise InstanceError(str(folder), "no such folder")
    for file in sorted(folder.glob("*.csv")):
        try:
            if file.stat().st_size > _LARGEST:
                raise InstanceError(file.name, f"is larger than {_LARGEST} bytes")
            yield file.stem, _decoded(file.name, file.read_bytes())
        except OSError as error:
            raise InstanceError(file.name, f"cannot be read ({error.strerror})") from None


_DAMAGED: Final = (
    OSError, EOFError, RuntimeError, ValueError, LookupError, OverflowError, struct.error,
    zlib.error, lzma.LZMAError, zipfile.BadZipFile,
)  # fmt: skip
# What zipfile raises on damaged archives, depending on which byte is damaged.


def _zipped(path: Path) -> Iterator[tuple[str, str]]:
    try:
        found = _unpacked(path)
    except InstanceError:
        raise
    except FileNotFoundError:
        raise InstanceError(str(path), "no such file") from None
    except _DAMAGED as error:
        reason = str(error) or type(error).__name__
        raise InstanceError(str(path), f"is no readable zip file ({reason})") from None
    for name, content in found.items():
        yield Path(name).stem, _decoded(name, content)


def _unpacked(path: Path) -> dict[str, bytes]:
    """Return the tables of a zip file by name, in whichever of its folders they are."""
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(path) as archive:
        for one in sorted(archive.infolist(), key=lambda one: one.filename):
            name = Path(one.filename).name
            table = name.endswith(".csv")
            if table and one.file_size > _LARGEST:
                raise InstanceError(name, f"is larger than {_LARGEST} bytes")
            if name in found:
                raise InstanceError(str(path), f"holds two files named {name}; keep one")
            # What is no table is read as well, because a damaged name looks like one that is none.
            content = archive.read(one) if one.file_size <= _LARGEST else b""
            found |= {name: content} if table else {}
    return found


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
    if None in texts and one is not None and one.hole is None:
        line = lines[texts.index(None)]
        raise InstanceError(where, f"line {line}: the entry is empty, and may not be left out")
    numbers = [None if text is None else _number(text, one) for text in texts]
    words = [n for n, text in enumerate(texts) if text is not None and numbers[n] is None]
    named_entries = one is not None and bool(one.of) and named(one.of)
    if one is not None and (one.texts or (named_entries and words)):
        return texts
    for n in words[:1]:
        raise InstanceError(where, f"line {lines[n]}: {_no_number(cells[n])}")
    return numbers


def _labels(where: str, axis: str, lines: list[int], cells: list[str]) -> list[Any]:
    """Return the labels of a column: timestamps where they are, otherwise texts."""
    if axis not in COUNTED or not cells:
        return cells
    if re.match(r"\d{4}-\d\d-\d\d", cells[0]):
        return _times(where, axis, lines, cells)
    for line, cell in zip(lines, cells, strict=True):
        if whole_of(cell) is None:
            raise InstanceError(where, f"line {line}: {no_label(cell[:80], axis)}")
    return cells


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
