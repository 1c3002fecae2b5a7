"""What counts as a difference between what is stored and what is made anew."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from edgeopt_papers.derived import main
from edgeopt_papers.provenance import STAMPS, differences, renew, stamp

import edgeopt

if TYPE_CHECKING:
    from pathlib import Path

STORED: dict[str, Any] = {
    "version": "0.0.1", "commit": "0123abc", "seconds": 3.5, "format": 2,
    "rows": [{"name": "a", "value": 1.5, "none": None, "known": True, "parts": [1, 2]}],
}  # fmt: skip


def edited(**change: Any) -> dict[str, Any]:
    return STORED | {"rows": [STORED["rows"][0] | change]}


@pytest.mark.parametrize(
    "new",
    [
        STORED,
        STORED | dict.fromkeys(STAMPS, "other"),
        {name: value for name, value in STORED.items() if name not in STAMPS},
        edited(value=1.5 * (1 + 1e-10)),
        edited(parts=[1.0, 2 + 1e-10]),
    ],
)
def test_stamps_and_rounding_are_no_difference(new: dict[str, Any]) -> None:
    assert list(differences(STORED, new)) == []


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (edited(value=1.5 * (1 + 1e-8)), ["rows[0].value: 1.5 is now 1.500000015"]),
        (edited(value=math.nan), ["rows[0].value: 1.5 is now nan"]),
        (edited(value=math.inf), ["rows[0].value: 1.5 is now inf"]),
        (edited(value=None), ["rows[0].value: 1.5 is now None"]),
        (edited(known=1), ["rows[0].known: True is now 1"]),
        (edited(name="b", more=0), ["rows[0].name: 'a' is now 'b'", "rows[0].more is new"]),
        (edited(parts=[1]), ["rows[0].parts: '2 entries' is now '1 entries'"]),
        (edited(parts=[1, 3]), ["rows[0].parts[1]: 2 is now 3"]),
        (STORED | {"rows": []}, ["rows: '1 entries' is now '0 entries'"]),
        ({"format": 2}, ["rows is gone"]),
    ],
)
def test_everything_else_is_named(new: dict[str, Any], said: list[str]) -> None:
    assert list(differences(STORED, new)) == said


def test_numbers_that_are_missing_or_infinite_in_both_are_the_same() -> None:
    for value in (math.nan, math.inf):
        assert list(differences(edited(value=value), edited(value=value))) == []


def test_a_file_is_written_where_it_differs_and_not_to_check(tmp_path: Path) -> None:
    path = tmp_path / "stored.json"
    for check in (True, False):
        assert len(renew(path, json.dumps(STORED), check=check)) == 2
        assert path.exists() != check
    before = path.read_text()
    assert renew(path, json.dumps(STORED | {"version": "0.0.2"})) == []
    assert path.read_text() == before
    assert renew(path, json.dumps(edited(value=2)), check=True)
    assert path.read_text() == before
    assert renew(path, json.dumps(edited(value=2)))
    assert json.loads(path.read_text()) == edited(value=2)


def test_a_release_fails_where_something_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rescue.json"
    path.write_text(json.dumps(STORED))
    made = edited(parts=list(range(2, 30))) | {"more": dict.fromkeys("abc", 1)}
    made |= {f"new{number}": 0 for number in range(20)}
    monkeypatch.setattr(
        "edgeopt_papers.claims.stored.documents", lambda: [(path, json.dumps(made))]
    )
    assert main(["verdicts", "--check"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "verdicts, rescue: 22 differences"
    assert len(lines) == 11
    assert main(["verdicts"]) == 0
    assert main(["verdicts", "--check"]) == 0
    assert capsys.readouterr().out.endswith("\nverdicts, rescue: the same\n")
    with pytest.raises(SystemExit):
        main(["verdict"])


def test_a_stamp_says_version_and_commit() -> None:
    assert stamp().version == edgeopt.__version__
    assert str(stamp()).startswith(f"edgeopt {edgeopt.__version__}")
    assert "unknown" not in str(stamp())
