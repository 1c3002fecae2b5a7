"""``edgeopt reproduce`` as people type it, rightly and wrongly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from edgeopt.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path

TABLE = ["reproduce", "idn", "--table", "II", "--workers", "1"]


def test_a_table_with_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TABLE, "--wide", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "Table II: the catalogue of models" in printed.out
    assert "433" in printed.out
    assert "may differ" in printed.out
    assert printed.err == ""
    assert {path.name for path in tmp_path.iterdir()} == {
        ".edgeopt",
        "caveats.csv",
        "jobs",
        "index.html",
        "published.csv",
        "reproduction.json",
        "table-ii.csv",
        "table-ii.svg",
    }


def test_lines_that_differ_in_their_setting_alone_say_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["reproduce", "rescue", "--figure", "3", "--quick", "--workers", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("what")).endswith("setting")
    rows = [line.split()[-1] for line in lines if line.startswith("utilisation gained")]
    assert rows == ["unguarded", "guarded"]


def test_json_holds_what_the_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TABLE, "--json", "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("schema") == 1
    assert printed == json.loads((tmp_path / "reproduction.json").read_text(encoding="utf-8"))
    [paper_figure] = printed["paper_figures"]
    assert len(paper_figure["rows"]) == 10


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "system 'nothing' is unknown"),
        (["idn", "--figure", "77"], "idn has no figure '77' to reproduce; choose from Table II"),
        (["idn", "--figure", "77", "--figure", "4"], "idn has no figure '77' to reproduce"),
        (["idn", "--figure", "77,4"], "idn has no figure '77' to reproduce"),
        (["idn", "--figure", ","], "figure: must not be empty; leave it out to reproduce all"),
        (["idn", "--table", "9"], "idn has no table '9'"),
        ([*TABLE[1:4], "--workers", "0"], "workers = 0"),
        ([*TABLE[1:], "--cluster", "tcp://127.0.0.1:1"], "--workers and --cluster"),
        ([*TABLE[1:4], "--out", "/dev/null/here"], "/dev/null/here"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith("edgeopt: error: ")
    assert said in line


def test_a_cluster_that_is_not_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("edgeopt.studies.sweeps.sweep._PATIENCE", 1)
    assert run([*TABLE[:4], "--cluster", "tcp://127.0.0.1:9"]) == 2
    said = "edgeopt: error: no Dask scheduler answers at 'tcp://127.0.0.1:9'"
    assert capsys.readouterr().err.splitlines()[-1].startswith(said)
