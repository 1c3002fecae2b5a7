"""Backends that cannot run here: what they are handed, and that the answers are read right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edgeopt.solvers import backends
from edgeopt.solvers.registry import DEFAULTS, REASONS

ROOT = Path(__file__).parents[2]
OPTIONS: dict[str, list[list[Any]]] = {
    "mosek": [
        ["putnadouparam", "MSK_DPAR_OPTIMIZER_MAX_TIME", 5.0],
        ["putnadouparam", "MSK_DPAR_MIO_TOL_REL_GAP", 1e-4],
        ["putnaintparam", "MSK_IPAR_NUM_THREADS", 2],
        ["putnadouparam", "MSK_DPAR_MIO_TOL_ABS_GAP", 0.0],
    ],
    "cuopt": [
        ["set_parameter", "time_limit", 5.0],
        ["set_parameter", "mip_relative_gap", 1e-4],
        ["set_parameter", "num_cpu_threads", 2],
        ["set_parameter", "mip_absolute_gap", 0.0],
    ],
}
ORDER = {
    "mosek": ["appendvars", "appendcons", "putclist", "putobjsense", "putaijlist", "optimize"],
    "cuopt": [
        "set_csr_constraint_matrix", "set_objective_coefficients", "set_constraint_lower_bounds",
        "set_constraint_upper_bounds", "set_variable_lower_bounds", "set_variable_upper_bounds",
        "set_variable_types", "Solve",
    ],
}  # fmt: skip


@pytest.mark.parametrize("solver", ["mosek", "cuopt"])
def test_recorded_calls(solver: str) -> None:
    pytest.importorskip("cvxpy")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.solvers.recorded", solver],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    told = json.loads(run.stdout.splitlines()[-1])
    for quality, objective, bound, values in told["answers"]:
        best, point = (33.0, [1, 6, 0]) if objective < 34 else (35.0, [5 / 3, 6, 0])
        assert quality == "optimal"
        assert (objective, bound) == (pytest.approx(best), pytest.approx(best))
        assert values == pytest.approx(point)
    assert [round(one[1]) for one in told["answers"]] == [35, 33]
    assert "no_such_option" in told["refused"]
    calls = told["calls"]
    begins = [at for at, call in enumerate(calls) if call == ["begin"]]
    for first, last in zip(begins, [*begins[1:], len(calls)], strict=True):
        part = calls[first + 1 : last]
        assert all(option in part for option in OPTIONS[solver])
        names = [call[0] for call in part if call[0] in ORDER[solver]]
        assert names[: len(ORDER[solver])] == ORDER[solver]
    whole = {"mosek": ["variabletype.type_int"] * 3, "cuopt": ["I"] * 3}[solver]
    kinds = [call[-1] for call in calls if call[0] in ("putvartypelist", "set_variable_types")]
    assert kinds[-1] == whole


def test_every_backend_says_how_it_is_installed_tested_and_why_it_is_a_default() -> None:
    known = {one.name: one for one in backends()}
    wanted = {"gurobi", "cplex", "xpress", "mosek", "copt", "cbc", "cp-sat", "cuopt"}
    assert wanted <= known.keys()
    assert known["gurobi"].install == "pip install gurobipy"
    assert {name for name, one in known.items() if "recorded calls" in one.tested} == {
        "mosek", "cuopt",
    }  # fmt: skip
    assert not known["highs"].tested
    assert set(REASONS) == set(DEFAULTS)
    named = {kind for one in known.values() for kind in one.default_for}
    assert named == {kind.value for kind in DEFAULTS}
    shown = str(known["cuopt"])
    assert "not installed: pip install cuopt-cu12; tested against recorded calls" in shown
    assert "default for a linear program: proven" in str(known["highs"])
