"""The figures of RESCUE's evaluation, and those before it that show numbers."""

from __future__ import annotations

from edgeopt.studies.rescue.exhibits.example import EXAMPLE
from edgeopt.studies.rescue.exhibits.leftover import LEFTOVER
from edgeopt.studies.rescue.exhibits.over_time import OVER_TIME
from edgeopt.studies.rescue.exhibits.profiling import PROFILING
from edgeopt.studies.rescue.exhibits.swept import SWEPT

__all__ = ["EXHIBITS"]

EXHIBITS = (LEFTOVER, EXAMPLE, PROFILING, OVER_TIME, *SWEPT)
"""In the order of the paper."""
