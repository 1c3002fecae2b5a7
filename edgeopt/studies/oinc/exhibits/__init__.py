"""The figures and tables of OINC's evaluation."""

from __future__ import annotations

from edgeopt.studies.oinc.exhibits.learning import FIGURE_2, FIGURE_3
from edgeopt.studies.oinc.exhibits.run_time import FIGURE_11
from edgeopt.studies.oinc.exhibits.success import FIGURE_5, FIGURE_7, FIGURE_9
from edgeopt.studies.oinc.exhibits.sums import FIGURE_4, FIGURE_6, FIGURE_8, FIGURE_10
from edgeopt.studies.oinc.exhibits.table import TABLE_I

__all__ = ["EXHIBITS"]

EXHIBITS = (
    FIGURE_2,
    FIGURE_3,
    TABLE_I,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    FIGURE_7,
    FIGURE_8,
    FIGURE_9,
    FIGURE_10,
    FIGURE_11,
)
"""In the order of the paper."""
