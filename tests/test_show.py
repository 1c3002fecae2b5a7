"""Tables on a terminal: a line per row, within the window, and what is left out is said."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from edgeopt.cli import show
from edgeopt.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS = ["policy", "penalised cost per run", "share of the optimum", "unserved", "late tasks"]
ROWS = [
    ["Even rate", "1236.9 ± 0.056", "113.9 %", "20529", "0"],
    ["Shedding saddle point", "7.0 ± 1", "90.1 %", "123", "6.00"],
]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    def printing(width: int, rows: list[list[str]] = ROWS, **options: Any) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys, "stdout", out := _Terminal())
        show.table("What it costs", COLUMNS, rows, **options)
        return out.getvalue().splitlines()

    return printing


@pytest.mark.parametrize("width", [60, 75, 90, 200])
def test_a_row_is_a_line_within_the_window(printed: Callable[..., list[str]], width: int) -> None:
    lines = printed(width)
    assert max(map(len, lines)) <= width
    for row in ROWS:
        [mine] = [line for line in lines if line.startswith(row[0])]
        found = [cell for cell in row[1:] if f" {cell}" in mine]
        assert found == row[1 : 1 + len(found)]
        left_out = len(COLUMNS) - 1 - len(found)
        assert (f"{left_out} column" in lines[-1]) == (left_out > 0)
        assert width < 75 or left_out == 0


def test_long_names_are_cut_and_rows_beyond_the_most_are_counted(
    printed: Callable[..., list[str]],
) -> None:
    long = [["N" * 50, *ROWS[0][1:]], *ROWS, *ROWS]
    lines = printed(70, long, most=3)
    assert max(map(len, lines)) <= 70
    assert sum(line.startswith("N" * 29 + "\N{HORIZONTAL ELLIPSIS}") for line in lines) == 1
    assert lines[-1].startswith("2 rows")
    wide = printed(70, long, most=3, wide=True)
    assert any(line.startswith("N" * 50) for line in wide)
    assert sum(line.startswith("Even rate") for line in wide) == 2


def test_a_table_without_rows_has_its_headings(capsys: pytest.CaptureFixture[str]) -> None:
    show.table("Nothing yet", ["policy", "cost"], [])
    assert "cost" in capsys.readouterr().out


@pytest.mark.parametrize(("columns", "widest"), [("60", 60), ("100", 100), ("", 1000), ("0", 1000)])
def test_a_pipe_is_as_wide_as_columns_says(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    columns: str,
    widest: int,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert show.width() == widest
    show.table("What it costs", COLUMNS, [*ROWS, ["Other", *["9" * 30] * 4]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= widest
    assert ("with --wide" in lines[-1]) == (widest < 1000)


COMMANDS = {
    "study rescue --runs 12 --no-claims": "Results hold for this instance",
    "study edr --runs 2 --no-claims --set frames=3": "Results hold for this instance",
    "study tapfinger --runs 2 --no-claims": "Results hold for this instance",
    "study oinc --draws 2 --runs 2 --no-claims --set slots=5 --set jobs=2": "Add --out",
    "solve rescue": "The reference bound",
    "check rescue.theorem1 rescue.lemma2 --instances 1": "claim",
    "collection": "with --wide",
    "collection show rescue-paper-k2-t30": "found",
    "bench --online rescue* --dry-run": "all, on",
    "bench --online srs --instances rescue-paper-k2-t30 --runs 4 --out out": "Report: out",
    "reproduce tapfinger --figure 2 --quick": "2 of 2 published statements agree",
    "reproduce rescue --figure 1 --quick": "a full one may judge otherwise",
    "solvers": "highs",
}


@pytest.mark.parametrize("columns", ["80", "100", "120", ""])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_answer_comes_first_and_everything_fits(
    command: str,
    columns: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", columns)
    assert run(command.split()) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert COMMANDS[command] in " ".join(out.split())
    if columns:
        # A line is wider only where a single word is.
        assert all(len(line) <= int(columns) for line in lines if len(line.split()) > 1)
    answer = " ".join(out.split("\n\n")[0].split())
    assert len(answer.split(". ")[0].split()) <= 40
    rule = next((at for at, line in enumerate(lines) if line.startswith("\u2500")), len(lines))
    table = lines[rule + 1 :]
    ends = ("Results hold", "Add --out", "more with --wide")
    if command.startswith("study"):
        rows = next(at for at, line in enumerate(table) if any(end in line for end in ends))
        assert 1 <= rows <= 8


PROGRESS = {
    "study rescue --runs 2 --no-claims --policies srs --out out": "report",
    "study oinc --runs 2 --set slots=5 --set jobs=2 --policies ekya": "checking claims",
    "solve idn": "static bound",
    "generate tapfinger --out drawn.nc": "drawing",
    "check rescue.lemma2": "jobs",
    "search rescue.lemma2 --budget 2": "2",
    "verify PROOF": "PROOF",
    "collection verify rescue-paper-k2-t30": "rescue-paper-k2-t30",
    "bench --online srs --instances rescue-paper-k2-t30 --runs 2 --out out": "report",
    "reproduce tapfinger --table II --quick": "tables and pictures",
    "tune edr --policies even_rate --modes none --budget 1": "none",
}
"""Commands that may take more than two seconds, and something that is said while they work."""


@pytest.mark.parametrize("command", PROGRESS)
def test_what_takes_long_says_what_is_at_work(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stderr", told := _Terminal())
    assert run(command.split()) in (0, 1, 2)
    assert PROGRESS[command] in told.getvalue()


@pytest.mark.parametrize(
    "command",
    ["study rescue --runs 2 --no-claims", "solve rescue", "collection show rescue-paper-k2-t30",
     "check rescue.lemma2", "collection", "solvers"],
)  # fmt: skip
def test_documents_have_the_version_of_their_schema(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command.split(), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(one["schema"] == 1 for one in (found if isinstance(found, list) else [found]))
