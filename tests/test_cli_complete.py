"""What bash, zsh and fish offer, by the protocol with which they ask; nothing is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from edgeopt.bounds import claims
from edgeopt.bounds.search.space import fitting, known_claim
from edgeopt.cli.main import run
from edgeopt.collection import names
from edgeopt.studies import find_system, systems

if TYPE_CHECKING:
    from pathlib import Path

SHELLS = ("bash", "zsh", "fish")
SOURCES = find_system("edr").instances.sources
POLICIES = [entry.name for entry in find_system("oinc").policies.entries]


def asked(shell: str, line: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Set what a shell sets when a user presses the key at the end of a line."""
    if shell == "bash":
        words = line.split(" ")
        given = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    else:
        given = {"_TYPER_COMPLETE_ARGS": line}
    if shell == "fish":
        given["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    given["_EDGEOPT_COMPLETE"] = f"complete_{shell}"
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return given


def offered(shell: str, printed: str) -> list[str]:
    if shell != "zsh":
        return [line.partition("\t")[0] for line in printed.split("\n") if line]
    return re.findall(r'"([^"]*)"', printed.partition("((")[2])


CASES = {
    "edgeopt study ta": ["tapfinger"],
    "edgeopt solve ": systems(),
    "edgeopt study edr --instance ": [*SOURCES, *names(system="edr")],
    "edgeopt solve oinc --instance oinc-odd-n": list(names("oinc", "odd")),
    "edgeopt collection show tapfinger-real-": list(names("tapfinger", "real")),
    "edgeopt study nobody --instance ": [],
    "edgeopt study oinc --policies oinc,ka": [
        f"oinc,{name}" for name in POLICIES if name.startswith("ka")
    ],
    "edgeopt study oinc --reference ": [*POLICIES, "learned"],
    "edgeopt search rescue.theorem1": [n for n in claims("rescue.theorem1*")],
    "edgeopt check ": systems(),
    "edgeopt check idn.av": ["idn.average", "idn.average.published"],
    "edgeopt search oinc.theorem3 --space ": [
        space.name for space in fitting(known_claim("oinc.theorem3"))
    ],
    "edgeopt tune edr --policies gr": ["greedy"],
    "edgeopt tutorial ": ["1", "2", "3", "4", "5"],
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("line", "expected"), CASES.items())
def test_values_are_offered(
    shell: str,
    line: str,
    expected: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked(shell, line, monkeypatch)
    assert run([]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert offered(shell, printed.out) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_gets_a_script(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_EDGEOPT_COMPLETE", f"source_{shell}")
    assert run([]) == 0
    script = capsys.readouterr().out
    assert f"complete_{shell}" in script
    assert "edgeopt" in script


def test_a_fresh_process_says_only_what_it_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    given = asked("bash", "edgeopt study res", monkeypatch)
    command = [sys.executable, "-c", "from edgeopt.cli import main; main()"]
    done = subprocess.run(
        command, env={**os.environ, **given}, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("rescue\n", "")


HALF = ["--set", "frames=2", "--set", "slots=2", "--set", "tasks=1"]
WRITING = {
    "study": ["study", "edr", "--runs", "2"],
    "generate": ["generate", "edr", *HALF],
    "solve": ["solve", "rescue"],
    "check": ["check", "rescue.routing.published"],
    "search": ["search", "rescue.routing.published"],
    "reproduce": ["reproduce", "rescue", "--quick"],
    "tune": ["tune", "edr", "--budget", "2"],
    "train": ["train", "oinc", "insertion"],
}
FOLDERS = {"study", "check", "reproduce", "train"}


@pytest.mark.parametrize("name", WRITING)
def test_what_others_have_written_is_kept(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file is no folder, with --force or without; a folder that edgeopt has not made is kept."""
    file = tmp_path / "mine.nc"
    file.write_text("mine")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    for place in [file, folder] if name in FOLDERS else [file]:
        assert run([*WRITING[name], "--out", str(place)]) == 2
        [line] = capsys.readouterr().err.splitlines()
        wrong = place is file and name in FOLDERS
        why = "cannot be written: Not a directory" if wrong else "exists; --force replaces it"
        assert line.startswith(f"edgeopt: error: {place} {why}")
    assert file.read_text() == "mine"
    assert [one.name for one in folder.iterdir()] == ["notes.txt"]
