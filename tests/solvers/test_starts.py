"""Who solves what by default, and where solvers start."""

from __future__ import annotations

import logging

import casadi
import cvxpy
import numpy as np
import pyomo.environ as pyo
import pytest

from edgeopt.errors import OptionError
from edgeopt.solvers import CasadiNlp, LinearProgram, Quality, Status, backends, solve
from edgeopt.solvers.registry import DEFAULTS, Kind, find_backend
from tests.solvers.programs import crowded, glass, market_split


def _split() -> tuple[LinearProgram, np.ndarray]:
    """A market split problem, and its point that leaves everything to the slacks."""
    program = market_split()
    point = np.zeros(program.shape[1])
    point[30:34] = program.row_lower
    return program, point


def _cone(**attributes: bool) -> cvxpy.Problem:
    x = cvxpy.Variable(3, name="x", **attributes)
    return cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(x - np.array([1.0, 2.0, 3.5])) + x[0]))


def _portfolio(count: int = 12) -> cvxpy.Problem:
    rng = np.random.default_rng(0)
    x = cvxpy.Variable(count, name="x", nonneg=True)
    risk = cvxpy.sum_squares(cvxpy.multiply(0.2 + rng.random(count), x))
    return cvxpy.Problem(cvxpy.Minimize(risk - rng.random(count) @ x), [cvxpy.sum(x) == 1])


def test_solver_is_chosen_by_the_kind_of_problem() -> None:
    x = casadi.SX.sym("x")
    smooth = CasadiNlp(x, (x - 2) ** 2 + 1, lower=0.0, convex=True)
    y = cvxpy.Variable(2, name="y", integer=True)
    whole = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm1(y - 1.2)))
    for problem, solver, optimum in (
        (glass(), "highs", 36.0),
        (smooth, "ipopt", 1.0),
        (_cone(), "clarabel", 1.0),
        (whole, "highs", 0.4),
    ):
        solution = solve(problem)
        assert (solution.solver, solution.path) == (solver, "cold")
        assert solution.objective == pytest.approx(optimum, rel=1e-6)
    assert set(DEFAULTS) == set(Kind)
    assert all(kind in find_backend(name).routes for kind, name in DEFAULTS.items())


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_a_feasible_start_is_the_first_incumbent(solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    program, point = _split()
    solution = solve(program, solver, start=point, time_limit=0.0)
    assert solution.status is Status.MAX_TIME_LIMIT
    assert solution.path == "start"
    assert solution.objective <= program.objective(point)
    assert not solve(program, solver, time_limit=0.0, raises=False).quality.usable


def test_an_infeasible_start_is_repaired_or_left_out(caplog: pytest.LogCaptureFixture) -> None:
    program, point = _split()
    point[3] = 1.0  # the slacks no longer fit
    with caplog.at_level(logging.INFO, logger="edgeopt.solvers"):
        solution = solve(program, start=point, time_limit=0.2)
    assert solution.path == "repaired start"
    assert "repaired" in caplog.text
    whole = {program.column_label(j): float(point[j]) for j in range(30)}
    assert solve(program, start=whole, time_limit=0.2).path == "repaired start"
    knapsack = LinearProgram([60, 100, 120], [[10, 20, 30]], -np.inf, 50, 0, 1, True, "max")
    with caplog.at_level(logging.INFO, logger="edgeopt.solvers"):
        left_out = solve(knapsack, start=[1, 1, 1])
    assert (left_out.path, left_out.quality) == ("cold", Quality.OPTIMAL)
    assert "left out" in caplog.text
    assert solve(knapsack, start={"column[index=0]": 1.0}).objective == pytest.approx(220.0)


def test_a_linear_start_saves_the_simplex_method_its_iterations() -> None:
    program = crowded().replace(cost=crowded().cost * 2.0**-30)
    best = solve(program)
    start = solve(program, start=best.values, simplex_iteration_limit=0)
    assert start.quality is Quality.OPTIMAL
    assert start.path == "start"
    # Without it, no iteration is not enough.
    assert solve(program, simplex_iteration_limit=0, raises=False).quality is not Quality.OPTIMAL


@pytest.mark.parametrize("solver", ["osqp", "scs"])
def test_first_order_methods_start_from_values(solver: str) -> None:
    cold = solve(_portfolio(), solver)
    problem = _portfolio()
    started = solve(problem, solver, start={"x": cold.values["x"]})
    again = solve(problem, solver, warm=True)
    assert (cold.path, started.path, again.path) == ("cold", "start", "warm")
    for solution in (started, again):
        assert solution.quality is Quality.OPTIMAL
        assert solution.objective == pytest.approx(cold.objective, rel=1e-6)
    assert solve(glass(), solver, start={"door": 2.0}).objective == pytest.approx(36.0)


def test_ipopt_starts_where_it_is_told() -> None:
    x = casadi.SX.sym("x")
    wavy = CasadiNlp(x, casadi.cos(x) + 0.1 * x, lower=-10.0, upper=10.0)
    near = [solve(wavy, start=[start]).values["column[index=0]"] for start in (3.0, -3.0)]
    assert near == pytest.approx(
        [np.pi - np.arcsin(-0.1) - 2 * np.arcsin(0.1), -np.pi - 0.1], abs=0.01
    )


def _model() -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(3), domain=pyo.Binary, initialize=1)
    model.room = pyo.Constraint(expr=10 * model.x[0] + 20 * model.x[1] + 30 * model.x[2] <= 50)
    model.worth = pyo.Objective(
        expr=60 * model.x[0] + 100 * model.x[1] + 120 * model.x[2], sense=pyo.maximize
    )
    return model


def test_pyomo_starts_from_values_of_variables() -> None:
    assert solve(_model(), warm=True).path == "cold"  # all three do not fit
    assert solve(_model(), start={"x[0]": 1, "x[1]": 1, "x[2]": 0}).path == "start"
    model = _model()
    assert solve(model).path == "cold"
    assert solve(model, warm=True).path == "start"


@pytest.mark.parametrize(
    ("start", "complaint"),
    [
        ([1.0], r"shape \(1,\)"),
        ([1.0, np.inf], "entry 1 is inf"),
        ({"gate": 1.0}, "no column 'gate'"),
        ({"door": np.nan}, "door is nan"),
        ({"door": "wide"}, "door is 'wide'"),
        ("door", "must be numbers"),
        ([[1.0], "x"], "must be numbers"),
    ],
)
def test_bad_starts_are_named(start: object, complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        solve(glass(), start=start)


def test_solvers_that_cannot_start_name_those_that_can() -> None:
    with pytest.raises(OptionError, match="those that can: highs, osqp, scs, ipopt"):
        solve(glass(), "scipy", start=[0, 0])
    with pytest.raises(OptionError, match="those that can: highs, osqp, scs"):
        solve(_cone(), "clarabel", start={"x": np.zeros(3)})
    with pytest.raises(OptionError, match="simplex method"):
        solve(glass(), algorithm="ipm", start=[0, 0])
    with pytest.raises(OptionError, match="Reusable"):
        solve(glass(), warm=True)
    with pytest.raises(OptionError, match="leave start out"):
        solve(_model(), warm=True, start={"x[0]": 1})
    with pytest.raises(OptionError, match="no variable 'y'"):
        solve(_cone(), "scs", start={"y": np.zeros(3)})
    with pytest.raises(OptionError, match="shape"):
        solve(_cone(), "scs", start={"x": np.zeros(4)})
    for one in backends():
        assert set(one.starts) | set(one.warm) <= set(one.routes)
