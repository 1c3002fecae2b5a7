"""The record of what the package computes: what it leaves out, and what it calls a difference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.record import PARTS, compare, differences, masked, write

if TYPE_CHECKING:
    from pathlib import Path

OLD = {"seconds": 1.0, "rows": [{"value": 2.0, "decision_us": 3.0, "name": "a", "none": None}]}


def test_times_are_left_out() -> None:
    assert masked(OLD) == {"rows": [{"value": 2.0, "name": "a", "none": None}]}


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ({"value": 2.0 + 1e-12, "name": "a", "none": None}, []),
        ({"value": 2.00001, "name": "a", "none": None}, ["/rows[0]/value: 2.0 -> 2.00001"]),
        ({"value": 2, "name": "b", "none": None}, ["/rows[0]/name: 'a' -> 'b'"]),
        ({"value": 2.0, "name": "a", "none": False}, ["/rows[0]/none: None -> False"]),
        ({"value": 2.0, "name": "a"}, ["/rows[0]/none: only in the old record"]),
    ],
)
def test_what_counts_as_a_difference(new: dict[str, Any], said: list[str]) -> None:
    assert list(differences(masked(OLD), {"rows": [new]})) == said


def test_a_missing_row_is_a_difference() -> None:
    assert list(differences(masked(OLD), {"rows": []})) == [
        "/rows: [{'value': 2.0, 'name': 'a', 'none': None}] -> []"
    ]


def test_written_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "study", lambda system: OLD | {"system": system})
    for name in ("old", "new"):
        write(tmp_path / name, ["rescue", "idn"], ["study"])
    assert compare(tmp_path / "old", tmp_path / "new") == 0
    (tmp_path / "new/idn-study.json").write_text(json.dumps({"system": "edr"}))
    (tmp_path / "old/rescue-study.json").unlink()
    assert compare(tmp_path / "old", tmp_path / "new") == 3
