"""A program in other units is the same program: same quality and value, on every backend."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

from edgeopt.solvers import (
    Backend,
    Kind,
    LinearProgram,
    Quality,
    Reusable,
    Solution,
    Status,
    backends,
    solve,
)
from edgeopt.solvers.backend import highs
from edgeopt.solvers.residuals.linear import bound_from_duals
from edgeopt.solvers.tolerance import DEFAULT
from edgeopt.testing.strategies import linear_programs
from tests.draws import draws, every
from tests.solvers.vertices import INF, in_old_units, optimal_vertices, restated, solved

OWN = {"ipopt": {"max_iter": 100}}  # It takes thousands to give up where there is no optimum.
INSTALLED = [one.name for one in backends(installed=True) if Kind.LINEAR in one.routes]
LINEAR = [(name, OWN.get(name, {})) for name in INSTALLED] + [
    ("highs", {"algorithm": "ipm"}),
    ("highs", {"algorithm": "ipm", "run_crossover": "off"}),
    ("highs", {"algorithm": "pdlp"}),
    ("scipy", {"algorithm": "ipm"}),
    ("cvxpy:highs", {}),
]
SOME = every(3, LINEAR, rows=True)
EXACT = {"highs", "scipy", "scip", "cvxpy:highs"}
"""Backends that end at a vertex, if they cross over to one.

Clarabel stops at a gap of 1e-8, as its own default has it.
"""
DECIMAL = [(part, 10.0**power) for part in ("objective", "row", "column") for power in (-8, 8)]


@pytest.mark.parametrize(("solver", "arguments"), SOME)
@settings(max_examples=draws(10))
@given(program=linear_programs())
def test_other_factors_change_rounding_alone(
    program: LinearProgram, solver: str, arguments: dict[str, Any]
) -> None:
    if solver == "ipopt":
        pytest.skip("Ipopt gives up at points of its own choice where rounding differs")
    exact = solver in EXACT and not {"pdlp", "off"} & set(arguments.values())
    base = solved(program, solver, **arguments)
    # An optimum of 0 is met to rounding, which is not the same in other units.
    assume(base.values is None or abs(base.objective) > 1e-3)
    vertices = optimal_vertices(program) if base.quality is Quality.OPTIMAL else []
    for part, factor in DECIMAL:
        other = solved(restated(program, part, factor), solver, **arguments)
        assert base.quality is other.quality
        assert not exact or base.status is other.status
        if base.values is None:
            continue
        unit = factor if part == "objective" else 1.0
        accuracy = 1e-9 if exact else 10 * DEFAULT
        assert other.objective / unit == pytest.approx(base.objective, rel=accuracy)
        if exact and len(vertices) == 1:
            back = in_old_units(other.values, part, factor)
            np.testing.assert_allclose(back, base.values, rtol=1e-6, atol=1e-6)


# --- what a backend is handed, and what it may not claim -----------------------------------------


def test_a_backend_sees_an_objective_near_1_without_its_constant() -> None:
    seen = []

    def look(program: LinearProgram, request: Any) -> Solution:
        seen.append((program, request))
        return highs.solve(program, request)

    spy = Backend("spy", "edgeopt", "edgeopt", {Kind.LINEAR: look})
    program = LinearProgram([3e9, 5e4], [[1e3, 0], [0, 2], [3e3, 2]], -INF, [4e3, 12, 18e3], sense="max", offset=7e9)  # noqa: E501  # fmt: skip
    solution = solve(program, spy, absolute_gap=1e-12, objective_bound=2.0)
    (handed, request), factor = seen[0], 2.0**-31
    assert len(seen) == 1
    assert 1.0 <= np.abs(handed.cost).max() < 2.0
    np.testing.assert_array_equal(handed.cost, factor * program.cost)
    assert handed.offset == 0.0
    np.testing.assert_array_equal(handed.matrix.toarray(), program.matrix.toarray())
    assert request.absolute_gap == 1e-12 * factor
    # Solvers see the minimisation of the negative objective.
    assert request.options == {"objective_bound": (2.0 + 7e9) * factor}
    assert solution.options["objective_bound"] == 2.0
    assert solution.objective == pytest.approx(program.objective(solution.values), rel=1e-12)


@pytest.mark.parametrize(("solver", "arguments"), SOME)
def test_an_unbounded_program_with_tiny_costs_is_not_certified(
    solver: str, arguments: dict[str, Any]
) -> None:
    for program in (
        LinearProgram([1e-8], np.zeros((0, 1)), [], [], sense="max"),
        LinearProgram([1e-8, 1.0], [[0, 1.0]], -INF, 1.0, sense="max"),
        LinearProgram([1e-8, 0.0], [[1.0, -1.0]], -INF, 1.0, sense="max"),
        LinearProgram([1e-30, -1e-30], [[1.0, 1.0]], 1.0, 1.0, -INF, INF),
    ):
        solution = solved(program, solver, **arguments)
        assert solution.quality is not Quality.OPTIMAL
        assert solution.bound == program.sign * -INF
        assert bound_from_duals(program, np.zeros(program.shape[0])).value == program.sign * -INF


def test_small_units_are_certified_at_the_right_optimum() -> None:
    program = LinearProgram([1.0, 2.0], [[1.0, 1.0]], 1e-4, INF)
    for name, arguments in LINEAR:
        solution = solved(program, name, **arguments)
        assert solution.quality is Quality.OPTIMAL
        assert solution.objective == pytest.approx(1e-4, rel=10 * DEFAULT)


def test_a_constant_objective_has_no_gap() -> None:
    program = LinearProgram([0.0, 0.0], [[1.0, 1.0]], 1.0, 2.0, offset=-3.5)
    for name, arguments in LINEAR:
        solution = solve(program, name, **arguments)
        assert (solution.quality, solution.gap) == (Quality.OPTIMAL, 0.0)


def test_an_optimum_of_zero_needs_an_absolute_gap() -> None:
    program = LinearProgram([1.0, 1.0], [[1.0, -1.0]], -2.0, 2.0)
    exact = solve(program)
    assert (exact.objective, exact.quality, exact.gap) == (0.0, Quality.OPTIMAL, 0.0)
    near = Solution(
        exact.status, Quality.OPTIMAL, 1e-9, 0.0, np.array([1e-9, 0.0]), np.zeros(1),
        exact.seconds, "", "", {}, program, sense="min",
    )  # fmt: skip
    assert near.certify().quality is Quality.FEASIBLE
    assert near.certify().gap == 1.0
    assert near.certify(absolute_gap=1e-8).quality is Quality.OPTIMAL
    assert near.certify(absolute_gap=1e-10).quality is Quality.FEASIBLE


@pytest.mark.parametrize("factor", [2.0**-40, 1.0, 2.0**40])
def test_rounding_in_the_bound_of_a_search_is_none_of_the_gap(factor: float) -> None:
    """A search adds up costs that are not its bound's: 1 - 1 is 0 to within their rounding."""
    program = LinearProgram(
        [0.2 * factor, -0.4 * factor], [[1.0, 1.0]], -INF, 1.0, upper=1.0, integer=True
    )
    zero = Solution(
        Status.CONVERGENCE_CRITERIA_SATISFIED, Quality.OPTIMAL, 0.0, -1.1e-16 * factor,
        np.zeros(2), None, solve(program).seconds, "", "", {}, program, sense="min",
    )  # fmt: skip
    assert zero.certify().quality is Quality.OPTIMAL
    assert replace(zero, bound=-1e-13 * factor).certify().quality is Quality.FEASIBLE


def test_costs_that_change_their_unit_are_rescaled_in_place() -> None:
    program = LinearProgram([3.0, 5.0], [[1, 0], [0, 2], [3, 2]], -INF, [4, 12, 18], sense="max")
    model = Reusable(program)
    first = model.solve()
    model.change_cost([3e-9, 5e-9])
    again = model.solve()
    assert again.quality is Quality.OPTIMAL
    assert again.objective == pytest.approx(first.objective * 1e-9, rel=1e-12)
    assert 1.0 <= np.abs(model._model.getLp().col_cost_).max() < 2.0
