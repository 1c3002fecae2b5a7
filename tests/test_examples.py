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


def test_rounding_keeps_means_and_the_safe_modes_their_budget(tmp_path: Path) -> None:
    text = printed("rounding", tmp_path)
    found = {
        mode: ([float(mean) for mean in means.split()], float(most))
        for mode, means, most in re.findall(r"^(\w+) mean \[(.*?)\] MB at most (\d+)", text, re.M)
    }
    assert set(found) == {"bernoulli", "half", "drop"}
    # Ten thousand rows: a mean is off by more than 0.03 with a chance below 4e-8 each (Hoeffding).
    assert found["bernoulli"][0] == pytest.approx([0.5, 1 / 3, 0.75], abs=0.03)
    assert found["bernoulli"][1] > 5
    for mode in ("half", "drop"):
        assert found[mode][1] <= 5
    law = re.findall(r"^\((.*)\) (\d+)/(\d+)$", text, re.M)
    assert sum(int(n) / int(d) for _, n, d in law) == pytest.approx(1)
    assert "(0, 0, 1) 1/6" in text


def test_energy_cap_shows_what_gives_way(tmp_path: Path) -> None:
    text = printed("energy_cap", tmp_path)
    rows = {row.split()[1]: row.split()[2:] for row in re.findall(r"^\d .*$", text, re.M)}
    assert list(rows) == ["saddle_point", "lyapunov", "quantile+shed"]
    ratio, violated, late, unserved = (
        [float(row[place]) for row in rows.values()] for place in (1, 2, 3, 4)
    )
    assert all(1 <= one < 3 for one in ratio)
    # One sheds requests and keeps the four caps, the others serve and exceed some.
    assert violated[0] > 0 == violated[2]
    assert unserved[2] > 0 == unserved[0]
    assert max(violated) <= 4
    assert min(late) >= 0


def test_beside_requests_answers_and_retrains(tmp_path: Path) -> None:
    text = printed("beside_requests", tmp_path)
    assert re.search(r"^\d+% of \d+ requests in time$", text, re.M)
    rows = [row.split() for row in re.findall(r"^\d .*$", text, re.M)]
    assert [row[1] for row in rows[:3]] == ["oinc", "ekya", "kalmia"]
    assert len(rows) == 4
    for row in rows:
        latency, completion, requests, jobs = (float(figure) for figure in row[-4:])
        assert 0 < latency < 3
        assert 0 < completion < 1000
        assert 0 < requests <= 1
        assert 0 <= jobs <= 1


def test_across_clusters_compares_within_valid_bounds(tmp_path: Path) -> None:
    text = printed("across_clusters", tmp_path)
    mean, gap = re.findall(r"^(\S+) slots, gap (\S+)%$", text, re.M)[0]
    assert 2 < float(mean) < 8
    assert 0 <= float(gap) < 50
    rows = [row.split() for row in re.findall(r"^\d+ .*$", text, re.M)]
    assert [row[1] for row in rows] == ["rollout", "optimus", "tiresias+elastic", "min"]
    assert [row[4] for row in rows] == ["BOUND(fixed)", "BOUND(any)", "BOUND(any)", "BOUND(fixed)"]
    assert all(float(row[3]) >= 0 for row in rows)


def test_every_example_is_tested() -> None:
    examples = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert examples == {
        "ten_lines", "own_policy", "rounding", "energy_cap", "beside_requests", "across_clusters",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("place", "example"),
    [
        (0, "ten_lines"),
        (1, "rounding"),
        (2, "energy_cap"),
        (3, "beside_requests"),
        (4, "across_clusters"),
    ],
)
def test_readme_shows_the_examples(place: int, example: str) -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(shown) == 5
    assert shown[place] in (ROOT / "examples" / f"{example}.py").read_text()
    # So that the ten lines are ten.
    assert len([line for line in shown[place].splitlines() if line.strip()]) <= 10


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
