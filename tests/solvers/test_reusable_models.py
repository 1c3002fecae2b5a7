"""CVXPY problems and Pyomo models whose parameters change, against solving them anew."""

from __future__ import annotations

import cvxpy
import numpy as np
import pyomo.environ as pyo
import pytest

from edgeopt.errors import OptionError, ProblemTypeError, SolverError
from edgeopt.solvers import CasadiNlp, Quality, Reusable, Status, solve
from tests.solvers.programs import glass


def _portfolio(count: int = 15) -> cvxpy.Problem:
    rng = np.random.default_rng(0)
    x = cvxpy.Variable(count, name="x", nonneg=True)
    gain = cvxpy.Parameter(count, name="gain", value=rng.random(count))
    most = cvxpy.Parameter(name="most", nonneg=True, value=0.5)
    factors = rng.normal(size=(3, count))
    risk = cvxpy.sum_squares(factors @ x) + cvxpy.sum_squares(
        cvxpy.multiply(0.3 + rng.random(count), x)
    )
    total = cvxpy.sum(x) == 1
    total.set_label("total")
    return cvxpy.Problem(cvxpy.Minimize(risk - gain @ x), [total, x <= most])


@pytest.mark.parametrize(
    ("solver", "path"),
    [("osqp", "warm"), ("scs", "warm"), ("clarabel", "in place"), (None, "in place")],
)
def test_changed_parameters_equal_a_cold_solve(solver: str | None, path: str) -> None:
    rng = np.random.default_rng(4)
    problem, fresh = _portfolio(), _portfolio()
    model = Reusable(problem, solver)
    assert model.solve().path == "cold"
    for unit in (1.0, 1.0, 2.0**20):
        gain, most = unit * rng.random(15), 0.2 + 0.5 * rng.random()
        for one in (problem, fresh):
            one.param_dict["gain"].value, one.param_dict["most"].value = gain, most
        again, cold = model.solve(), solve(fresh, "clarabel")
        assert again.path == path
        assert again.quality is Quality.OPTIMAL
        assert again.objective == pytest.approx(cold.objective, rel=1e-6)
        assert again.duals["total"] == pytest.approx(cold.duals["total"], rel=1e-3, abs=1e-3 * unit)
    assert model.solve(warm=False).path == "cold"


def test_problems_that_would_be_compiled_every_time_are_refused() -> None:
    x, p = cvxpy.Variable(name="x"), cvxpy.Parameter(nonneg=True, value=2.0)
    with pytest.raises(ProblemTypeError, match="DPP"):
        Reusable(cvxpy.Problem(cvxpy.Minimize(x), [x >= p * p]))
    linear = cvxpy.Problem(cvxpy.Minimize(x), [x >= p])
    with pytest.raises(OptionError, match="keeps nothing"):
        Reusable(linear, "scipy")
    model = Reusable(linear)
    assert model.solve().objective == pytest.approx(2.0)
    with pytest.raises(ProblemTypeError, match="parameters"):
        model.change_cost([1.0])
    with pytest.raises(OptionError, match="kept by highs"):
        Reusable(glass(), "osqp")


def _model(count: int = 8) -> pyo.ConcreteModel:
    rng = np.random.default_rng(1)
    use = rng.random((4, count)) * (rng.random((4, count)) < 0.6)
    model = pyo.ConcreteModel()
    model.worth = pyo.Param(
        range(count), mutable=True, initialize=dict(enumerate(rng.random(count)))
    )
    model.room = pyo.Param(range(4), mutable=True, initialize=1.0)
    model.share = pyo.Param(range(4), mutable=True, initialize=0.0)
    model.most = pyo.Param(mutable=True, initialize=1.0)
    model.x = pyo.Var(range(count), bounds=(0, model.most))
    model.fit = pyo.Constraint(
        range(4),
        rule=lambda m, i: (
            sum(float(use[i, j]) * m.x[j] for j in range(count)) + m.share[i] * m.x[0]
            <= m.room[i] + 0.5
        ),
    )
    model.gain = pyo.Objective(
        expr=sum(model.worth[j] * model.x[j] for j in range(count)) + 2 * model.most,
        sense=pyo.maximize,
    )
    return model


def test_changed_pyomo_parameters_equal_a_cold_solve() -> None:
    rng = np.random.default_rng(5)
    model, fresh = _model(), _model()
    kept = Reusable(model)
    assert kept.solve().path == "cold"
    for _ in range(4):
        for name, count in (("worth", 8), ("room", 4), ("share", 4)):
            for key, number in enumerate(rng.random(count)):
                getattr(model, name)[key] = getattr(fresh, name)[key] = float(number)
        model.most = fresh.most = float(0.5 + rng.random())
        again, cold = kept.solve(), solve(fresh)
        assert (again.path, again.quality) == ("warm", Quality.OPTIMAL)
        assert again.objective == pytest.approx(cold.objective, rel=1e-9)
        assert again.objective == pytest.approx(pyo.value(model.gain), rel=1e-9)
        assert again.duals == pytest.approx(cold.duals, abs=1e-9)
        assert again.primal_residual() <= 1e-9


def test_other_changes_of_a_model_are_noticed() -> None:
    model = _model()
    kept = Reusable(model)
    before = kept.solve().objective
    model.x[1].fix(0.0)
    fixed = kept.solve()
    assert (fixed.path, fixed.objective) == ("cold", pytest.approx(solve(model).objective))
    model.x[1].unfix()
    assert kept.solve().objective == pytest.approx(before)
    model.x[2].setub(0.1)
    bounded = kept.solve()
    assert (bounded.path, bounded.objective) == ("warm", pytest.approx(solve(model).objective))
    model.fit[0].deactivate()
    assert kept.solve().path == "cold"
    model.few = pyo.Constraint(expr=sum(model.x.values()) <= -1)
    with pytest.raises(SolverError) as caught:
        kept.solve()
    assert caught.value.solution.status is Status.PROVEN_INFEASIBLE
    model.square = pyo.Constraint(expr=model.x[0] ** 2 <= 1)
    with pytest.raises(ProblemTypeError, match="not a linear"):
        kept.solve()


def test_coefficients_change_in_place() -> None:
    model = Reusable(glass())
    model.solve()
    model.change_coefficients([1.0, 1.0], rows=[2, 1], columns=[0, 1])
    again = model.solve()
    assert again.path == "warm"
    assert again.objective == pytest.approx(solve(model.program).objective)
    assert model.program.matrix.toarray().tolist() == [[1, 0], [0, 1], [1, 2]]
    with pytest.raises(OptionError, match="no entry at row 0, column 1"):
        model.change_coefficients([1.0], rows=[0], columns=[1])


def test_smooth_programs_are_not_kept() -> None:
    import casadi

    x = casadi.SX.sym("x")
    with pytest.raises(ProblemTypeError, match="start="):
        Reusable(CasadiNlp(x, x**2))
