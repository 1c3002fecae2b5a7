"""OR-Tools beside highspy, whose library of the same name is of another release."""

from __future__ import annotations

import subprocess
import sys

import cvxpy
import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.solvers import Kind, LinearProgram, Quality, Status, backends, solve
from edgeopt.solvers.backend import or_tools
from edgeopt.solvers.registry import Request, find_backend
from tests.solvers.programs import glass

pytest.importorskip("ortools")

AFTER_OR_TOOLS = """
from ortools.linear_solver import pywraplp
from edgeopt.errors import SolverError
from edgeopt.solvers import solve
from tests.solvers.programs import glass
print(round(solve(glass(), "glop").objective, 6))
for solver in ("highs", "cvxpy:highs"):
    try:
        solve(glass(), solver)
    except SolverError as error:
        print(error)
"""


@pytest.mark.parametrize("solver", ["glop", "pdlp", "cvxpy:glop", "cvxpy:pdlp"])
def test_both_solve_in_one_process(solver: str) -> None:
    before = solve(glass(), "highs").objective
    flags = sys.getdlopenflags()
    found = solve(glass(), solver)
    assert found.quality is Quality.OPTIMAL
    assert found.objective == pytest.approx(before, rel=1e-6)
    assert solve(glass(), "highs").objective == before
    assert sys.getdlopenflags() == flags


def test_other_modules_load_beside_highspy() -> None:
    import highspy  # noqa: F401

    or_tools.load("ortools.graph.python.min_cost_flow")
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    flow = SimpleMinCostFlow()
    flow.add_arc_with_capacity_and_unit_cost(0, 1, 3, 2)
    flow.set_nodes_supplies([0, 1], [3, -3])
    assert flow.solve() == flow.OPTIMAL
    assert flow.optimal_cost() == 6


def test_highspy_after_or_tools_is_refused_with_the_way_out() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", AFTER_OR_TOOLS],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    objective, *refused = (line for line in ran.stdout.splitlines() if not line.startswith("("))
    assert objective == "36.0"
    for solver, line in zip(("highs", "cvxpy:highs"), refused, strict=True):
        assert line.startswith(f"solver '{solver}': highspy is installed, but cannot be loaded")
        assert "import highspy before OR-Tools" in line


def test_listed_solvers_load() -> None:
    found = {one.name: one.fault for one in backends(installed=True)}
    assert found["glop"] is found["pdlp"] is found["highs"] is None


def test_infeasible_is_proven_where_presolve_cannot_tell() -> None:
    infeasible = LinearProgram([1, 1], [[1, 1]], 5, np.inf, 0, 1)
    run = find_backend("glop").solve_function(Kind.LINEAR)
    assert run(infeasible, Request("glop")).status is Status.INFEASIBLE_OR_UNBOUNDED
    assert solve(infeasible, "glop", raises=False).status is Status.PROVEN_INFEASIBLE


@pytest.mark.parametrize("solver", ["glop", "pdlp"])
def test_unit_of_a_convex_objective_changes_its_multipliers_alike(solver: str) -> None:
    found = []
    for unit in (1.0, 1e-7):
        x = cvxpy.Variable(2, nonneg=True, name="x")
        cover = (x[0] + 2 * x[1] >= 3).set_label("cover")
        found.append(
            solve(cvxpy.Problem(cvxpy.Minimize(unit * (3 * x[0] + x[1])), [cover]), solver)
        )
    plain, small = found
    assert small.objective == pytest.approx(1e-7 * 1.5, rel=1e-6)
    assert small.duals["cover"] == pytest.approx(1e-7 * plain.duals["cover"], rel=1e-6)
    assert plain.duals["cover"] == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("solver", ["glop", "pdlp"])
def test_parameters_reach_the_solver(solver: str) -> None:
    settings = solve(glass(), solver, tolerance=1e-7, time_limit=60).options
    assert settings["time_limit_sec"] == 60
    assert "1e-07" in str(settings["parameters_proto"])
    with pytest.raises(OptionError, match="no_such_parameter"):
        solve(glass(), solver, parameters_proto={"no_such_parameter": 1})
