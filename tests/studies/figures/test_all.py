"""What all figures of all systems have: distinct cells, headings, caveats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from edgeopt.studies import find_system, systems

if TYPE_CHECKING:
    from edgeopt.studies.figures import PaperFigure

OWN = ["rescue", "idn", "oinc", "edr", "tapfinger"]

PAPER_FIGURES = [
    pytest.param(paper_figure, id=f"{name}-{paper_figure.name}")
    for name in OWN
    for paper_figure in find_system(name).figures
]


def test_every_system_has_paper_figures() -> None:
    assert systems()[: len(OWN)] == OWN
    assert all(len(find_system(name).figures) > 5 for name in OWN)


@pytest.mark.parametrize("paper_figure", PAPER_FIGURES)
def test_quick_cells_are_distinct_and_fewer(paper_figure: PaperFigure) -> None:
    quick = paper_figure.cells(True)
    assert len({cell.key for cell in quick}) == len(quick) > 0


@pytest.mark.parametrize("paper_figure", PAPER_FIGURES)
def test_headings_and_caveats_are_complete(paper_figure: PaperFigure) -> None:
    assert paper_figure.columns
    title = paper_figure.title
    assert title[0] != title[0].upper() or title.split()[0].isupper()
    assert not title.endswith(".")
    reasons = [line.why for line in paper_figure.published if line.why]
    for sentence in (*paper_figure.caveats, *reasons):
        assert sentence.endswith("."), sentence
    assert len({line.what for line in paper_figure.published}) == len(paper_figure.published)


def test_the_recipe_for_a_figure_is_that_of_the_example() -> None:
    root = Path(__file__).parents[3]
    section = (
        (root / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## How to add a figure")[1]
    )
    spec = section.split("```python\n")[1].split("```")[0]
    example = root / "examples" / "sixth_system" / "src" / "sixth_system" / "paper_figures.py"
    assert spec in example.read_text(encoding="utf-8")
    assert len(spec.splitlines()) <= 40
