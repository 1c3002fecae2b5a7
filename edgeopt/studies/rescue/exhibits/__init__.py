"""The figures of RESCUE's evaluation, and those before it that show numbers."""

from __future__ import annotations

from edgeopt.studies.rescue.exhibits.examples import FIGURE_1, FIGURE_3, FIGURE_4
from edgeopt.studies.rescue.exhibits.profits import FIGURES

__all__ = ["EXHIBITS"]

EXHIBITS = (FIGURE_1, FIGURE_3, FIGURE_4, *FIGURES)
"""In the order of the paper."""
