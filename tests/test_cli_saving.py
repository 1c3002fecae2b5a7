"""``--out`` never destroys: exit code 2 and one line, unless ``--force`` is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeopt.cli.main import run
from edgeopt.writing.folders import MARKER
from tests.draws import some
from tests.studies.conftest import offering as offering

SMALL = ["--set", "servers=2", "--set", "devices=3", "--set", "profiles=2", "--set", "horizon=12"]
FILES = {
    "mine.nc": ["generate", "rescue", "--set", "reserved=3", *SMALL],
    "plan.csv": ["solve", "rescue", "--instance", "drawn.nc"],
    "tight.json": [
        "search",
        "tapfinger.conflict.published",
        "--space",
        "rivals",
        "--budget",
        "20",
    ],
}
FOLDERS = {
    "study": ["study", "stopping", "--runs", "5"],
    "check": ["check", "rescue.theorem2"],
    "reproduce": ["reproduce", "idn", "--table", "II", "--workers", "1"],
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offering: None) -> Path:
    """Work in an empty folder, in which commands find what they read."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert run([*FILES["mine.nc"], "--out", "drawn.nc"]) == 0
    return folder


def said(capsys: pytest.CaptureFixture[str]) -> str:
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    return line


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_replaced_only_when_asked(
    here: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [*FILES[name], "--out", name]
    (here / name).write_text("years of work")
    capsys.readouterr()
    assert run(command) == 2
    assert said(capsys) == f"edgeopt: error: {name} exists; --force replaces it"
    assert (here / name).read_text() == "years of work"
    assert run([*command, "--force"]) == 0
    assert (here / name).read_bytes() != b"years of work"
    assert {path.name for path in here.iterdir()} == {"drawn.nc", name}


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_written_in_place_of_a_device(
    here: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = here / Path(name).with_stem("full")
    path.symlink_to("/dev/full")
    capsys.readouterr()
    for force in ([], ["--force"]):
        assert run([*FILES[name], "--out", str(path), *force]) == 2
        assert "it is a device, not a regular file" in said(capsys)
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("name", some(FOLDERS, "check", "reproduce"))
def test_a_folder_is_written_twice_and_a_foreign_one_when_asked(
    here: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = FOLDERS[name]
    for _ in range(2):
        assert run([*command, "--out", "report"]) == 0
    page = (here / "report" / "index.html").read_text(encoding="utf-8")
    assert page
    assert (here / "report" / MARKER).is_file()

    foreign = here / "foreign"
    foreign.mkdir()
    for kept in ("thesis.tex", "index.html"):
        (foreign / kept).write_text("years of work")
    capsys.readouterr()
    assert run([*command, "--out", "foreign"]) == 2
    assert said(capsys).startswith("edgeopt: error: foreign exists; --force replaces it")
    assert {path.name for path in foreign.iterdir()} == {"thesis.tex", "index.html"}
    assert run([*command, "--out", "foreign", "--force"]) == 0
    assert (foreign / "thesis.tex").read_text() == "years of work"
    assert (foreign / "index.html").read_text(encoding="utf-8") != "years of work"

    (here / "file").write_text("years of work")
    capsys.readouterr()
    assert run([*command, "--out", "file", "--force"]) == 2
    assert "file cannot be written: Not a directory" in said(capsys)
    other = next(one for one in FOLDERS if one != name)
    assert run([*FOLDERS[other], "--out", "report"]) == 2
    assert "report exists; --force" in said(capsys)


@pytest.mark.parametrize(
    ("command", "about"), [("rescue", "rescue"), ("idn", "idn"), ("rescue --bound safe", "rescue")]
)
def test_a_certificate_of_solve_is_proven_by_verify(
    command: str,
    about: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["template", about, "--out", "small"]) == 0
    wanted = [*command.split(), "--instance", "small", "--certificate", "proof.json", "--json"]
    capsys.readouterr()
    assert run(["solve", *wanted]) == 0
    bound = json.loads(capsys.readouterr().out)["benchmark"]["bound"]
    assert run(["verify", "proof.json", "--instance", "small", "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["instance"]
    assert found["bound"] == pytest.approx(bound, rel=1e-6)


def test_a_bound_without_a_certificate_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["template", "oinc", "--out", "small"]) == 0
    options = ["--instance", "small", "--certificate", "proof.json"]
    assert run(["solve", "oinc", *options]) == 2
    assert "no certificate: bounds of slots are of cones" in capsys.readouterr().err
    assert not (tmp_path / "proof.json").exists()
