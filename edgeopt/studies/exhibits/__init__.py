"""Figures and tables of the papers' evaluations, computed here and set beside what is printed."""

from __future__ import annotations

from edgeopt.studies.exhibits.cells import Recipe, plays, swept
from edgeopt.studies.exhibits.exhibit import NOT_BUILT, Estimate, Exhibit, Printed
from edgeopt.studies.exhibits.reading import found, lead, means, said
from edgeopt.studies.exhibits.reproduce import Outcome, Reproduction, reproduce

__all__ = [
    "NOT_BUILT",
    "Estimate",
    "Exhibit",
    "Outcome",
    "Printed",
    "Recipe",
    "Reproduction",
    "found",
    "lead",
    "means",
    "plays",
    "reproduce",
    "said",
    "swept",
]
