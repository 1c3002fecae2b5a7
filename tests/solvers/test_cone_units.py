"""Cone and quadratic programs with objectives in another unit, and repairs of programs."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from edgeopt.errors import ProblemTypeError
from edgeopt.solvers import Kind, LinearProgram, Quality, Solution, backends, explain, solve
from tests.draws import every

INSTALLED = [one.name for one in backends(installed=True) if Kind.CVXPY in one.routes]
AIM = np.array([1.0, 2.0, 3.0])


def least_squares(factor: float, x: cp.Variable) -> cp.Problem:
    return cp.Problem(cp.Minimize(factor * cp.sum_squares(x - AIM)), [cp.sum(x) <= 3, x >= 0.1])


def ball(factor: float, x: cp.Variable) -> cp.Problem:
    return cp.Problem(cp.Maximize(factor * (AIM @ x)), [cp.norm(x) <= 2])


def logarithms(factor: float, x: cp.Variable) -> cp.Problem:
    return cp.Problem(cp.Maximize(factor * cp.sum(cp.log(x))), [AIM @ x <= 4])


def linear(factor: float, x: cp.Variable) -> cp.Problem:
    return cp.Problem(cp.Minimize(factor * (AIM @ x) + 2 * factor), [cp.sum(x) >= 1, x >= 0])


def _solve(build, factor: float, solver: str) -> Solution:
    try:
        return solve(build(factor, cp.Variable(3, name="x")), solver)
    except ProblemTypeError as failure:
        pytest.skip(str(failure))


@pytest.mark.parametrize("solver", INSTALLED)
@pytest.mark.parametrize("build", every(2, [least_squares, ball, logarithms, linear]))
def test_the_unit_of_the_objective_decides_nothing(build, solver: str) -> None:
    base = _solve(build, 1.0, solver)
    assert base.quality.usable
    for factor in (2.0**-40, 2.0**40):
        other = _solve(build, factor, solver)
        assert (other.status, other.quality, other.gap) == (base.status, base.quality, base.gap)
        assert other.objective == base.objective * factor
        assert other.problem.value == pytest.approx(other.objective, rel=1e-12)
        np.testing.assert_array_equal(other.values["x"], base.values["x"])
        for name, dual in (base.duals or {}).items():
            np.testing.assert_array_equal(other.duals[name], dual * factor)
    for factor in (1e-8, 1e8):
        other = _solve(build, factor, solver)
        assert (other.status, other.quality) == (base.status, base.quality)
        assert other.objective / factor == pytest.approx(base.objective, rel=1e-6)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_violations_are_relative_to_what_meets_in_a_constraint(size: float) -> None:
    x = cp.Variable(2, name="x")
    found = solve(cp.Problem(cp.Minimize(cp.sum(x)), [x[0] - x[1] >= 1, x >= 0]), "clarabel")
    assert found.quality is Quality.OPTIMAL
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x[0] - x[1] >= size, x >= 0])
    own = {"problem": problem, "evidence": None}
    off = replace(found, values={"x": np.array([0.99 * size, 0.0])}, **own)
    assert off.primal_residual() == pytest.approx(0.01 / 2.98)
    assert off.certify().quality is Quality.INFEASIBLE


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
def test_an_optimum_of_all_zeros_is_found_among_the_points_that_surround_it(factor: float) -> None:
    """Interior points are small, and next to themselves far from feasible: 0 stands for them."""
    x = cp.Variable(3, name="x")
    spent = cp.Problem(cp.Minimize(factor * cp.sum_squares(x - AIM)), [AIM @ x <= 0, x >= 0])
    found = solve(spent, "clarabel", tolerance=1e-10)
    assert found.quality is Quality.OPTIMAL
    assert not found.values["x"].any()
    assert not x.value.any()
    assert found.objective == pytest.approx(14 * factor, rel=1e-15)
    # Nor is it put in the place of a point that is small and right, or wrong for other reasons.
    small = cp.Problem(cp.Minimize(cp.sum_squares(x - AIM)), [AIM @ x <= 1e-6, x >= 0])
    assert solve(small, "clarabel", tolerance=1e-12).values["x"].any()


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**40])
def test_explanations_know_no_unit(factor: float) -> None:
    def infeasible(row: float, column: float) -> LinearProgram:
        return LinearProgram(
            [1 / column, 1], [[row / column, row], [1 / column, 0]], [5 * row, -np.inf],
            [np.inf, 1], 0, [9 * column, 3], row_names=["demand", "capacity"],
        )  # fmt: skip

    base = explain(infeasible(1.0, 1.0))
    for other, unit in ((infeasible(factor, 1.0), factor), (infeasible(1.0, factor), 1.0)):
        found = explain(other)
        assert found.cost == pytest.approx(base.cost, rel=1e-12)
        assert [side.label for side in found.conflict] == [side.label for side in base.conflict]
        (repaired,), (before,) = found.repair, base.repair
        assert repaired.violation == pytest.approx(before.violation * unit, rel=1e-9)
