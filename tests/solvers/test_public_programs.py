"""Solvers are held against public programs whose optima are known."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgeopt.testing import ProgramReport, check_programs

FOLDER = Path(os.environ.get("EDGEOPT_DATA") or "missing") / "solver_files"

pytestmark = pytest.mark.skipif(
    not (FOLDER / "optima.csv").is_file(),
    reason="EDGEOPT_DATA does not name a folder with the public programs in solver_files",
)

PROGRAMS = {"netlib": 42, "infeasible": 8, "miplib3": 22, "qp": 51}
UNPROVEN = {"qp": 3}
"""Programs that may be right without a proof."""


def assert_right(report: ProgramReport, programs: int, unproven: int = 0) -> None:
    proven, right = len(report.of("proven")), len(report.of("right"))
    assert len(report.programs) == programs, str(report)
    assert proven + right == programs, str(report)
    assert right <= unproven, str(report)


@pytest.mark.parametrize("group", PROGRAMS)
def test_the_default_solver_proves_what_it_finds(group: str) -> None:
    report = check_programs(FOLDER, sets=[group])
    assert_right(report, PROGRAMS[group], UNPROVEN.get(group, 0))


@pytest.mark.parametrize(
    ("solver", "package"),
    [("scipy", "scipy"), ("scip", "pyscipopt"), ("glop", "ortools")],
)
@pytest.mark.parametrize("group", ["netlib", "infeasible"])
def test_others_prove_linear_programs(solver: str, package: str, group: str) -> None:
    pytest.importorskip(package)
    assert_right(check_programs(FOLDER, solver, sets=[group]), PROGRAMS[group])
