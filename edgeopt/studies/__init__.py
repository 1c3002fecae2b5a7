"""Studies: an instance, its offline benchmark, policies and claims become a table and a page."""

from __future__ import annotations

from edgeopt.studies.registry import system, systems
from edgeopt.studies.result import Case, Settings, Study
from edgeopt.studies.run import study
from edgeopt.studies.system import (
    Benchmark,
    BenchmarkEntry,
    Measure,
    Picture,
    PolicyEntry,
    Source,
    System,
)

__all__ = [
    "Benchmark",
    "BenchmarkEntry",
    "Case",
    "Measure",
    "Picture",
    "PolicyEntry",
    "Settings",
    "Source",
    "Study",
    "System",
    "study",
    "system",
    "systems",
]
