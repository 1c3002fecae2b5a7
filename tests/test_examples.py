"""The examples run, print what they promise, and are the ones that the readme shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def printed(example: str, folder: Path) -> str:
    """What an example prints when it runs in an empty folder."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{example}.py")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ten_lines_print_optimum_ratios_and_verdicts(tmp_path: Path) -> None:
    text = printed("ten_lines", tmp_path)
    assert re.search(r"OPT\(LP\) = \d+\.\d\d, proven to a relative gap of \S+", text)
    rows = [row.split() for row in re.findall(r"^\d+ .*$", text, re.M)]
    assert [row[1] for row in rows] == ["rescue", "rescueplus", "srs"]
    assert all(0.3 < float(row[3]) < 1.0 for row in rows)
    assert text.count("holds") == 2


def test_own_policy_is_compared_and_stepped_by_hand(tmp_path: Path) -> None:
    text = printed("own_policy", tmp_path)
    assert "Selective" in text
    assert re.search(r"decision: Placement\(server=\d, profile=\d\)", text)
    assert "usual profit per busy slot: 0.150" in text


def test_every_example_is_tested() -> None:
    examples = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert examples == {"ten_lines", "own_policy"}


def test_readme_shows_the_ten_lines() -> None:
    shown = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert shown is not None
    assert shown[1] in (ROOT / "examples" / "ten_lines.py").read_text()
    assert len([line for line in shown[1].splitlines() if line.strip()]) <= 10


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "THIRD_PARTY.md"])
def test_linked_files_exist(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_commands_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    readme = (ROOT / "README.md").read_text()
    for target in re.findall(r"\bmake ([a-z-]+)", readme):
        assert re.search(rf"^{target}:", makefile, re.M)
    from edgeopt.cli.main import app

    commands = {command.callback.__name__ for command in app.registered_commands}
    assert set(re.findall(r"`edgeopt ([a-z]+)", readme)) <= commands


def test_files_that_contributors_are_sent_to_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = [row.split("|")[1] for row in re.findall(r"^\| `.*$", text, re.MULTILINE)]
    paths = [path for cell in table for path in re.findall(r"`([^`]+)`", cell)]
    # A file that is to be written, such as SOLVER.py, has a folder to go to.
    places = [re.sub(r"[A-Z]+\.py$", "", path.replace("NAME", "rescue")) for path in paths]
    assert len(places) > 20
    assert [place for place in places if not (ROOT / place).exists()] == []
