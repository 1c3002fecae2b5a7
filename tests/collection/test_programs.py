"""Solvers on a folder of programs: values by hand, answers held against each other, kept jobs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.cli.main import run
from edgeopt.collection import bench_programs, programs
from edgeopt.errors import InputError, OptionError
from edgeopt.solvers import LinearProgram, solve

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five programs: a blend, a knapsack to be maximised, one without points, one in MATLAB."""
    home = tmp_path / "mine"
    for name in ("linear", "whole", "none"):
        (home / name).mkdir(parents=True)
    LinearProgram([3, 1], [[1, 1], [1, -1]], [4, -2], np.inf).write(home / "linear" / "blend.mps")
    knapsack().write(home / "whole" / "knapsack.lp")
    LinearProgram([1], [[1], [1]], [2, -np.inf], [np.inf, 1]).write(home / "none" / "gap.mps.gz")
    (home / "notes.txt").write_text("no program")
    return home


def knapsack() -> LinearProgram:
    """Return the choice among four things, three fifths of which fit."""
    return LinearProgram(
        [6, 5, 4, 3], [[5, 4, 3, 2]], -np.inf, [8], 0, 1, integer=True, sense="max"
    )


def best_choice() -> float:
    """Return what the best things are worth, by trying all sets."""
    sets = product((0, 1), repeat=4)
    return float(max(np.dot([6, 5, 4, 3], x) for x in sets if np.dot([5, 4, 3, 2], x) <= 8))


def of(results: pd.DataFrame, instance: str) -> dict[str, dict[str, Any]]:
    rows = results[results["instance"] == instance].set_index("competitor")
    return rows.to_dict("index")  # type: ignore[return-value]


def test_every_solver_is_told_by_what_the_data_say(folder: Path, tmp_path: Path) -> None:
    found = bench_programs(folder, ["highs", "scipy", "clarabel"], gap=1e-6, progress=False)
    blend = of(found.results, "linear/blend.mps")
    assert [one["value"] for one in blend.values()] == pytest.approx([6.0] * 3)  # at x=1, y=3
    assert {one["failed"] for one in blend.values()} == {""}
    whole = of(found.results, "whole/knapsack.lp")
    assert set(whole) == {"highs", "scipy"}  # cones hold no whole numbers
    assert whole["highs"]["value"] == whole["scipy"]["value"] == best_choice()
    assert {one["answer"] for one in of(found.results, "none/gap.mps.gz").values()} == {
        "infeasible"
    }
    assert found.gaps("offline").loc["highs", "worst"] < 1e-6  # a proof leaves nothing open
    group = found.group("offline")
    assert group.instances == ["linear/blend.mps", "none/gap.mps.gz"]  # taken by all three
    assert set(group.systems) == {"linear", "none"}
    page = found.save(tmp_path / "out").read_text(encoding="utf-8")
    assert "Comparison on 3 programs of mine" in page
    assert "2 programs (1 other not taken by all)" in page
    assert not (tmp_path / "out" / "submissions").exists()


def answer(competitor: str, kind: str, value: float | None, bound: float | None) -> dict[str, Any]:
    return {
        "instance": "a", "target": 1e-6, "competitor": competitor, "answer": kind, "value": value,
        "bound": bound, "sense": "max", "terms": 10.0, "failed": "",
    }  # fmt: skip


def test_a_point_proves_others_wrong() -> None:
    rows = [
        answer("right", "solved", 9.0, 9.0),
        answer("low", "point", 8.0, 8.5),
        answer("none", "infeasible", None, None),
        answer("rounded", "solved", 9.0, 9.0 - 1e-9),
    ]
    said = {row["competitor"]: row["failed"] for row in programs._held_together(rows)}
    assert said["right"] == said["rounded"] == ""
    assert said["low"] == "wrong: its bound 8.5 excludes that right has a point of 9"
    assert said["none"] == "wrong: infeasible, it says; right has a point of 9"


def test_what_is_finished_is_not_solved_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved: list[str] = []

    def counted(program: LinearProgram, solver: str, **options: Any) -> Any:
        solved.append(solver)
        return solve(program, solver, **options)

    programs._warm("highs")
    monkeypatch.setattr(programs, "solve", counted)
    first = bench_programs(folder, ["highs"], store=tmp_path / "jobs", progress=False)
    assert len(solved) == 3  # a tight answer serves the wider gaps
    again = bench_programs(folder, ["highs"], store=tmp_path / "jobs", progress=False)
    assert len(solved) == 3
    assert again.results.equals(first.results)
    LinearProgram([2, 1], [[1, 1], [1, -1]], [4, -2], np.inf).write(folder / "linear" / "blend.mps")
    bench_programs(folder, ["highs"], store=tmp_path / "jobs", progress=False)
    assert len(solved) == 4


def test_a_file_that_cannot_be_read_fails_alone(folder: Path) -> None:
    (folder / "linear" / "torn.mps").write_text("ROWS\n N cost\n G need\nCOLUMNS\n x need one\n")
    found = bench_programs(folder, ["highs"], gap=1e-6, progress=False)
    assert "torn.mps, line 5" in of(found.results, "linear/torn.mps")["highs"]["failed"]
    assert (found.results["failed"] != "").sum() == 1


def test_mistakes_are_told_before_work_begins(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no file that ends in \.mps"):
        bench_programs(tmp_path, ["highs"])
    with pytest.raises(OptionError, match="solver 'auto' is not installed"):
        bench_programs(tmp_path, ["auto"])


def test_the_command_compares_files(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["bench", "--programs", str(folder)]
    out = str(tmp_path / "out")
    assert run([*given, "--offline", "highs,scipy", "--gap", "1e-6", "--out", out]) == 0
    assert "offline, 3 programs: " in capsys.readouterr().out
    assert run([*given, "--online", "min", "--out", out]) == 2
    assert "--online: does not go with --programs" in capsys.readouterr().err
