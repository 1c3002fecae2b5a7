"""Studies: policies compared on instances with their bounds and claims, as a table and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.later import loaded_later
from edgeopt.studies.entries import (
    Benchmark,
    BenchmarkEntry,
    Comparison,
    Log,
    Metric,
    Picture,
    PolicyEntry,
    Settings,
    Source,
)
from edgeopt.studies.learners import Learned, LearnerEntry
from edgeopt.studies.registry import find_system, systems
from edgeopt.studies.results import Case, Study
from edgeopt.studies.run import study
from edgeopt.studies.system import (
    Claims,
    Constraint,
    Instances,
    Objective,
    Offline,
    Paper,
    Policies,
    Reporting,
    System,
)

if TYPE_CHECKING:
    from edgeopt.studies.check import check_all
    from edgeopt.studies.claims.verdict_table import Checked, CheckedClaim

__all__ = [
    "Benchmark",
    "BenchmarkEntry",
    "Case",
    "Checked",
    "CheckedClaim",
    "Claims",
    "Comparison",
    "Constraint",
    "Instances",
    "Learned",
    "LearnerEntry",
    "Log",
    "Metric",
    "Objective",
    "Offline",
    "Paper",
    "Picture",
    "Policies",
    "PolicyEntry",
    "Reporting",
    "Settings",
    "Source",
    "Study",
    "System",
    "check_all",
    "find_system",
    "study",
    "systems",
]

__getattr__ = loaded_later(
    __name__,
    {
        "Checked": "claims.verdict_table",
        "CheckedClaim": "claims.verdict_table",
        "check_all": "check",
    },
)
