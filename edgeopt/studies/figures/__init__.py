"""Figures and tables of the papers' evaluations: published values compared with computed ones."""

from __future__ import annotations

from edgeopt.studies.figures.cells import InstanceSpec, simulated, swept
from edgeopt.studies.figures.paper_figure import (
    CLOSE,
    NOT_COMPARABLE,
    Estimate,
    PaperFigure,
    Published,
)
from edgeopt.studies.figures.reading import found, lead, means, said
from edgeopt.studies.figures.reproduce import Outcome, Reproduction, reproduce

__all__ = [
    "CLOSE",
    "NOT_COMPARABLE",
    "Estimate",
    "InstanceSpec",
    "Outcome",
    "PaperFigure",
    "Published",
    "Reproduction",
    "found",
    "lead",
    "means",
    "reproduce",
    "said",
    "simulated",
    "swept",
]
