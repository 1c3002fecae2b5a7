"""The figures of EDR's evaluation."""

from __future__ import annotations

from edgeopt.studies.edr.exhibits.efficiency import FIGURE_5
from edgeopt.studies.edr.exhibits.growing import FIGURE_4F, FIGURE_4G
from edgeopt.studies.edr.exhibits.kinds import FIGURE_4C, FIGURE_4D
from edgeopt.studies.edr.exhibits.loss import FIGURE_4E
from edgeopt.studies.edr.exhibits.noise import FIGURE_6, FIGURE_7
from edgeopt.studies.edr.exhibits.quality import FIGURE_8
from edgeopt.studies.edr.exhibits.run_times import FIGURE_4H
from edgeopt.studies.edr.exhibits.totals import FIGURE_4A, FIGURE_4B

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
