"""Writing the tables of an instance, and the text that explains them."""

from __future__ import annotations

import csv
import io
import math
import os
import textwrap
import typing
import zipfile
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.errors import InstanceError, OutputError
from edgeopt.instances.fields import Flags, Integers
from edgeopt.instances.labels import COUNTED, KNOWN, listed
from edgeopt.instances.sheets import KIND, SETTINGS, fields_of_tables
from edgeopt.instances.validate import check_probabilities
from edgeopt.writing import Folder, write_file

if TYPE_CHECKING:
    from edgeopt.instances.fields import Field

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
    sheets[f"{SETTINGS}.csv"] = _csv(settings)
    sheets["README.txt"] = _explained(instance, said)
    return sheets


def _sheet(instance: Any, axes: tuple[str, ...], values: Any, unit: str, one: Field | None) -> str:
    labels = [_called(instance, axis, n) for axis, n in zip(axes, values.shape, strict=True)]
    meant = _labels_of(instance, one.of) if one is not None and one.of else ()
    hole = None if one is None else one.hole
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
    return _csv(rows)


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


def _csv(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


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
    if one.says:
        return f"It {one.says}."
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
