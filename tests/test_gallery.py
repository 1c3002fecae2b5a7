"""The pictures of the README are those that are drawn now."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fill import gallery

DOCS = Path(__file__).parents[1] / "docs"

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def apart(stored: str, drawn: str) -> str:
    """Return the first place where two pictures differ by more than the rounding of a number."""
    if NUMBER.sub("#", stored) != NUMBER.sub("#", drawn):
        return "other elements or words"
    for one, other in zip(NUMBER.finditer(stored), NUMBER.findall(drawn), strict=True):
        decimals = len(one[0].partition(".")[2])
        # Processors differ in the last bits, and so may the last digit that is written.
        if abs(float(one[0]) - float(other)) > 1.01 * 10.0**-decimals:
            return f"...{stored[max(0, one.start() - 60) : one.end()]} is now {other}"
    return ""


def test_pictures_differ_by_more_than_a_last_digit() -> None:
    assert apart('<path d="M 1.25 3"/>', '<path d="M 1.26 3"/>') == ""
    assert "is now 1.28" in apart('<path d="M 1.25 3"/>', '<path d="M 1.28 3"/>')
    assert apart("<text>gap 3 %</text>", "<text>gap of 3 %</text>")
    assert apart("<g/>", "<g/><g/>")


@pytest.mark.parametrize("system", ["rescue", "idn", "oinc", "edr", "tapfinger"])
def test_pictures_of_the_readme_are_drawn_by_this_code(system: str) -> None:
    stored = (DOCS / "_static" / "gallery" / f"{system}.svg").read_text(encoding="utf-8")
    found = apart(stored, gallery.drawn(system) + "\n")
    assert not found, f"{found}: run `make gallery`"


def test_no_system_is_left_out() -> None:
    stored = {path.stem for path in (DOCS / "_static" / "gallery").iterdir()}
    assert stored == {*gallery.SYSTEMS, *(f"badge-{name}" for name in gallery.badges())}


def test_badges_of_the_readme_are_drawn_by_this_code() -> None:
    drawn = gallery.badges()
    for name, svg in drawn.items():
        stored = DOCS / "_static" / "gallery" / f"badge-{name}.svg"
        assert stored.read_text(encoding="utf-8") == svg + "\n", "run `make gallery`"
        assert ElementTree.fromstring(svg).attrib["aria-label"].startswith(f"{name}: ")
    assert not re.search(r"\b0 (hold|refuted)", drawn["claims"]), "run `make verdicts`"
