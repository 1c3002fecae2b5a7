"""Pyomo models by every route: compiled, in memory, and through Pyomo's older interfaces."""

from __future__ import annotations

import importlib.util

import numpy as np
import pyomo.environ as pyo
import pytest

from edgeopt.errors import (
    InstanceError,
    MissingDependencyError,
    OptionError,
    ProblemTypeError,
    SolverError,
)
from edgeopt.solvers import Quality, Status, solve
from edgeopt.solvers.pyomo_program import compile_model
from tests.draws import every

ROUTES = [
    "highs",
    "scipy",
    "scip",
    "clarabel",
    "osqp",
    "scs",
    "ipopt",
    "pyomo:highs",
    "pyomo:scip_direct",
    "pyomo:appsi_highs",
]
WITHOUT_DUALS = ("pyomo:scip_direct",)


def _skip_without(route: str) -> None:
    if "scip_" in route or route == "scip":
        pytest.importorskip("pyscipopt")


def mixing(sense: int = pyo.maximize, side: float = 4.0, upper: float = np.inf):
    """Two products, a two-sided row, a one-sided row, a fixed variable and a constant."""
    model = pyo.ConcreteModel()
    model.amount = pyo.Var(["a", "b"], bounds=(0, upper))
    model.given = pyo.Var(initialize=1.0)
    model.given.fix()
    sign = 1 if sense == pyo.maximize else -1
    worth = 3 * model.amount["a"] + 2 * model.amount["b"] + 5 * model.given
    model.worth = pyo.Objective(expr=sign * worth, sense=sense)
    total = model.amount["a"] + model.amount["b"] + model.given
    model.total = pyo.Constraint(expr=pyo.inequality(1, total, side + 1))
    model.limit = pyo.Constraint([0], rule=lambda m, _: m.amount["a"] <= 2)
    return model


@pytest.mark.parametrize("sense", [pyo.maximize, pyo.minimize])
@pytest.mark.parametrize("route", ROUTES)
def test_every_route_agrees(route: str, sense: int) -> None:
    _skip_without(route)
    model = mixing(sense)
    solution = solve(model, route)
    sign = 1.0 if sense == pyo.maximize else -1.0
    assert solution.objective == pytest.approx(sign * 15.0, rel=1e-6)
    assert solution.quality is Quality.OPTIMAL
    assert solution.certify().quality is Quality.OPTIMAL
    assert solution.gap <= 1e-6
    assert solution.problem is model
    assert solution.values["amount[a]"] == pytest.approx(2.0, abs=1e-5)
    assert model.amount["b"].value == pytest.approx(2.0, abs=1e-5)
    if route in WITHOUT_DUALS:
        assert solution.duals is None
    else:
        found = [solution.duals["total"], solution.duals["limit[0]"]]
        assert found == pytest.approx([sign * 2.0, sign * 1.0], abs=1e-5)
        assert solution.dual_residual() <= 1e-6


@pytest.mark.parametrize("route", [name for name in ROUTES if name not in WITHOUT_DUALS])
def test_duals_are_derivatives(route: str) -> None:
    _skip_without(route)
    dual = solve(mixing(), route).duals["total"]
    above, below = (solve(mixing(side=4.0 + step), route).objective for step in (0.1, -0.1))
    assert (above - below) / 0.2 == pytest.approx(dual, abs=1e-4)


def test_compiled_model_keeps_names_and_sides() -> None:
    compiled = compile_model(mixing())
    program = compiled.program
    assert list(program.row_names) == ["total", "limit[0]"]
    assert list(program.column_names) == ["amount[a]", "amount[b]"]
    # The fixed variable moved into the sides and the constant.
    assert (program.row_lower[0], program.row_upper[0]) == (0.0, 4.0)
    assert (program.sense, program.offset) == ("max", 5.0)


def knapsack():
    model = pyo.ConcreteModel()
    model.take = pyo.Var(range(3), domain=pyo.Binary)
    worth, weight = (60, 100, 120), (10, 20, 30)
    model.worth = pyo.Objective(
        expr=sum(worth[i] * model.take[i] for i in range(3)), sense=pyo.maximize
    )
    model.weight = pyo.Constraint(expr=sum(weight[i] * model.take[i] for i in range(3)) <= 50)
    return model


@pytest.mark.parametrize(
    "route", ["highs", "scipy", "scip", "pyomo:highs", "pyomo:scip_direct", "pyomo:appsi_highs"]
)
def test_integer_models(route: str) -> None:
    _skip_without(route)
    model = knapsack()
    solution = solve(model, route)
    assert solution.objective == pytest.approx(220.0)
    assert solution.certify().quality is Quality.OPTIMAL
    assert [model.take[i].value for i in range(3)] == pytest.approx([0.0, 1.0, 1.0])


@pytest.mark.parametrize("route", ["highs", "scipy", "clarabel", "pyomo:highs"])
def test_infeasible_models(route: str) -> None:
    model = mixing()
    model.more = pyo.Constraint(expr=model.amount["b"] >= 7)
    with pytest.raises(SolverError) as caught:
        solve(model, route)
    assert caught.value.solution.status is Status.PROVEN_INFEASIBLE


def test_constraint_without_variables_makes_the_model_infeasible() -> None:
    model = mixing()
    model.never = pyo.Constraint(expr=pyo.inequality(2, 0 * model.amount["a"] + 1, 3))
    assert solve(model, "highs", raises=False).status is Status.PROVEN_INFEASIBLE
    with pytest.raises(SolverError, match="explain"):
        solve(model, "scipy")


def test_wrong_values_are_noticed_against_the_model() -> None:
    solution = solve(mixing(), "highs")
    from dataclasses import replace

    moved = replace(solution.evidence, values=solution.evidence.values + 0.5)
    assert replace(solution, evidence=moved).certify().quality is Quality.INFEASIBLE


def quadratic():
    model = mixing(pyo.minimize)
    model.worth.deactivate()
    model.loss = pyo.Objective(expr=(model.amount["a"] - 1) ** 2 + (model.amount["b"] - 5) ** 2)
    return model


def test_quadratic_models_go_through_pyomo_itself() -> None:
    model = quadratic()
    solution = solve(model, "highs")
    assert solution.objective == pytest.approx(2.0, rel=1e-4)
    assert solution.primal_residual() <= 1e-6
    assert model.amount["b"].value == pytest.approx(4.0, abs=1e-3)


def test_residual_of_a_nonlinear_model_is_evaluated() -> None:
    from dataclasses import replace

    model = quadratic()
    model.disc = pyo.Constraint(expr=model.amount["a"] ** 2 <= 4)
    base = solve(mixing(), "highs")
    point = {"amount[a]": 3.0, "amount[b]": 1.0}
    nonlinear = replace(base, problem=model, values=point, evidence=None)
    before = model.amount["a"].value
    # The limit of 2 is broken by 1 at a point of size 3; the square less, against its slope of 6.
    assert nonlinear.primal_residual() == pytest.approx(1 / 3)
    assert model.amount["a"].value == before


def test_residual_of_a_quadratic_is_not_relative_to_its_slopes_at_zero() -> None:
    from dataclasses import replace

    model = quadratic()
    base = solve(mixing(), "highs")
    model.cone = pyo.Constraint(expr=model.amount["a"] ** 2 <= 0)
    point = {"amount[a]": 1e-3, "amount[b]": 3.9}
    nonlinear = replace(base, problem=model, values=point, evidence=None)
    # The slope at 0.001 is next to nothing, but 7.8 where both amounts are as large as the point.
    assert nonlinear.primal_residual() == pytest.approx(1e-6 / (2 * 3.9**2))
    assert model.amount["a"].value is None


def test_scip_takes_a_tolerance_through_pyomo() -> None:
    found = solve(quadratic(), "scip", tolerance=1e-9)
    assert found.options["numerics/feastol"] == 1e-9


def test_what_cannot_be_taken_is_said() -> None:
    with pytest.raises(ProblemTypeError, match="nonlinear"):
        solve(quadratic(), "scipy")
    with pytest.raises(OptionError, match="algorithm"):
        solve(mixing(), "pyomo:highs", algorithm="ipm")
    with pytest.raises(MissingDependencyError, match="nobody"):
        solve(mixing(), "pyomo:nobody")
    if importlib.util.find_spec("gurobipy") is None:
        with pytest.raises(MissingDependencyError, match="gurobipy"):
            solve(mixing(), "gurobi")


def test_crossing_bounds_name_the_variable() -> None:
    with pytest.raises(InstanceError, match=r"amount\[a\]"):
        solve(mixing(upper=-1.0))


def in_units(worth: float, row: float, column: float) -> pyo.ConcreteModel:
    """A whole and a real amount; the objective, the last row and the real amount have units."""
    model = pyo.ConcreteModel()
    model.count = pyo.Var(bounds=(0, 10), domain=pyo.Integers)
    model.amount = pyo.Var(bounds=(0, 7 * column))
    amount = model.amount / column
    model.worth = pyo.Objective(expr=worth * (3 * model.count + 2 * amount + 1), sense=pyo.maximize)
    model.first = pyo.Constraint(expr=5 * model.count + 3 * amount <= 23.5)
    model.last = pyo.Constraint(expr=pyo.inequality(row, row * (model.count + amount), 6.25 * row))
    return model


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("route", every(2, [route for route in ROUTES if ":" in route]))
def test_units_do_not_reach_pyomos_interfaces(route: str, part: int) -> None:
    _skip_without(route)
    usual = solve(in_units(1.0, 1.0, 1.0), route, gap=1e-9).certify()
    count, amount = usual.values["count"], usual.values["amount"]
    assert (count, amount) == pytest.approx((3.0, 17.0 / 6.0))
    for factor in (2.0**-40, 2.0**40, 1e-8, 1e8):
        units = [1.0, 1.0, 1.0]
        units[part] = factor
        found = solve(in_units(*units), route, gap=1e-9).certify()
        assert (found.status, found.quality) == (usual.status, usual.quality)
        now = (found.values["count"], found.values["amount"] / units[2])
        if factor in (2.0**-40, 2.0**40):
            assert (*now, found.gap) == (count, amount, usual.gap)
        assert (*now, found.objective / units[0]) == pytest.approx(
            (count, amount, usual.objective), rel=1e-9
        )
