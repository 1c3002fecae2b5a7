"""The figures of RESCUE's evaluation, and those before it that show numbers."""

from __future__ import annotations

from edgeopt_papers.rescue.figures.examples import FIGURE_1, FIGURE_3, FIGURE_4
from edgeopt_papers.rescue.figures.profits import FIGURES

__all__ = ["PAPER_FIGURES"]

PAPER_FIGURES = (FIGURE_1, FIGURE_3, FIGURE_4, *FIGURES)
"""In the order of the paper."""
