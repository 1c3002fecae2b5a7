"""What all exhibits of all systems owe: cells of their own, headings, reasons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from edgeopt.studies import find_system, systems

if TYPE_CHECKING:
    from edgeopt.studies.exhibits import Exhibit

OWN = ["rescue", "idn", "oinc", "edr", "tapfinger"]

EXHIBITS = [
    pytest.param(exhibit, id=f"{name}-{exhibit.name}")
    for name in OWN
    for exhibit in find_system(name).figures
]


def test_every_system_has_exhibits() -> None:
    assert systems()[: len(OWN)] == OWN
    assert all(len(find_system(name).figures) > 5 for name in OWN)


@pytest.mark.parametrize("exhibit", EXHIBITS)
def test_quick_cells_are_distinct_and_fewer(exhibit: Exhibit) -> None:
    quick = exhibit.cells(True)
    assert len({cell.key for cell in quick}) == len(quick) > 0


@pytest.mark.parametrize("exhibit", EXHIBITS)
def test_readers_learn_what_may_differ(exhibit: Exhibit) -> None:
    assert exhibit.columns
    assert exhibit.title[0] != exhibit.title[0].upper() or exhibit.title.split()[0].isupper()
    assert not exhibit.title.endswith(".")
    for sentence in (*exhibit.differs, *(line.why for line in exhibit.printed if line.why)):
        assert sentence.endswith("."), sentence
    assert len({line.what for line in exhibit.printed}) == len(exhibit.printed)


def test_the_recipe_for_a_figure_is_that_of_the_example() -> None:
    root = Path(__file__).parents[3]
    section = (
        (root / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## How to add a figure")[1]
    )
    recipe = section.split("```python\n")[1].split("```")[0]
    example = root / "examples" / "sixth_system" / "src" / "sixth_system" / "exhibits.py"
    assert recipe in example.read_text(encoding="utf-8")
    assert len(recipe.splitlines()) <= 40
