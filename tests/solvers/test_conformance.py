"""Every installed backend on every case with a known answer."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from edgeopt.errors import QualityWarning
from edgeopt.solvers import Kind, LinearProgram, Quality, backends, solve
from edgeopt.solvers.registry import kind_of
from edgeopt.testing import check_solver
from edgeopt.testing.conformance import CASES, check_derivatives, check_solution
from tests.draws import some

INSTALLED = [(one.name, {}) for one in backends(installed=True) if Kind.LINEAR in one.routes]
ROUTES = [
    *INSTALLED,
    ("highs", {"algorithm": "simplex"}),
    ("highs", {"algorithm": "ipm", "run_crossover": "off"}),
    ("cvxpy:highs", {}),
    ("cvxpy:scipy", {}),
    ("highs", {"algorithm": "ipm"}),
    ("highs", {"algorithm": "pdlp"}),
    ("scipy", {"algorithm": "simplex"}),
    ("scipy", {"algorithm": "ipm"}),
]
SEARCHES = [
    (one.name, {})
    for one in backends(installed=True)
    if {Kind.LINEAR, Kind.MIXED_INTEGER} & {*one.routes} == {Kind.MIXED_INTEGER}
]
QP = "qpsolvers:clarabel"
if importlib.util.find_spec("qpsolvers"):
    ROUTES.append((QP, {}))
NAMES = {case.name for case in CASES}
INTEGER = [case.name for case in CASES if kind_of(case.program) is Kind.MIXED_INTEGER]


def _name(route: tuple[str, dict[str, str]]) -> str:
    return "-".join([route[0], *route[1].values()])


BY_NAME = {_name(route): route for route in [*ROUTES, *SEARCHES]}
FEW = {"highs", "clarabel", "cvxpy:highs", "cbc", "cp-sat", QP}
"""They differ in kind, and stand for all in a lean run."""
_WHOLE = "SciPy's milp has no choice of algorithm"
EXPECTED = {
    "scipy-simplex": dict.fromkeys(INTEGER, _WHOLE),
    "scipy-ipm": dict.fromkeys(INTEGER, _WHOLE),
}
"""Checks that fail, by route."""


@pytest.mark.parametrize("name", some(BY_NAME, *(FEW & set(BY_NAME))))
def test_backend_reproduces_every_case(name: str) -> None:
    solver, options = BY_NAME[name]
    report = check_solver(solver, options=options, expected=EXPECTED.get(name))
    passed = sum(one.check in NAMES for one in report.results if one.outcome == "passed")
    assert passed >= (4 if (solver, options) in SEARCHES else 13)


def test_cp_sat_proves_nothing_beyond_where_it_looks() -> None:
    pytest.importorskip("ortools")
    ends = LinearProgram([1, -1], [[1, -1]], -np.inf, 3, integer=True, sense="max")
    with pytest.warns(QualityWarning, match="optimal"):
        found = solve(ends, "cp-sat")
    assert (found.quality, found.objective) == (Quality.FEASIBLE, 3.0)
    assert np.isinf(found.bound)
    rows = [[1, -1], [1, 1]]
    boxed = LinearProgram([1, -1], rows, -np.inf, [3, 8], integer=True, sense="max")
    assert str(solve(boxed, "cp-sat")).startswith("optimal (bound by the solver)")
    far = LinearProgram([1], [[1]], 2e7, np.inf, integer=True)
    assert not solve(far, "cp-sat", raises=False).status.value.startswith("proven")


def test_default_backends_are_all_there() -> None:
    names = {name for name, _ in INSTALLED}
    assert {"highs", "scipy", "clarabel", "osqp", "scs", "ipopt"} <= names


@pytest.mark.parametrize("solver", ["highs", "scipy", "clarabel", "osqp", "scs", "scip", "ipopt"])
def test_every_continuous_backend_hands_over_duals(solver: str) -> None:
    program = next(case.program for case in CASES if case.duals)
    pytest.importorskip(
        {"scip": "pyscipopt", "ipopt": "casadi", "highs": "highspy"}.get(solver, solver)
    )
    assert solve(program, solver).duals is not None


def test_suite_notices_wrong_answers() -> None:
    case = CASES[0]
    right = solve(case.program)
    assert check_solution(case, right) == []
    wrong_values = replace(right, values=right.values * 0.9, objective=right.objective * 0.9)
    assert len(check_solution(case, wrong_values)) >= 2
    wrong_sign = replace(right, duals=-right.duals)
    assert any("has the duals" in line for line in check_solution(case, wrong_sign))
    assert len(check_derivatives(case.program, wrong_sign, "highs")) >= 2


def test_suite_notices_a_solved_unsolvable_problem() -> None:
    infeasible = next(case for case in CASES if case.name == "infeasible")
    assert np.isnan(infeasible.objective)
    assert check_solution(infeasible, solve(CASES[0].program)) != []
