"""Files, archives and folders of tables whose form, content or bytes somebody has changed."""

from __future__ import annotations

import hashlib
import zipfile
from functools import partial
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.instances import netcdf as labelled
from edgeopt.instances.netcdf import Layout, Variable
from tests.fuzz.driver import Case, check, count, source
from tests.fuzz.hostile import spoiled
from tests.fuzz.test_constructors import SMALL, uses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SYSTEMS: dict[str, Any] = {
    "rescue": (lambda seed: rescue.small(seed), rescue.RescueInstance),
    "logarithmic": (
        lambda seed: rescue.generate(rng=seed, **SMALL),
        rescue.RescueInstance,
    ),
    "idn": (lambda seed: idn.small(seed), idn.IdnInstance),
    "edr": (lambda seed: edr.small(seed), edr.EdrInstance),
    "oinc": (lambda seed: oinc.small(seed), oinc.OincInstance),
    "tapfinger": (lambda seed: tapfinger.small(seed), tapfinger.TapFingerInstance),
}

TEXT, LATIN = h5py.string_dtype(), h5py.string_dtype("utf-8", 4)
VALUES: tuple[Any, ...] = (
    "abc", "", "9" * 5000, b"abc", np.array(["a", "b"], object), [1, 2], np.arange(300), [], 2.5,
    float("nan"), float("inf"), -1, 0, 10**18, 1j, True, np.bytes_(b"\xff\xfe"), np.float16(1),
    np.array([b"\xff\xfe\x80"], "S3"), h5py.Empty("f"), h5py.Empty("S1"),
    np.zeros(2, [("a", float)]), np.void(b"\xff\x00"), np.datetime64("2020").astype("int64"),
)  # fmt: skip
DOORS = 3
"""Ways to save an instance: a file, an archive, and a folder of tables."""

HEADER = ("edgeopt_kind", "edgeopt_format", "edgeopt_fingerprint")
OWN = ("origin", "names", "kinds", "round_delay", "arrivals", "beyond", "profit_model", "foreign")


def attribute(path: Path, draw: np.random.Generator) -> str:
    """Set an attribute of the file to what it should not be."""
    names = HEADER if draw.random() < 0.6 else OWN
    name = names[int(draw.integers(len(names)))]
    value = VALUES[int(draw.integers(len(VALUES)))]
    with h5py.File(path, "r+") as file:
        file.attrs.pop(name, None)
        if draw.random() < 0.9:
            file.attrs[name] = value
    return f"attribute {name} = {value!r}"


def foreign_text(path: Path, draw: np.random.Generator) -> str:
    """Write bytes that are not UTF-8 where a text of variable length stands."""
    name = (*HEADER, *OWN)[int(draw.integers(11))]
    with h5py.File(path, "r+") as file:
        file.attrs.pop(name, None)
        file.attrs.create(name, b"caf\xe9", dtype=(TEXT, LATIN)[int(draw.integers(2))])
    return f"attribute {name} = b'caf\\xe9'"


def label(path: Path, draw: np.random.Generator) -> str:
    """Spoil what HDF5 and NetCDF say about a variable: its axes, fill value or coding."""
    names = (
        "DIMENSION_LIST", "_Netcdf4Dimid", "CLASS", "NAME", "_FillValue", "units", "coordinates",
        "scale_factor", "add_offset", "dtype", "_Unsigned", "missing_value", "calendar",
    )  # fmt: skip
    name = names[int(draw.integers(len(names)))]
    value = VALUES[int(draw.integers(len(VALUES)))]
    with h5py.File(path, "r+") as file:
        variable = list(file)[int(draw.integers(len(file)))]
        file[variable].attrs.pop(name, None)
        if draw.random() < 0.8:
            file[variable].attrs[name] = value
    return f"{variable}:{name} = {value!r}"


def stored(path: Path, draw: np.random.Generator) -> str:
    """Replace a variable by something else, or add something."""
    with h5py.File(path, "r+") as file:
        variable = list(file)[int(draw.integers(len(file)))]
        name = variable if draw.random() < 0.7 else "foreign"
        if name in file:
            del file[name]
        way = int(draw.integers(len(STORED)))
        STORED[way](file, name, path)
    return f"{name}: way {way} to store it"


def _vast(shape: tuple[int, ...], **options: Any) -> Callable[[h5py.File, str, Path], None]:
    return lambda file, name, _: file.create_dataset(
        name, shape, "f8", chunks=tuple(min(n, 64) for n in shape), **options
    )


def _outside(file: h5py.File, name: str, _: Path) -> None:
    file.create_dataset(name, (8,), "u1", external=[("/dev/zero", 0, h5py.h5f.UNLIMITED)])


def _virtual(file: h5py.File, name: str, path: Path) -> None:
    layout = h5py.VirtualLayout((4,), "f8")
    layout[:] = h5py.VirtualSource(str(path), "elsewhere", (4,))
    file.create_virtual_dataset(name, layout)


STORED: tuple[Callable[[h5py.File, str, Any], Any], ...] = (
    _vast((9 * 10**9 // 8,)), _vast((10**12,)), _vast((2**20,) * 3), _vast((10**9, 10**9)),
    _vast((9 * 10**8,), compression="gzip"), _vast((3 * 10**8,), fillvalue=1.0, compression="lzf"),
    _outside, _virtual,
    lambda file, name, path: file.create_group(name),
    lambda file, name, path: file.create_dataset(f"{name}/inside", data=[1.0]),
    lambda file, name, path: file.__setitem__(name, h5py.SoftLink("/nowhere")),
    lambda file, name, path: file.__setitem__(name, h5py.SoftLink(f"/{name}")),
    lambda file, name, path: file.__setitem__(name, h5py.ExternalLink(str(path), "/elsewhere")),
    lambda file, name, path: file.__setitem__(name, h5py.ExternalLink("missing.nc", "/a")),
    lambda file, name, path: file.__setitem__(name, np.dtype("f8")),
    lambda file, name, path: file.create_dataset(name, data=["a", "b"], dtype=TEXT),
    lambda file, name, path: file.create_dataset(name, data=[b"\xff"], dtype=TEXT),
    lambda file, name, path: file.create_dataset(name, data=[1j]),
    lambda file, name, path: file.create_dataset(name, data=np.zeros(2, [("a", "f8")])),
    lambda file, name, path: file.create_dataset(name, data=h5py.Empty("f8")),
    lambda file, name, path: file.create_dataset(name, (3,), h5py.vlen_dtype(np.int32)),
    lambda file, name, path: file.create_dataset(name, (3,), h5py.ref_dtype),
    lambda file, name, path: file.create_dataset(name, data=np.zeros(3, "V5")),
    lambda file, name, path: file.create_dataset(name, data=np.zeros(3, bool)),
    lambda file, name, path: file.create_dataset(name, data=np.zeros((1,) * 20)),
    lambda file, name, path: file.create_dataset(name, data=7),
    lambda file, name, path: file.create_dataset(name, data=np.zeros(0)),
    lambda file, name, path: file.create_dataset(name, data=np.full(3, np.nan, "f2")),
)  # fmt: skip


def data(path: Path, draw: np.random.Generator) -> str:
    """Change some bytes, cut some off, or add some."""
    content = bytearray(path.read_bytes())
    way = int(draw.integers(7))
    at = int(draw.integers(len(content)))
    if way == 0:
        content = content[:at]
    elif way == 1:
        for place in draw.integers(0, len(content), 20).tolist():
            content[place] = int(draw.integers(256))
    elif way == 2:
        content[at : at + 64] = bytes(64)
    elif way == 3:
        content[at:at] = bytes(draw.integers(0, 256, 30).tolist())
    elif way == 4:
        # The front holds what HDF5 needs to find the rest.
        content[int(draw.integers(min(2048, len(content))))] ^= 1 << int(draw.integers(8))
    elif way == 5:
        # The end holds what an archive needs.
        content[-1 - int(draw.integers(min(2048, len(content))))] ^= 1 << int(draw.integers(8))
    else:
        content = bytearray((b"", b"a,b\n1,2\n", b"\x89HDF\r\n\x1a\n", b"\x00" * 99)[at % 4])
    path.write_bytes(bytes(content))
    return f"bytes, way {way} at {at}"


SAID: tuple[Any, ...] = (
    "", "[]", "null", "3", "{", "{}", '"a"', "[" * 10**5, '{"labels": 1, "notes": []}',
    '{"labels": {}}', '{"labels": [], "notes": []}',
    '{"labels": {"slot": ["0", "1"]}, "notes": []}',
    '{"labels": {"nowhere": ["a"]}, "notes": []}', '{"labels": {"server": "ab"}, "notes": []}',
    '{"labels": {"server": ["a", "a"]}, "notes": []}', '{"labels": {"site": [1]}, "notes": []}',
    '{"labels": {"server": []}, "notes": ["a"]}', '{"labels": {}, "notes": "a"}',
    '{"labels": {"node": [null]}, "notes": []}', '{"labels": {}, "notes": [[]]}', *VALUES,
)  # fmt: skip


def said(path: Path, draw: np.random.Generator) -> str:
    """Write labels and notes that are none, with the hash that belongs to them."""
    value = SAID[int(draw.integers(len(SAID)))]
    text = value if isinstance(value, str) else "{}"
    with h5py.File(path, "r+") as file:
        for name in ("edgeopt_labels", "edgeopt_labels_fingerprint"):
            file.attrs.pop(name, None)
        file.attrs["edgeopt_labels"] = value
        proof = hashlib.sha256(text.encode()).hexdigest()
        file.attrs["edgeopt_labels_fingerprint"] = proof if draw.random() < 0.9 else value
    return f"labels {str(value)[:80]!r}"


WAYS = (attribute, attribute, foreign_text, label, stored, stored, data, data, said)


def labelled_one(make: Callable[[int], Any], draw: np.random.Generator) -> Any:
    """Draw an instance, half of the time with labels."""
    made = make(int(draw.integers(9)))
    if draw.random() < 0.5:
        return made
    return made.with_labels(
        {axis: [f"{axis} {n}" for n in range(k)] for axis, k in made.axes.items()}
    )


def changed(system: str, folder: Path) -> Iterator[Case]:
    make, kind = SYSTEMS[system]
    draw = source("files", system)
    for n in range(count("files", len(SYSTEMS) * DOORS)):
        path = folder / f"{system}-{n}.nc"
        base = labelled_one(make, draw)
        if n % 4 == 3:
            # Somebody who knows the format makes up the fingerprint, too.
            how = forged(path, base._layout(), draw)
        else:
            base.save(path)
            how = WAYS[int(draw.integers(len(WAYS)))](path, draw)
        # What carries the hash of its data is refused, or equal.
        right = None if n % 4 == 3 else base.__eq__
        yield Case(f"{system}: {how}", partial(loaded, kind, path), right=right)
        path.unlink(missing_ok=True)


def loaded(kind: Any, path: Path) -> Any:
    """Read an instance, and use it."""
    made = kind.load(path)
    uses(made)
    return made


def repacked(path: Path, draw: np.random.Generator) -> str:
    """Pack the tables of an archive anew, one of them as something else."""
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    packed, name = path.read_bytes(), list(held)[int(draw.integers(len(held)))]
    way = int(draw.integers(5))
    with zipfile.ZipFile(path, "w") as archive:
        for own, content in ({"inner.zip": packed} if way == 0 else held).items():
            archive.writestr(own, packed if own == name and way == 1 else content)
        if way == 2:
            archive.writestr(f"again/{name}", held[name])
        elif way == 3:
            archive.comment = b"\xff" * 99
        elif way == 4:
            archive.mkdir("folder.csv")
    return f"packed, way {way} with {name}"


def archived(system: str, folder: Path) -> Iterator[Case]:
    make, kind = SYSTEMS[system]
    draw = source("files", system, "zip")
    for n in range(count("files", len(SYSTEMS) * DOORS)):
        path, base = folder / f"{n}.zip", labelled_one(make, draw)
        base.save(path)
        how = (data, data, repacked)[int(draw.integers(3))](path, draw)
        yield Case(f"{system}: zip, {how}", partial(loaded, kind, path), right=base.__eq__)


WORDS = (
    "", "-", "nan", "NA", "#REF!", "1,000", '"', '""', "1e999", "-1", "--5", "\u00b2", "9" * 5000,
    "2024-01-05", "True", "inf", "\x00", "'", " ", "a\nb", "default=0", "0x10", "1_0", "\ud7ff",
)  # fmt: skip


def cell(path: Path, draw: np.random.Generator) -> str:
    """Write something else into a cell, or several of a column."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    row, word = rows[int(draw.integers(len(rows)))], WORDS[int(draw.integers(len(WORDS)))]
    column = int(draw.integers(len(row)))
    for one in rows if draw.random() < 0.2 else [row]:
        one[min(column, len(one) - 1)] = word
    path.write_text("\n".join(map(",".join, rows)))
    return f"{path.name}, column {column}: {word[:40]!r}"


def form(path: Path, draw: np.random.Generator) -> str:
    """Give a table another form: axes, encoding, or no table at all."""
    text = path.read_text()
    way = int(draw.integers(6))
    if way == 0:
        axes = int(draw.choice([7, 31, 32, 33, 63, 64, 65, 3000]))
        path.write_text(
            ",".join([*(f"c{n}" for n in range(axes)), "value"]) + "\n" + "1," * axes + "1"
        )
    elif way == 1:
        path.write_bytes(
            f"\u00e9{text}".encode(("utf-16", "latin-1", "utf-32")[int(draw.integers(3))])
        )
    elif way == 2:
        path.unlink()
        path.mkdir()
    elif way == 3:
        path.write_bytes(draw.bytes(300))
    elif way == 4:
        path.write_text(text.replace(",", ";"))
    else:
        path.write_text(text + text)
    return f"{path.name}, way {way}"


def foldered(system: str, folder: Path) -> Iterator[Case]:
    make, kind = SYSTEMS[system]
    draw = source("files", system, "folder")
    for n in range(count("files", len(SYSTEMS) * DOORS)):
        path = folder / f"folder-{n}"
        labelled_one(make, draw).to_folder(path)
        tables = sorted(path.glob("*.csv"))
        chosen = tables[int(draw.integers(len(tables)))]
        how = (data, cell, cell, form)[int(draw.integers(4))](chosen, draw)
        # Nothing tells a changed number from a right one.
        yield Case(f"{system}: {chosen.name}, {how}", partial(loaded, kind, path))


def forged(path: Path, layout: Layout, draw: np.random.Generator) -> str:
    """Write other data with the fingerprint that belongs to them."""
    variables, texts = dict(layout.variables), dict(layout.attributes)
    if texts and draw.random() < 0.3:
        name = list(texts)[int(draw.integers(len(texts)))]
        texts[name] = ("", "a", "\n\n", "=1+1", "\u202e\x07", "x" * 70_000)[int(draw.integers(6))]
        how = f"text of {name}"
    else:
        name = list(variables)[int(draw.integers(len(variables)))]
        how, values, _ = spoiled(variables[name].values, draw)
        try:
            values = np.zeros((2, 3)) if "huge" in how else np.array(values)
        except ValueError:  # ragged
            values = np.ones(2)
        if values.dtype.kind not in "biufU":
            values = np.array(["a", "b"])
        dims = tuple(f"own_{name}_{axis}" for axis in range(values.ndim))
        variables[name] = Variable(dims, values, variables[name].unit)
        how = f"{name} {how}"
        if draw.random() < 0.2:
            del variables[name]
    labelled.write(path, Layout(layout.kind, layout.version, variables, texts))
    return f"forged: {how}"


@pytest.mark.parametrize("door", [changed, archived, foldered])
@pytest.mark.parametrize("system", SYSTEMS)
def test_changed_files(system, door, tmp_path):
    check(door(system, tmp_path))


PATHS: tuple[Any, ...] = (
    None,
    3,
    "",
    "\x00",
    b"\xff",
    "a\nb",
    "x" * 5000,
    "/dev/null",
    "/",
    object(),
)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: repr(path)[:20])
def test_what_is_no_path(path):
    kind = SYSTEMS["oinc"][1]
    check([Case("load", lambda: kind.load(path), refused=True)])
