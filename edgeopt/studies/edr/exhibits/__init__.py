"""The figures of EDR's evaluation."""

from __future__ import annotations

from edgeopt.studies.edr.exhibits.costs import (
    FIGURE_4A,
    FIGURE_4B,
    FIGURE_4C,
    FIGURE_4D,
    FIGURE_5,
)
from edgeopt.studies.edr.exhibits.proposed import FIGURE_4E, FIGURE_4H, FIGURE_8
from edgeopt.studies.edr.exhibits.varied import FIGURE_4F, FIGURE_4G, FIGURE_6, FIGURE_7

__all__ = ["EXHIBITS"]

EXHIBITS = (
    FIGURE_4A,
    FIGURE_4B,
    FIGURE_4C,
    FIGURE_4D,
    FIGURE_4E,
    FIGURE_4F,
    FIGURE_4G,
    FIGURE_4H,
    FIGURE_5,
    FIGURE_6,
    FIGURE_7,
    FIGURE_8,
)
"""In the order of the paper."""
