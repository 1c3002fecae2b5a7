"""The figures and tables of OINC's evaluation."""

from __future__ import annotations

from edgeopt.studies.oinc.figures.policies import FIGURE_2, FIGURE_3, FIGURE_11, TABLE_I
from edgeopt.studies.oinc.figures.swept import FIGURES

__all__ = ["PAPER_FIGURES"]

PAPER_FIGURES = (FIGURE_2, FIGURE_3, TABLE_I, *FIGURES, FIGURE_11)
"""In the order of the paper."""
