"""The figures and tables of OINC's evaluation, in the default and in a calibrated setting."""

from __future__ import annotations

from edgeopt_papers.oinc.figures.all_policies import FIGURE_11, TABLE_I
from edgeopt_papers.oinc.figures.learned import FIGURE_2, FIGURE_3
from edgeopt_papers.oinc.figures.swept import SWEPT

__all__ = ["PAPER_FIGURES"]

PAPER_FIGURES = (FIGURE_2, FIGURE_3, TABLE_I, *SWEPT, FIGURE_11)
"""In the order of the paper."""
