"""Figures and tables of the papers' evaluations: published values compared with computed ones."""

from __future__ import annotations

from edgeopt_papers.figures.aggregates import found, lead, means, said
from edgeopt_papers.figures.jobs import InstanceSpec, simulated, swept
from edgeopt_papers.figures.paper_figure import (
    CLOSE,
    NOT_COMPARABLE,
    Estimate,
    PaperFigure,
    Published,
)
from edgeopt_papers.figures.reproduce import Outcome, Reproduction, reproduce

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
