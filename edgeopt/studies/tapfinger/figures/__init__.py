"""The figures and tables of TapFinger's evaluation, and those before it that show measurements."""

from __future__ import annotations

from edgeopt.studies.tapfinger.figures.figures import FIGURES
from edgeopt.studies.tapfinger.figures.long import FIGURE_10
from edgeopt.studies.tapfinger.figures.measured import FIGURE_2, FIGURE_4, FIGURE_7, TABLE_II

__all__ = ["PAPER_FIGURES"]

PAPER_FIGURES = (
    FIGURE_2, FIGURE_4, TABLE_II, *FIGURES[:3], FIGURE_7, *FIGURES[3:6], FIGURE_10, *FIGURES[6:],
)  # fmt: skip
"""In the order of the paper."""
