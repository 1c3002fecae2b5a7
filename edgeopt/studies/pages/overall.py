"""A study of several instances in words: best policy, its bound, violations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.bounds.intervals import spread
from edgeopt.studies.pages import headlines as first_words
from edgeopt.studies.pages.headlines import Finding, Headline
from edgeopt.studies.wording import plural, power

if TYPE_CHECKING:
    from edgeopt.studies.results import Study

NAME: Final = "overall"
"""File name of the picture, and prefix of what is in it."""


def lead(study: Study) -> str:
    """Return the summary in a few sentences: the first policy, its bound, violations, its lead."""
    return first_words.lead(study.standings)


def headlines(study: Study) -> list[Headline]:
    """Return the most important figures."""
    bounds = np.array([case.benchmark.bound for case in study.cases])
    gap = power(max(case.benchmark.gap for case in study.cases))
    middle = spread(bounds, "positive" if (bounds > 0).all() else "signed")
    return [
        *first_words.headlines(study.standings),
        Headline(
            study.system.objective.amount(middle.centre),
            f"{study.cases[0].label}, the reference bound",
            f"over {plural(len(study.cases), 'instance')}; proven relative gap at most {gap}",
        ),
    ]


def findings(study: Study) -> list[Finding]:
    """Return what is beaten, and what bound and measure are."""
    said = first_words.others(study.standings)
    bound = study.system.offline.bounds[study.system.offline.reference]
    said.append(Finding("Reference bound", f"{bound.label} bounds {bound.scope}."))
    if study.system.objective.definition:
        said.append(Finding("Measure", study.system.objective.definition))
    return said


def sentences(study: Study) -> list[str]:
    """Return the summary and the findings, a paragraph each."""
    return [lead(study), *(finding.text for finding in findings(study))]
