"""Tables on a terminal: nothing that matters is cut, however narrow it is."""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING

import pytest

from edgeopt.cli import show

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = ["policy", "penalised cost per run", "share of the optimum", "unserved", "late tasks"]
ROWS = [
    ["Even rate", "1236.9 ± 0.056", "113.9 %", "20529", "0"],
    ["Shedding saddle point", "7.0 ± 1", "90.1 %", "123", "6.00"],
]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    def run(width: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys, "stdout", out := _Terminal())
        show.table("What it costs", COLUMNS, ROWS)
        return re.sub(r"\x1b\[\d*m", "", out.getvalue()).splitlines()

    return run


@pytest.mark.parametrize("width", [45, 60, 75, 90, 200])
def test_no_cell_is_cut_or_wrapped(printed: Callable[[int], list[str]], width: int) -> None:
    lines = printed(width)
    assert all(len(line) <= width for line in lines)
    for row in ROWS:
        mine = [line for line in lines if f" {row[0]} " in line]
        assert mine
        for cell in row[1:]:
            assert sum(f" {cell} " in line for line in mine) == 1
    words = " ".join(lines)
    assert all(word in words for column in COLUMNS for word in column.split())


def test_parts_repeat_the_name_and_only_the_first_has_the_title(
    printed: Callable[[int], list[str]],
) -> None:
    narrow, wide = printed(45), printed(200)
    assert sum("Even rate" in line for line in narrow) > 1
    assert sum("Even rate" in line for line in wide) == 1
    assert sum("What it costs" in line for line in narrow) == 1


def test_a_table_without_rows_has_its_headings(
    printed: Callable[[int], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
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
    show.table("What it costs", COLUMNS, [*ROWS, ["Other", *["9" * 30] * 4]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= widest
    parts = sum("Other" in line for line in lines)
    assert parts == 1 if widest == 1000 else parts > 1
