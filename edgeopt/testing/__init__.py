"""Checks of parts of one's own: policies, roundings, solvers, instances, environments, systems.

`check_programs` holds solvers against a folder of programs whose optima are known. Strategies that
draw small instances are in :mod:`edgeopt.testing.strategies`.
"""

from edgeopt.testing.environment import check_environment
from edgeopt.testing.instance import check_instance
from edgeopt.testing.parametrized import parametrize_with_checks
from edgeopt.testing.policy import check_policy
from edgeopt.testing.programs import ProgramReport, check_programs
from edgeopt.testing.report import CheckError, Report
from edgeopt.testing.rounding import check_rounding
from edgeopt.testing.solver import check_solver
from edgeopt.testing.system import check_system

__all__ = [
    "CheckError",
    "ProgramReport",
    "Report",
    "check_environment",
    "check_instance",
    "check_policy",
    "check_programs",
    "check_rounding",
    "check_solver",
    "check_system",
    "parametrize_with_checks",
]
