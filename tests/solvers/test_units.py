"""A program in other units is the same program: same quality and value, on every backend."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgeopt.errors import EdgeOptWarning
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

INF = np.inf
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
INTEGER = [one.name for one in backends(installed=True) if Kind.MIXED_INTEGER in one.routes]
EXACT = {"highs", "scipy", "scip", "cvxpy:highs"}
"""Backends that end at a vertex, if they cross over to one.

Clarabel stops at a gap of 1e-8, as its own default has it.
"""
BINARY = [(part, 2.0**power) for part in ("objective", "row", "column") for power in (-40, 40)]
DECIMAL = [(part, 10.0**power) for part in ("objective", "row", "column") for power in (-8, 8)]


def restated(program: LinearProgram, part: str, factor: float) -> LinearProgram:
    """Return the program with its objective, last row or first column in another unit."""
    rows, columns = np.ones(program.shape[0]), np.ones(program.shape[1])
    if part == "objective":
        return program.replace(cost=program.cost * factor, offset=program.offset * factor)
    if part == "row":
        rows[-1:] = factor
        matrix = sparse.diags_array(rows) @ program.matrix
        sides = {side: getattr(program, side) * rows for side in ("row_lower", "row_upper")}
        return program.replace(matrix=matrix, **sides)
    columns[0] = factor
    bounds = {side: getattr(program, side) * columns for side in ("lower", "upper")}
    matrix = program.matrix @ sparse.diags_array(1.0 / columns)
    return program.replace(cost=program.cost / columns, matrix=matrix, **bounds)


def in_old_units(values: np.ndarray, part: str, factor: float) -> np.ndarray:
    values = values.copy()
    if part == "column":
        values[0] /= factor
    return values


def solved(program: LinearProgram, solver: Any, **arguments: Any) -> Solution:
    with warnings.catch_warnings():
        # Of programs without a solution, and where a first-order method stops short, also here.
        warnings.simplefilter("ignore", EdgeOptWarning)
        return solve(program, solver, raises=False, **arguments)


@st.composite
def half_open_programs(draw: st.DrawFn) -> LinearProgram:
    """Draw a program some of whose columns have no bound of one kind or of both."""
    program = draw(linear_programs().filter(lambda program: program.shape[0] > 0))
    count = program.shape[1]
    some = st.lists(st.booleans(), min_size=count, max_size=count)
    low, high = np.array(draw(some)), np.array(draw(some))
    return program.replace(
        lower=np.where(low, program.lower, -INF), upper=np.where(high, program.upper, INF)
    )


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


# --- an oracle in exact arithmetic ---------------------------------------------------------------


def optimal_vertices(program: LinearProgram) -> list[tuple[Fraction, ...]]:
    """Return the best vertices of a program whose columns are bounded, by enumeration."""
    rows, count = program.matrix.toarray(), program.shape[1]
    planes = []
    for normals, below, above in (
        (rows, program.row_lower, program.row_upper),
        (np.eye(count), program.lower, program.upper),
    ):
        for normal, low, high in zip(normals, below, above, strict=True):
            exact = [Fraction(float(entry)) for entry in normal]
            planes += [(exact, Fraction(float(s)), k) for s, k in ((low, 1), (high, -1))
                       if np.isfinite(s)]  # fmt: skip
    cost = [Fraction(float(c)) * int(program.sign) for c in program.cost]
    best: dict[tuple[Fraction, ...], Fraction] = {}
    for chosen in combinations(planes, count):
        point = intersection([normal for normal, _, _ in chosen], [side for _, side, _ in chosen])
        if point is None:
            continue
        if all(k * (dot(normal, point) - side) >= 0 for normal, side, k in planes):
            best[tuple(point)] = dot(cost, point)
    least = min(best.values(), default=Fraction(0))
    return [point for point, value in best.items() if value == least]


def dot(one: list[Fraction], other: Any) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def intersection(normals: list[list[Fraction]], sides: list[Fraction]) -> list[Fraction] | None:
    """Solve a square system by elimination; None if it has not exactly one solution."""
    table = [[*normal, side] for normal, side in zip(normals, sides, strict=True)]
    count = len(table)
    for step in range(count):
        pivot = next((i for i in range(step, count) if table[i][step] != 0), None)
        if pivot is None:
            return None
        table[step], table[pivot] = table[pivot], table[step]
        table[step] = [entry / table[step][step] for entry in table[step]]
        for i in range(count):
            if i != step and table[i][step] != 0:
                table[i] = [a - table[i][step] * b for a, b in zip(table[i], table[step])]  # noqa: B905
    return [row[-1] for row in table]


@settings(max_examples=draws(60))
@given(program=linear_programs(), power=st.sampled_from([-60, -27, 0, 27, 60]))
def test_optimum_equals_the_best_vertex(program: LinearProgram, power: int) -> None:
    vertices = optimal_vertices(program)
    solution = solved(restated(program, "objective", 2.0**power), "highs")
    if not vertices:
        assert solution.status is Status.PROVEN_INFEASIBLE
        return
    cost = [Fraction(float(c)) for c in program.cost]
    optimum = dot(cost, vertices[0]) + Fraction(program.offset)
    assert solution.quality is Quality.OPTIMAL
    assert solution.objective * 2.0**-power == pytest.approx(float(optimum), rel=1e-9, abs=1e-12)


@settings(max_examples=draws(40))
@given(
    program=half_open_programs(),
    duals=st.lists(st.floats(-5, 5, allow_nan=False), min_size=4, max_size=4),
    tiny=st.sampled_from([1.0, 1e-8, 1e-20]),
)
def test_no_duals_prove_more_than_the_best_vertex(
    program: LinearProgram, duals: list[float], tiny: float
) -> None:
    """Against the optimum within a box, which is no better than that without it."""
    boxed = program.replace(lower=np.maximum(program.lower, -1000.0), upper=np.minimum(program.upper, 1000.0))  # noqa: E501  # fmt: skip
    vertices = optimal_vertices(boxed)
    assume(vertices)
    least = float(dot([Fraction(float(c)) for c in program.cost], vertices[0]))
    scaled = program.replace(cost=program.cost * tiny, offset=0.0)
    bound = bound_from_duals(scaled, tiny * np.array(duals[: program.shape[0]]))
    slack = 1e-12 * (bound.size if np.isfinite(bound.size) else 1.0) + 1e-9 * tiny
    assert program.sign * (least * tiny - bound.value) >= -slack


# --- what a backend is handed, and what it may not claim -----------------------------------------


def test_a_backend_sees_an_objective_near_1_without_its_constant() -> None:
    seen = []

    def look(program: LinearProgram, request: Any) -> Solution:
        seen.append((program, request))
        return highs.solve(program, request)

    spy = Backend("spy", "edgeopt", "edgeopt", {Kind.LINEAR: look})
    program = LinearProgram([3e9, 5e-4], [[1e3, 0], [0, 2], [3e3, 2]], -INF, [4e3, 12, 18e3], sense="max", offset=7e9)  # noqa: E501  # fmt: skip
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
