"""Names of policies and instances that attack the reader: every system, every medium."""

from __future__ import annotations

import csv
import dataclasses
import json
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from edgeopt.cli import show
from edgeopt.cli.study import _print
from edgeopt.errors import OutputError
from edgeopt.studies import Picture, find_system, study
from edgeopt.studies.files import csv_text
from edgeopt.writing import printable
from tests.draws import some
from tests.studies.stopping import SYSTEM

if TYPE_CHECKING:
    from pathlib import Path

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
EVIL = [
    "=HYPERLINK(A1) $\\frac{$ <script>alert(1)</script>",
    "-2+3 [red]x[/] \x1b[31m\x9b2J \"quoted\" onload='x' & ]]> -->",
]
LABEL = "@../../etc/x \u202e\x00\r" + "w" * 300


class Reader(HTMLParser):
    """Finds what a browser would run that is none of the page's own."""

    def __init__(self) -> None:
        super().__init__()
        self.attacks: list[str] = []
        self.script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.script = tag == "script"
        self.attacks += [name for name, _ in attrs if name.startswith("onload")]

    def handle_data(self, data: str) -> None:
        if self.script and "alert(1)" in data:
            self.attacks.append("script")

    def handle_endtag(self, tag: str) -> None:
        self.script = False


@pytest.mark.parametrize("name", some(SYSTEMS, "tapfinger"))
def test_every_medium_of_a_study(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = dataclasses.replace(find_system(name), claims=None)
    entries = [
        dataclasses.replace(entry, name=evil, group=evil, variant="")
        for entry, evil in zip(
            [one for one in record.policies.entries if one.default][-2:], EVIL, strict=True
        )
    ]
    assert record.instances.random_small is not None
    found = study(
        {LABEL: record.instances.random_small(0)},
        entries,
        system=record,
        runs=2,
        provenance=[EVIL[0]],
    )
    out = tmp_path / "out"
    page = found.page(out).read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]

    reader = Reader()
    reader.feed(page)
    assert reader.attacks == []
    assert ("&lt;script&gt;alert(1)" in page) is True
    assert set("\x00\x1b\x9b\u202e\r") & set(page) == set()

    pictures = sorted(out.rglob("*.svg"))
    assert pictures
    for path in pictures:
        text = path.read_text(encoding="utf-8")
        tree = ElementTree.fromstring(text)
        assert not [one for one in tree.iter() if one.tag.endswith("script")]
        assert (printable(text) == text) is True

    for path in out.rglob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                for cell in row:
                    assert not cell.startswith(("=", "+", "@", "\t", "\r"))
                    assert not cell.startswith("-") or float(cell) <= 0
    assert list(pd.read_csv(out / "table.csv")["policy"]) == [
        f"'{printable(evil)}" for evil in EVIL
    ]
    rows = json.loads((out / "study.json").read_text(encoding="utf-8"))["policies"]
    assert [row["policy"] for row in rows] == EVIL

    _print(found.cases[0])
    published = capsys.readouterr().out
    assert "[red]x[/]" in published
    assert not set("\x00\x1b\x9b\u202e\r") & set(published)


def test_numbers_are_never_marked_and_texts_always() -> None:
    table = pd.DataFrame(
        {
            "=a": [-1.5, 2.0],
            "mixed": [-1, "-1"],
            "text": ["+x", "plain"],
            "kind": pd.Categorical(["@a", "b"]),
        }
    )
    assert csv_text(table) == "'=a,mixed,text,kind\n-1.5,-1,'+x,'@a\n2.0,'-1,plain,b\n"


def test_a_line_on_the_terminal_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    show.note("a\nexit code 0\x1b[1A\x07")
    assert capsys.readouterr().out == "a exit code 0\\x1b[1A\\x07\n"


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a\0", "x" * 300, "a\nb", ""])
def test_a_picture_is_no_path(name: str) -> None:
    picture = Picture(name, lambda case: "title", lambda case: None, "caption")  # type: ignore[arg-type, return-value]
    with pytest.raises(OutputError, match="cannot be a file name"):
        dataclasses.replace(SYSTEM.reporting, pictures=(picture,))
