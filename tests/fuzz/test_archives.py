"""Damaged archives, documents and programs: a named error, or what the whole file holds."""

from __future__ import annotations

import gzip
import json
import os
import struct
import tracemalloc
import zipfile
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.errors import InputError, InstanceError
from edgeopt.learning import Checkpoint
from edgeopt.solvers import LinearProgram, solve
from edgeopt.solvers.certificates import read_certificate
from tests.fuzz import driver
from tests.fuzz.driver import Case, check, count, source
from tests.fuzz.test_files import SYSTEMS, labelled_one, loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PARTS = 8
"""Tests among which the cases of this part are shared."""

TAPFINGER = SYSTEMS["tapfinger"][1]
MARKS = (b"PK\1\2", b"PK\3\4", b"PK\5\6", b"GCOL", b"OHDR", b"OCHK", b"FRHP", b"\x89HDF")
"""Heads of the parts of a zip file and of a NetCDF file, which chance alone would seldom hit."""


def flipped(content: bytes, draw: np.random.Generator) -> tuple[str, bytes]:
    """Change a few bits of a file, near the head of one of its parts or anywhere."""
    heads = [n for mark in MARKS for n in places_of(content, mark)]
    changed = bytearray(content)
    place = int(draw.integers(len(content)))
    if heads and draw.random() < 0.6:
        place = heads[int(draw.integers(len(heads)))] + int(draw.integers(46))
    place = min(place, len(content) - 1)
    way = int(draw.integers(6))
    length = int(draw.integers(1, 9))
    if way <= 2:
        changed[place] ^= 1 << int(draw.integers(8))
    elif way == 3:
        changed[place : place + length] = bytes([(0, 255)[int(draw.integers(2))]]) * length
    elif way == 4:
        other = int(draw.integers(len(content)))
        changed[place : place + 20] = content[other : other + 20]
    else:
        del changed[place:]
    return f"way {way} at {place} by {length}", bytes(changed)


def places_of(content: bytes, mark: bytes) -> Iterator[int]:
    """Yield where a mark stands."""
    place = content.find(mark)
    while place >= 0:
        yield place
        place = content.find(mark, place + 1)


@pytest.mark.parametrize("ending", ["zip", "nc"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_flipped_bits(system, ending, tmp_path):
    make, kind = SYSTEMS[system]
    draw = source("archives", system, ending)

    def cases() -> Iterator[Case]:
        for n in range(count("archives", 2 * len(SYSTEMS) * PARTS // 4)):
            path, base = tmp_path / f"{n}.{ending}", labelled_one(make, draw)
            base.save(path)
            how, content = flipped(path.read_bytes(), draw)
            path.write_bytes(content)
            yield Case(f"{system}.{ending}, {how}", partial(loaded, kind, path), right=base.__eq__)

    check(cases())


@pytest.fixture
def sound(tmp_path) -> Path:
    path = tmp_path / "sound.zip"
    SYSTEMS["tapfinger"][0](1).save(path)
    return path


def with_more(sound: Path, members: dict[str, bytes], way: int = zipfile.ZIP_DEFLATED) -> Path:
    """Return an archive with further members."""
    with zipfile.ZipFile(sound, "a") as archive:
        for name, content in members.items():
            archive.writestr(name, content, way)
    return sound


@pytest.mark.parametrize(
    "members",
    [{"notes.txt": bytes(65 * 2**20)}, {f"{n}.txt": bytes(2**20) for n in range(66)}],
    ids=["one", "many"],
)
def test_members_are_counted_before_they_are_inflated(sound, members):
    path = with_more(sound, members)
    tracemalloc.start()
    with pytest.raises(InstanceError, match="holds more than tables so small can unpack to"):
        TAPFINGER.load(path)
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


def test_a_member_is_not_inflated_beyond_what_it_declares(sound):
    path = with_more(sound, {"notes.txt": bytes(2**28)})
    content, told = path.read_bytes(), struct.pack("<I", 2**28)
    # The checksum of what it says that it holds makes it whole.
    crc = struct.pack("<I", zlib.crc32(bytes(2**28)))
    content = content.replace(told, struct.pack("<I", 9))
    path.write_bytes(content.replace(crc, struct.pack("<I", zlib.crc32(bytes(9)))))
    tracemalloc.start()
    assert TAPFINGER.load(path) == SYSTEMS["tapfinger"][0](1)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_an_entry_that_swallows_the_next_one_leaves_no_table_out(sound):
    content = bytearray(sound.read_bytes())
    first, second, third = list(places_of(bytes(content), b"PK\1\2"))[:3]
    content[first + 32 : first + 34] = struct.pack("<H", third - second)  # length of its comment
    sound.write_bytes(bytes(content))
    with pytest.raises(InstanceError, match="it counts 10 files, but lists 9"):
        TAPFINGER.load(sound)


@pytest.mark.parametrize("way", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_rare_ways_to_pack_have_no_bound_and_are_refused(sound, way):
    with pytest.raises(InstanceError, match="packed in a rare way"):
        TAPFINGER.load(with_more(sound, {"notes.txt": b"a"}, way))


def test_a_heap_of_texts_without_an_end_is_refused(tmp_path):
    """HDF5 itself goes on for ever."""
    path = tmp_path / "made.nc"
    SYSTEMS["tapfinger"][0](1).save(path)
    content = bytearray(path.read_bytes())
    place = content.index(b"GCOL") + 16
    content[place : place + 16] = bytes(16)
    path.write_bytes(bytes(content))
    with pytest.raises(InstanceError, match="a heap of its texts is damaged"):
        TAPFINGER.load(path)


def program() -> LinearProgram:
    """Return a small program with rows and bounds of every kind."""
    return LinearProgram(
        cost=[1.0, -2.0, 0.5], matrix=np.array([[1, 2, 0], [0, 1, -1], [3, 0, 1]]),
        row_lower=[-np.inf, -1.0, 2.0], row_upper=[4.0, 1.0, 2.0], lower=[0.0, -3.0, -np.inf],
        upper=[np.inf, 3.0, 9.0], integer=[False, True, False], sense="max", offset=1.5,
    )  # fmt: skip


WORDS = (
    "", "-", "nan", "inf", "1e400", "-1e400", "9" * 5000, "1_0", "\x00", "\u00b2", '"', "[", "{",
    "[" * 99999, "null", "-0", "1e308", "RANGES", "BOUNDS", "ROWS", "End", "x" * 70000, "\u202e",
    "\u0663", "3.7", "'", "1e-320",
)  # fmt: skip


@pytest.mark.parametrize("ending", [".mps", ".lp", ".mps.gz", ".lp.gz"])
def test_damaged_programs(ending, tmp_path):
    draw, path = source("archives", ending), tmp_path / f"made{ending}"
    program().write(path)
    whole = path.read_bytes()

    def cases() -> Iterator[Case]:
        for _ in range(count("archives", PARTS)):
            how, content = flipped(whole, draw)
            if not ending.endswith("gz") and draw.random() < 0.6:
                words = whole.decode().split(" ")
                place, word = int(draw.integers(len(words))), WORDS[int(draw.integers(len(WORDS)))]
                how, words[place] = f"word {place} is {word[:20]!r}", word
                content = " ".join(words).encode()
            path.write_bytes(content)
            yield Case(f"{ending}: {how}", partial(LinearProgram.read, path))

    check(cases())


def test_a_packed_program_is_not_unpacked_without_an_end(tmp_path):
    path = tmp_path / "made.lp.gz"
    path.write_bytes(gzip.compress(bytes(2**28)))
    with pytest.raises(InputError, match="unpack it"):
        LinearProgram.read(path)


VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1e308, 10**400, float("nan"), float("inf"), "", "a", "1", [], [[]], {},
    {"a": 1}, "\ud800", "x" * 70000, [1] * 1000, -(10**20), "../..", "\x00", [1, "a"], 2**63,
)  # fmt: skip


def altered(document: Any, draw: np.random.Generator) -> tuple[str, Any]:
    """Put something else into one place of a document, or leave the place out."""
    made = json.loads(json.dumps(document))
    places = [(made, "", None), *walked(made, "")]
    holder, path, key = places[int(draw.integers(len(places)))]
    value = VALUES[int(draw.integers(len(VALUES)))]
    if key is None:
        return f"all is {value!r:.30}", value
    if draw.random() < 0.2:
        del holder[key]
        return f"{path} is missing", made
    holder[key] = value
    return f"{path} is {value!r:.30}", made


def walked(part: Any, path: str) -> Iterator[tuple[Any, str, Any]]:
    """Yield every place of a document, of lists the first few."""
    keys = list(part) if isinstance(part, dict) else range(min(len(part), 5))
    for key in keys:
        yield part, f"{path}/{key}", key
        if isinstance(part[key], dict | list):
            yield from walked(part[key], f"{path}/{key}")


def one_line(ended: driver.Ended) -> bool:
    """Tell whether a command said what is wrong with a file, each in a line, or nothing is."""
    said = (ended.out + ended.err).strip().splitlines()
    return (ended.code in (0, 1) and bool(said)) or (ended.code == 2 and len(said) == 1)


@pytest.fixture(scope="module")
def certified(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("proof") / "certificate.json"
    whole = program()
    convex = LinearProgram(whole.cost, whole.matrix, whole.row_lower, whole.row_upper)
    solve(convex).certificate().save(path)
    return path


def test_altered_certificates(certified, tmp_path):
    draw, whole = source("archives", "certificates"), json.loads(certified.read_text())
    path = tmp_path / "altered.json"

    def cases() -> Iterator[Case]:
        for _ in range(count("archives", PARTS)):
            how, content = altered(whole, draw)
            text = json.dumps(content).encode()
            if draw.random() < 0.4:
                how, text = flipped(text if draw.random() < 0.5 else gzip.compress(text), draw)
            path.write_bytes(text)
            yield Case(how, partial(driver.ran, ["verify", str(path)]), right=one_line)
            yield Case(how, partial(read_certificate, path))

    check(cases())


def test_altered_checkpoints(tmp_path):
    draw, path = source("archives", "checkpoints"), tmp_path / "policy.safetensors"
    Checkpoint(
        system="oinc", learner="insertion", weights={"bias": np.zeros(3), "slope": np.ones((2, 3))}
    ).save(path)
    whole = path.read_bytes()

    def cases() -> Iterator[Case]:
        for _ in range(count("archives", PARTS)):
            how, content = flipped(whole, draw)
            path.write_bytes(content)
            right = whole.__eq__(content)
            yield Case(how, partial(Checkpoint.load, path), refused=not right)

    check(cases())


def submission() -> dict[str, Any]:
    """Return a submission that is one by its form, with a result of each part."""
    from edgeopt.collection import entry
    from edgeopt.collection.entries import edition

    name = "tapfinger-odd-c1-n7"
    base = {"instance": name, "fingerprint": entry(name).fingerprint, "value": 1.0}
    offline = {"part": "offline", "target": 0.01, "bound": 1.0, "seconds": 1.0}
    online = {"part": "online", "se": 0.0, "violated": 0.0, "seconds": 1.0, "scenarios": 5}
    return {
        "format": "edgeopt.submission/1", "edition": edition(), "competitor": "mine",
        "version": "1", "source": "here", "settings": {}, "machine": {}, "threads": 1,
        "results": [base | offline, base | online | {"seed": 1, "bounds": ""}], "certificates": {},
    }  # fmt: skip


def test_altered_submissions(tmp_path):
    draw, whole = source("archives", "submissions"), submission()
    path = tmp_path / "altered.json"

    def cases() -> Iterator[Case]:
        for _ in range(count("archives", PARTS)):
            how, content = altered(whole, draw)
            path.write_text(json.dumps(content))
            yield Case(how, partial(driver.ran, ["bench", "check", str(path)]), right=one_line)

    check(cases())


WRONG: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("hello\n"),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 9),
    "document": lambda path: path.write_text('{"a": [1, {"b": null}]}'),
    "brackets": lambda path: path.write_text("[" * 99999),
    "digits": lambda path: path.write_text("9" * 9999),
    "packed": lambda path: path.write_bytes(gzip.compress(b"hello")),
    "instance": lambda path: SYSTEMS["oinc"][0](1).save(path),
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "circle": lambda path: path.symlink_to(path),
    "missing": lambda path: None,
}
READERS = (
    ["solve", "tapfinger", "--instance"], ["study", "tapfinger", "--instance"],
    ["study", "rescue", "--data"], ["template", "tapfinger", "--out", "out", "--from"],
    ["verify"], ["bench", "check"], ["bench", "--dry-run", "--instances"],
    ["bench", "--dry-run", "--online"], ["collection", "show"], ["check"], ["search"],
    ["explore", "tapfinger", "--no-browser", "--instance"], ["verify", "CERTIFICATE", "--instance"],
)  # fmt: skip
ENDINGS = ("", ".nc", ".zip", ".json", ".json.gz", ".mps", ".lp.gz", ".csv", ".safetensors")
NAMES = (
    "plain",
    "two words",
    "\u202e",
    "\u00e9",
    "%s{}",
    "-dash",
    "=1",
    "[a]*",
    "new\nline",
    "'\"",
)


def test_files_of_the_wrong_kind(certified, tmp_path, monkeypatch):
    """Whatever a command is given, it says in a line that it is not what the command reads."""
    monkeypatch.chdir(tmp_path)
    draw = source("archives", "kinds")

    def cases() -> Iterator[Case]:
        for n in range(2 * count("archives", PARTS)):
            kinds = list(WRONG)
            kind, reader = kinds[int(draw.integers(len(kinds)))], READERS[n % len(READERS)]
            ending = ENDINGS[int(draw.integers(len(ENDINGS)))]
            name = NAMES[int(draw.integers(len(NAMES)))]
            folder = tmp_path / str(n)
            folder.mkdir()
            WRONG[kind](folder / f"{name}{ending}")
            words = [str(certified) if word == "CERTIFICATE" else word for word in reader]
            line = [*words, f"{n}/{name}{ending}"]
            yield Case(
                f"{kind}: {line}",
                partial(driver.ran, line),
                right=lambda ended: ended.code == 2 and one_line(ended),
            )

    check(cases())
