"""Saving never destroys: nothing is written over that is not a file, or a folder, of edgeopt's."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from edgeopt.bounds.search.found import Found
from edgeopt.errors import OptionError, OutputError
from edgeopt.instances.rescue import generate
from edgeopt.solvers import LinearProgram
from edgeopt.studies.sweeps import Store
from edgeopt.writing import Folder, atomic_write, checked_name, target_of, write_file
from edgeopt.writing.folders import MARKER

if TYPE_CHECKING:
    from collections.abc import Callable


def no_files(folder: Path) -> Callable[[], None]:
    """Put things that are no regular files into a folder; return what holds them to be unharmed."""
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "device").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as opened:
        here = os.getcwd()
        os.chdir(folder)  # the path of a socket may not be long
        try:
            opened.bind("socket")
        finally:
            os.chdir(here)
    before = {path.name: path.lstat() for path in folder.iterdir()}

    def unharmed() -> None:
        after = {path.name: path.lstat() for path in folder.iterdir()}
        assert {n: (s.st_ino, s.st_mode) for n, s in after.items()} == {
            n: (s.st_ino, s.st_mode) for n, s in before.items()
        }

    return unharmed


SORTS = {
    "pipe": "a pipe",
    "folder": "a folder",
    "loop": "a link that leads to itself",
    "device": "a device",
    "socket": "a socket",
}


@pytest.mark.parametrize("name", SORTS)
def test_what_is_no_regular_file_is_refused(tmp_path: Path, name: str) -> None:
    unharmed = no_files(tmp_path)
    with pytest.raises(OutputError, match=f"{name} cannot be written: it is {SORTS[name]}"):
        write_file(tmp_path / name, "mine")
    with pytest.raises(OutputError, match="not a regular file"):
        target_of(tmp_path / name)
    unharmed()


@pytest.mark.parametrize("path", ["/dev/full", "/dev/null", "/dev/tty"])
def test_devices_stay(path: str) -> None:
    if not os.path.exists(path):
        pytest.skip(f"no {path} here")
    before = os.stat(path)
    instance = generate(servers=2, devices=2, profiles=1, horizon=4, reserved=1)
    with pytest.raises(OutputError, match="a device, not a regular file"):
        instance.save(path)
    after = os.stat(path)
    assert stat.S_ISCHR(after.st_mode)
    assert after.st_ino == before.st_ino


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nowhere/x.nc", "the directory does not exist"),
        ("a\0b", "null (byte|character)"),
        ("x" * 300, "File name too long"),
        ("file/x.nc", "Not a directory|the directory does not exist"),
        ("", "a folder"),
        (3, "3 cannot be written"),
        (None, "None cannot be written"),
    ],
)
def test_names_that_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: object, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=why):
        write_file(path, "mine")  # type: ignore[arg-type]
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_regular_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)
    write_file(path, "first")
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()
    path.chmod(0o640)

    def half(draft: Path) -> None:
        draft.write_text("ha")
        raise OSError("disk full")

    with pytest.raises(OutputError, match="cannot be written: disk full"):
        write_file(path, half)
    assert path.read_text() == "first"

    def interrupted(draft: Path) -> None:
        draft.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(path, interrupted)
    assert path.read_text() == "first"
    write_file(path, "second")
    assert path.read_text() == "second"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def test_a_link_is_followed_to_its_file_and_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(OutputError, match="read-only"):
        write_file(path, "new")


def test_what_appears_meanwhile_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "mine.nc"
    with pytest.raises(OutputError, match="exists; --force"), atomic_write(path, force=False):
        path.write_text("theirs")
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_every_writer_of_files_refuses(tmp_path: Path) -> None:
    unharmed = no_files(tmp_path)
    program = LinearProgram([1.0], [[1.0]], 1.0, 2.0, 0.0, 3.0)
    for suffix in (".lp", ".mps"):
        (tmp_path / f"loop{suffix}").symlink_to(tmp_path / "folder")
        with pytest.raises(OutputError, match="a folder"):
            program.write(tmp_path / f"loop{suffix}")
        (tmp_path / f"loop{suffix}").unlink()
    instance = generate(servers=2, devices=2, profiles=1, horizon=4, reserved=1)
    with pytest.raises(OutputError, match="a pipe"):
        instance.save(tmp_path / "pipe")
    found = Found(None, object(), {}, None, 0.0, 1)  # type: ignore[arg-type]
    object.__setattr__(found, "verdict", type("V", (), {"claim": "c"})())
    object.__setattr__(found, "space", type("F", (), {"name": "f"})())
    with pytest.raises(OutputError, match="a pipe"):
        found.save(tmp_path / "pipe")
    unharmed()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("../x", True), ("/etc/x", True), ("", True), ("a\0", True), ("a\nb", True), ("é" * 101, True),
     (".edgeopt", True), ("a:b", True), ("over_time", False), ("A 1.b-c é", False)],
)  # fmt: skip
def test_names_of_files(name: str, wrong: bool) -> None:
    if wrong:
        with pytest.raises(OutputError, match="cannot be a file name"):
            checked_name(name)
    else:
        assert checked_name(name) == name


def test_a_folder_is_its_commands_own_or_refused(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    first = Folder(out, "study")
    assert not out.parent.exists()
    first.write("index.html", "one")
    assert json.loads((out / MARKER).read_text())["command"] == "study"
    Folder(out, "study").write("index.html", "two")
    assert (out / "index.html").read_text() == "two"
    with pytest.raises(OutputError, match=r"out exists; --force replaces it"):
        Folder(out, "check")
    Folder(out, "check", force=True).begin()
    with pytest.raises(OutputError, match="--force"):
        Folder(out, "study")

    (tmp_path / "empty").mkdir()
    Folder(tmp_path / "empty", "study").begin()

    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputError, match="foreign exists; --force replaces it"):
        Folder(foreign, "study")
    assert [path.name for path in foreign.iterdir()] == ["thesis.tex"]
    Folder(foreign, "study", force=True).write("index.html", "page")
    assert (foreign / "thesis.tex").read_text() == "years of work"
    Folder(foreign, "study").write("index.html", "again")


@pytest.mark.parametrize("marker", ["", "{}", "[]", "\udcff", '{"format": 0, "command": "study"}'])
def test_a_marker_of_nobody(tmp_path: Path, marker: str) -> None:
    (tmp_path / MARKER).write_bytes(marker.encode("utf-8", "surrogateescape"))
    with pytest.raises(OutputError, match="--force"):
        Folder(tmp_path, "study")


def test_no_link_leads_out_of_a_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "page.html").write_text("theirs")
    out = Folder(tmp_path / "out", "study")
    out.begin()
    (out.path / "index.html").symlink_to(outside / "page.html")
    (out.path / "pictures").symlink_to(outside)
    for name in ("index.html", "pictures/page.html"):
        with pytest.raises(OutputError, match="it is a link"):
            out.write(name, "computed")
    with pytest.raises(OutputError, match="cannot be a file name"):
        out.write("../outside/page.html", "computed")
    assert (outside / "page.html").read_text() == "theirs"
    with pytest.raises(OutputError, match="cannot be written"):
        Folder(outside / "page.html" / "deeper", "study")


def test_jobs_are_kept_in_a_folder_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(OutputError, match="--force"):
        Store(tmp_path)
    Store(tmp_path / "jobs")
    Store(tmp_path / "jobs")
    Store(tmp_path, force=True)


HANGS = """
import sys, time
from edgeopt.writing import atomic_write
with atomic_write(sys.argv[1]) as draft:
    draft.write_text("half")
    print("drafted", flush=True)
    time.sleep(60)
"""


def test_the_draft_of_a_killed_run_goes_and_that_of_a_running_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "mine.nc"
    runs = [
        subprocess.Popen([sys.executable, "-c", HANGS, str(path)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        for run in runs:
            assert run.stdout is not None
            assert run.stdout.readline() == b"drafted\n"
        assert len(list(tmp_path.iterdir())) == 2
        runs[0].send_signal(signal.SIGKILL)
        # Not waited for: a process that has ended may be a zombie for long.
        while ") Z " not in Path(f"/proc/{runs[0].pid}/stat").read_text():
            time.sleep(0.01)
        theirs = tmp_path / ".edgeopt-draft-elsewhere"
        theirs.write_text("half")
        write_file(path, "whole")
        left = {one.name for one in tmp_path.iterdir()} - {path.name, theirs.name}
        assert len(left) == 1
        assert f"-{runs[1].pid}-" in left.pop()
        os.utime(theirs, (0, 0))
    finally:
        for run in runs:
            run.kill()
            run.wait()
            run.stdout.close()  # type: ignore[union-attr]
    Folder(tmp_path, "study", force=True).begin()
    assert {one.name for one in tmp_path.iterdir()} == {path.name, MARKER}
    assert path.read_text() == "whole"


def test_a_draft_of_a_number_that_was_used_again_goes(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "x") as draft:
        name = draft.name
    parts = name.split("-")
    parts[4] = str(int(parts[4]) + 1)
    (tmp_path / "-".join(parts)).write_text("half")
    write_file(tmp_path / "x", "whole")
    assert [one.name for one in tmp_path.iterdir()] == ["x"]


def test_errors_are_of_the_family() -> None:
    assert issubclass(OutputError, OSError)
    assert not issubclass(OutputError, OptionError)
