"""Damaged archives, files and lists end in an error of the package that says where and what."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile

import h5py
import numpy as np
import pandas as pd
import pytest

from edgeopt.cli.main import run
from edgeopt.errors import InstanceError
from edgeopt.instances import edr, tapfinger
from edgeopt.instances.tapfinger import TapFingerInstance, from_durations
from edgeopt.writing import printable

MADE = tapfinger.small(1).with_labels({"cluster": ["north", "south"]})


def refused(path, capsys):
    """Return what is said of a file, by Python and by the program alike."""
    with pytest.raises(InstanceError) as caught:
        TapFingerInstance.load(path)
    assert run(["solve", "tapfinger", "--instance", str(path)]) == 2
    said = printable(" ".join(str(caught.value).split()))
    assert capsys.readouterr().err == f"edgeopt: error: {said}\n"
    return str(caught.value)


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def packed(tmp_path):
    MADE.save(tmp_path / "packed.zip")
    return tmp_path / "packed.zip"


@pytest.mark.parametrize("system", ["edr", "idn", "oinc", "rescue", "tapfinger"])
def test_tables_without_a_row(system, tmp_path, capsys):
    assert run(["template", system, "--out", str(tmp_path / "own")]) == 0
    for table in (tmp_path / "own").glob("*.csv"):
        table.write_text(table.read_text().partition("\n")[0] + "\n")
    capsys.readouterr()
    assert run(["solve", system, "--instance", str(tmp_path / "own")]) == 2
    [said] = capsys.readouterr().err.splitlines()
    assert said.startswith("edgeopt: error: ")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_an_archive_that_was_cut_short(packed, share, capsys):
    content = packed.read_bytes()
    packed.write_bytes(content[: int(share * len(content))])
    assert refused(packed, capsys).startswith(f"{packed}: is no readable zip file (")


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_that_is_packed_in_a_rare_way(packed, kind, capsys):
    with zipfile.ZipFile(packed, "a", kind) as archive:
        archive.writestr("notes.txt", "0" * 300)
    assert refused(packed, capsys).startswith("notes.txt: is packed in a rare way")


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_bit_of_an_archive_that_flipped(packed, kind, capsys):
    with zipfile.ZipFile(packed, "a", kind) as archive:
        archive.writestr("notes.txt", "".join(map(str, range(300))))
        one = archive.getinfo("notes.txt")
        start = one.header_offset + 30 + len(one.filename)
    content = packed.read_bytes()
    for place in np.linspace(start + 12, start + one.compress_size - 9, 7).astype(int):
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        packed.write_bytes(damaged)
        assert refused(packed, capsys).startswith(f"{packed}: is no readable zip file (")


def test_a_name_in_an_archive_that_is_damaged_takes_no_field_away(packed, capsys):
    content = packed.read_bytes()
    assert TapFingerInstance.load(packed) == MADE
    at = content.rindex(b"weight.csv")  # in the list of all members
    packed.write_bytes(content[: at + 9] + b"w" + content[at + 10 :])
    assert "File name in directory 'weight.csw'" in refused(packed, capsys)


def test_archives_within_archives(packed, tmp_path, capsys):
    held, outer = members(packed), tmp_path / "outer.zip"
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(packed, "packed.zip")
    assert "holds no tables" in refused(outer, capsys)
    with zipfile.ZipFile(outer, "w") as archive:
        for name, content in held.items():
            archive.writestr(name, packed.read_bytes() if name == "arrival.csv" else content)
    assert refused(outer, capsys).startswith("arrival.csv: must be in UTF-8: byte ")
    with zipfile.ZipFile(outer, "w") as archive:
        for name, content in held.items():
            archive.writestr(f"a/{name}", content)
    assert TapFingerInstance.load(outer) == MADE
    with zipfile.ZipFile(outer, "a") as archive:
        archive.writestr("b/arrival.csv", held["arrival.csv"])
    assert refused(outer, capsys) == f"{outer}: holds two files named arrival.csv; keep one"


def as_folder(folder, held):
    for name, content in held.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content)
    return folder


def as_archive(folder, held):
    with zipfile.ZipFile(folder / "again.zip", "w") as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    return folder / "again.zip"


DOORS = pytest.mark.parametrize("door", [as_folder, as_archive])


@DOORS
@pytest.mark.parametrize("suffix", [".CSV", ".Csv"])
def test_tables_whose_names_end_in_capitals_are_read(packed, door, suffix, tmp_path):
    held = {name.replace(".csv", suffix): content for name, content in members(packed).items()}
    packed.unlink()
    assert TapFingerInstance.load(door(tmp_path, held)) == MADE


@DOORS
def test_two_tables_of_one_field(packed, door, tmp_path, capsys):
    held = members(packed)
    packed.unlink()
    said = refused(door(tmp_path, {**held, "weight.CSV": b"task,value\n0,7\n"}), capsys)
    assert said.endswith("holds both weight.CSV and weight.csv; keep one")


@DOORS
def test_what_archivers_of_a_mac_put_beside_tables_is_no_table(packed, door, tmp_path):
    held = members(packed)
    packed.unlink()
    fork = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X"
    more = {f"__MACOSX/._{name}": fork for name in held}
    more |= {"__MACOSX/weight.csv": fork, "._weight.csv": fork, ".DS_Store": b"\0"}
    assert TapFingerInstance.load(door(tmp_path, {**held, **more})) == MADE


@DOORS
@pytest.mark.parametrize("name", ["weight.xlsx", "weight.TSV", "settings.txt"])
def test_a_table_in_another_format_is_not_left_out_in_silence(packed, door, name, tmp_path, capsys):
    held = {**members(packed), name: b"task\tvalue\n"}
    packed.unlink()
    said = refused(door(tmp_path, held), capsys)
    assert said == f"{name}: is no table in CSV; save it as {name.split('.')[0]}.csv"


@DOORS
@pytest.mark.parametrize("number", ["1e400", "-1e400", "1E+999", "1e-400", "9" * 400])
def test_digits_beyond_all_numbers_are_a_misprint(packed, door, number, tmp_path, capsys):
    held = members(packed)
    packed.unlink()
    lines = held["weight.csv"].decode().splitlines()
    lines[-1] = f"{lines[-1].split(',')[0]},{number}"
    table = "\n".join(lines).encode()
    said = refused(door(tmp_path, {**held, "weight.csv": table}), capsys)
    assert said == f"weight.csv: line {len(lines)}: {number[:80]!r} is no number"
    noise = held["settings.csv"].decode().replace("noise,0", f"noise,{number}").encode()
    said = refused(door(tmp_path, {**held, "settings.csv": noise}), capsys)
    words = re.escape(f": noise: {number[:80]!r} is no number")
    assert re.fullmatch(rf"settings\.csv: line \d+{words}", said)


def test_what_is_too_large_does_not_become_infinite():
    day = edr.small(2)
    assert day.replace(cap=[np.inf] * day.frames).cap.max() == np.inf
    for large in (np.longdouble("1e400"), 10**400, "1e400"):
        with pytest.raises(InstanceError, match="cap"):
            day.replace(cap=np.array([large] * day.frames))
        caps = {"cap": pd.Series([large] * day.frames, dtype=object).rename_axis("frame")}
        fields = {one.name: getattr(day, one.name) for one in day._fields}
        with pytest.raises(InstanceError, match="cap"):
            edr.EdrInstance.from_labelled({**fields, **caps})


@pytest.fixture
def stored(tmp_path):
    MADE.save(tmp_path / "stored.nc")
    return tmp_path / "stored.nc"


def says(path, text):
    """Let a file say other labels, with the hash that belongs to them."""
    with h5py.File(path, "r+") as file:
        file.attrs["edgeopt_labels"] = text
        file.attrs["edgeopt_labels_fingerprint"] = hashlib.sha256(text.encode()).hexdigest()


NORTH = ["north", "south"]


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "3", "{", "[" * 10**5, "9" * 5000, '{"labels": {}}',
        json.dumps({"labels": [], "notes": []}),
        json.dumps({"labels": {"cluster": "ab"}, "notes": []}),
        json.dumps({"labels": {"cluster": {"north": 0, "south": 1}}, "notes": []}),
        json.dumps({"labels": {"cluster": [1, 2]}, "notes": []}),
        json.dumps({"labels": {"cluster": [None, "south"]}, "notes": []}),
        '{"labels": {"cluster": ["south", "north"], "cluster": ["north", "south"]}, "notes": []}',
        json.dumps({"labels": {"cluster": NORTH}, "notes": "none"}),
        json.dumps({"labels": {"cluster": NORTH}, "notes": [["none"]]}),
    ],
)  # fmt: skip
def test_labels_that_are_none(stored, text, capsys):
    says(stored, text)
    assert refused(stored, capsys).startswith(f"{stored}:edgeopt_labels: must hold texts: labels")


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"cluster": ["north"]}, ": has 1 labels along 'cluster', which has 2 entries"),
        ({"cluster": []}, ": has 0 labels along 'cluster', which has 2 entries"),
        ({"kind": list("abc")}, ": has 3 labels along 'kind', which has 2 entries"),
        ({"slot": ["0", "250", "1,000"]}, ": has labels along 'slot', which is no axis with names"),
        ({"nowhere": ["a"]}, ": has labels along 'nowhere', which is no axis with names"),
        ({"cluster": ["north"] * 2}, "label 'north' along 'cluster' occurs twice; keep one"),
        ({"cluster": ["", "south"]}, "label '' along 'cluster' must be a text of one line"),
        ({"cluster": ["a\nb", "south"]}, "along 'cluster' must be a text of one line"),
    ],
)
def test_labels_of_no_axis_or_of_another_number(stored, labels, said, capsys):
    says(stored, json.dumps({"labels": labels, "notes": []}))
    assert said in refused(stored, capsys)


@pytest.mark.parametrize("value", [b"abc", 3, 2.5, [1, 2], np.arange(9), [], h5py.Empty("f")])
def test_attributes_of_another_type(stored, value, capsys):
    names = ("edgeopt_kind", "edgeopt_format", "edgeopt_fingerprint", "origin")
    for name in (*names, "edgeopt_labels", "edgeopt_labels_fingerprint"):
        MADE.save(stored)
        with h5py.File(stored, "r+") as file:
            del file.attrs[name]
            file.attrs[name] = value
        assert str(stored) in refused(stored, capsys)


@pytest.mark.parametrize("unit", ["min", "1", "", b"ms", 3, [1, 2]])
def test_units_that_somebody_changed(stored, unit, capsys):
    with h5py.File(stored, "r+") as file:
        assert file["slot_seconds"].attrs["units"] == "s"
        file["slot_seconds"].attrs["units"] = unit
    said = refused(stored, capsys)
    assert "must be in 's': the file says another unit; write it anew" in said
    with h5py.File(stored, "r+") as file:
        del file["slot_seconds"].attrs["units"]
    assert TapFingerInstance.load(stored) == MADE


@pytest.mark.parametrize("place", ["attribute", "variable"])
def test_names_that_are_no_text(stored, place, capsys):
    space = h5py.h5s.create(h5py.h5s.SCALAR)
    with h5py.File(stored, "r+") as file:
        make = {"attribute": h5py.h5a, "variable": h5py.h5d}[place].create
        make(file.id, b"caf\xe9", h5py.h5t.NATIVE_DOUBLE, space)
    assert refused(stored, capsys).startswith(str(stored))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 0.99, 0.999])
def test_a_file_that_was_cut_short(stored, share, capsys):
    content = stored.read_bytes()
    stored.write_bytes(content[: int(share * len(content))])
    assert refused(stored, capsys).startswith(f"{stored}: is not a readable NetCDF file")


@pytest.mark.parametrize("axes", [33, 64, 65, 5000])
def test_more_columns_than_an_array_has_axes(tmp_path, axes, capsys):
    MADE.to_folder(tmp_path)
    head = ",".join(f"c{n}" for n in range(axes))
    (tmp_path / "weight.csv").write_text(f"{head},value\n{'1,' * axes}1\n")
    said = f"weight.csv = {axes} axes: first line must name at most 32 axes, then 'value [unit]'"
    assert refused(tmp_path, capsys) == said


@pytest.mark.parametrize(
    "content",
    [None, b"\x89PNG\r\n\x1a\n\0\0", b"\xff\xfet\0", b"\0" * 50],
    ids=["folder", "picture", "UTF-16", "zeros"],
)
def test_what_is_no_table(tmp_path, content, capsys):
    MADE.to_folder(tmp_path)
    path = tmp_path / "weight.csv"
    path.unlink()
    path.mkdir() if content is None else path.write_bytes(content)
    assert refused(tmp_path, capsys).startswith("weight.csv")


def nested(depth):
    value = [1.0]
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [64, 500, 10**5])
def test_lists_nested_deeper_than_an_array(depth):
    circle = []
    circle += [circle, circle]
    for value in (nested(depth), [[1.0], nested(depth)], circle):
        for name in ("weight", "kind", "speed"):
            with pytest.raises(InstanceError, match=rf"{name}: must have at most 64 axes"):
                MADE.replace(**{name: value})
        with pytest.raises(InstanceError, match="duration: must have at most 64 axes"):
            from_durations(value, minimum=[[1, 0]], capacity=[[4, 0]], arrival=[0], kind=[0])
