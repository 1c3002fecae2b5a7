"""What all figures of all systems have: distinct jobs, headings, caveats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from edgeopt_papers import cases

from edgeopt.studies import systems

if TYPE_CHECKING:
    from edgeopt_papers.figures import PaperFigure

OWN = ["rescue", "idn", "oinc", "edr", "tapfinger"]


def _in_full(spec: object) -> str:
    return repr(sorted(vars(spec).items()))


@pytest.fixture(autouse=True)
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instances take long to draw, so their specs stand for their fingerprints."""
    monkeypatch.setattr("edgeopt_papers.figures.jobs._fingerprint", _in_full)


PAPER_FIGURES = [
    pytest.param(paper_figure, id=f"{name}-{paper_figure.name}")
    for name in OWN
    for paper_figure in cases.figures(name)
]


def test_every_system_has_paper_figures() -> None:
    assert systems()[: len(OWN)] == OWN
    assert all(len(cases.figures(name)) > 5 for name in OWN)


@pytest.mark.parametrize("paper_figure", PAPER_FIGURES)
def test_quick_jobs_are_distinct_and_fewer(paper_figure: PaperFigure) -> None:
    quick = paper_figure.listed(True)
    assert len({job.key for job in quick}) == len(quick)
    assert bool(quick) is (paper_figure.jobs is not None)


@pytest.mark.parametrize("paper_figure", PAPER_FIGURES)
def test_headings_and_caveats_are_complete(paper_figure: PaperFigure) -> None:
    assert paper_figure.columns
    title = paper_figure.title
    assert title[0] != title[0].upper() or title.split()[0].isupper()
    assert not title.endswith(".")
    reasons = [
        line.why for line in paper_figure.published if isinstance(line.why, str) and line.why
    ]
    for quick in (True, False):
        for sentence in (*paper_figure.caveats_of(quick), *reasons):
            assert sentence.endswith("."), sentence
    lines = [(line.what, line.setting) for line in paper_figure.published]
    assert len(set(lines)) == len(lines)


def test_the_recipe_for_a_figure_is_that_of_the_example() -> None:
    root = Path(__file__).parents[3]
    section = (
        (root / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## How to add a figure")[1]
    )
    spec = section.split("```python\n")[1].split("```")[0]
    example = root / "examples" / "sixth_system" / "src" / "sixth_system" / "paper_figures.py"
    assert spec in example.read_text(encoding="utf-8")
    assert len(spec.splitlines()) <= 40


NUMBERS = {
    "oinc": "2 3 I 4 5 6 7 8 9 10 11",
    "edr": "4a 4b 4c 4d 4e 4f 4g 4h 5 6 7 8",
    "tapfinger": "2 4 II 5ab 5cd 6 7 8 9ab 9cd 10 11 12 13 14 15",
}
"""What an evaluation has, in its order."""


@pytest.mark.parametrize("system", NUMBERS)
def test_the_whole_evaluation_is_there_in_the_order_of_the_paper(system: str) -> None:
    assert [one.number for one in cases.figures(system)] == NUMBERS[system].split()


@pytest.mark.parametrize("system", ["rescue", *NUMBERS])
def test_full_size_lists_every_job_once(system: str) -> None:
    for paper_figure in cases.figures(system):
        full, quick = ([job.key for job in paper_figure.listed(few)] for few in (False, True))
        assert len(set(full)) == len(full) >= len(quick)
        assert bool(quick) is (paper_figure.jobs is not None)
        # Measured times, and what is placed by hand, are the same at both sizes.
        assert system in ("rescue", "tapfinger") or not set(full) & set(quick)
