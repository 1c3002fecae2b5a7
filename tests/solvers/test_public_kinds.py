"""Small programs of the kinds that solvers get wrong in public, with numbers of their own."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from edgeopt.solvers import Backend, Kind, LinearProgram, Quality, Solution, Status, backends
from edgeopt.solvers.repair import repaired
from edgeopt.solvers.residuals.linear import primal_violation
from edgeopt.testing.programs import proves_no_point
from tests.draws import draws
from tests.solvers.vertices import INF, solved
from tests.testing.solvers import right

INSTALLED = [one for one in backends(installed=True) if not one.fault]
LINEAR = [one.name for one in INSTALLED if Kind.LINEAR in one.routes]
WHOLE = [one.name for one in INSTALLED if Kind.MIXED_INTEGER in one.routes]
LOOSE = {"osqp", "scs", "pdlp", "ipopt"}
"""They may stop short of an optimum, but not past it."""


def assert_right(found: Solution, optimum: float, solver: str, accuracy: float = 1e-6) -> None:
    """Check that an optimum is proven, or, of a loose solver, that nothing false is."""
    proven = found.quality is Quality.OPTIMAL
    assert proven or solver in LOOSE
    assert not proven or found.objective == pytest.approx(optimum, rel=accuracy)
    assert not found.status.infeasible
    assert found.status is not Status.PROVEN_UNBOUNDED


@pytest.mark.parametrize("solver", LINEAR)
@pytest.mark.parametrize(("total", "least"), [(4e6, 3e-4), (2e5, 1e-5), (7e8, 2e-3)])
def test_a_small_side_beside_a_large_one(solver: str, total: float, least: float) -> None:
    """Rows z + w = total and z >= least: the cheaper column takes all of it."""
    program = LinearProgram([2, 5], [[1, 1], [1, 0]], [total, least], [total, INF])
    assert_right(solved(program, solver, time_limit=5.0), 2 * total, solver)


@pytest.mark.parametrize("solver", LINEAR)
@pytest.mark.parametrize("least", [1e-3, 1e-4, 1e-6])
def test_a_small_side_does_not_make_a_program_infeasible(solver: str, least: float) -> None:
    matrix = [[1, 1, -1], [1, 0, 0], [0, 0, 1], [0, 1, 0]]
    sides = [0, least, 2e4, -INF], [INF, INF, 5e5, 3]
    program = LinearProgram([7, 4, -2], matrix, *sides)
    assert_right(solved(program, solver, time_limit=5.0), 7 * 19_997 + 4 * 3 - 2 * 2e4, solver)


def purchase_and_ship(rng: np.random.Generator, least: float) -> tuple[LinearProgram, float, float]:
    """Return a program, and its optimum without the least purchases and with all of them."""
    sellers, sites = rng.integers(2, 5), rng.integers(2, 6)
    price = rng.integers(1, 20, sellers).astype(float)
    freight = rng.integers(1, 20, (sellers, sites)).astype(float)
    demand = np.round(10.0 ** rng.uniform(3, 6, sites))
    each, every = np.eye(sellers), np.ones((1, sites))
    stock = np.hstack([each, -np.kron(each, every)])  # bought - shipped >= 0
    supply = np.hstack([np.zeros((sites, sellers)), np.tile(np.eye(sites), sellers)])
    bought = np.hstack([each, np.zeros((sellers, sellers * sites))])
    lower = np.concatenate([np.zeros(sellers), demand, np.full(sellers, least)])
    upper = np.concatenate([np.full(sellers, INF), demand, np.full(sellers, INF)])
    cost = np.concatenate([price, freight.ravel()])
    best = float(demand @ (price[:, None] + freight).min(axis=0))
    rows = np.vstack([stock, supply, bought])
    return LinearProgram(cost, rows, lower, upper), best, best + least * price.sum()


@pytest.mark.parametrize("solver", [name for name in LINEAR if name not in LOOSE])
@pytest.mark.parametrize("least", [1e-2, 1e-4, 1e-5, 1e-6])
def test_purchases_of_at_least_little(solver: str, least: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(draws(20)):
        program, low, high = purchase_and_ship(rng, least)
        found = solved(program, solver)
        assert found.quality is Quality.OPTIMAL
        assert low * (1 - 1e-6) <= found.objective <= high * (1 + 1e-6)


@pytest.mark.parametrize("size", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("free", [True, False])
def test_a_large_column_hides_no_violation(size: float, free: bool) -> None:
    """A point is large in a column that stands in no other row: what it violates stays violated."""
    rows = [[0, 1, 1]] if free else [[0, 2, 3], [1, 0, 0]]
    program = LinearProgram([0, 1, 1], rows, 6, INF if free else [INF, INF], [-INF, 0, 0], INF)

    def lies(program: LinearProgram, request: Any) -> Solution:
        point = np.array([size, 0.0, 0.0])
        truth = right(program, request)
        return replace(truth, values=point, duals=np.zeros(len(rows)), objective=0.0, bound=0.0)

    found = solved(program, Backend("liar", "edgeopt", "edgeopt", {Kind.LINEAR: lies}))
    assert found.quality is not Quality.OPTIMAL or found.objective == pytest.approx(
        6 if free else 2
    )
    claimed = replace(found, values=np.array([size, 0, 0]), objective=0.0, quality=Quality.OPTIMAL)
    assert claimed.certify().quality is Quality.INFEASIBLE


@pytest.mark.parametrize("solver", WHOLE)
@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8, 1e9])
def test_a_constant_changes_no_choice(solver: str, offset: float) -> None:
    rng = np.random.default_rng(11)
    for _ in range(draws(4)):
        weight, worth = rng.integers(20, 99, 12), rng.integers(20, 99, 12)
        program = LinearProgram(
            worth, [weight], -INF, weight.sum() // 2, 0, 1, True, "max", offset=offset
        )
        choices = np.array(list(product([0, 1], repeat=12)))
        best = (choices @ worth)[choices @ weight <= weight.sum() // 2].max()
        found = solved(program, solver)
        assert found.quality is Quality.OPTIMAL
        assert found.objective - offset == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("solver", LINEAR)
@pytest.mark.parametrize("size", [1.797e308, 1e30, 1e20])
def test_the_largest_numbers_are_no_sides(solver: str, size: float) -> None:
    program = LinearProgram([1, 2], [[1, 1], [1, -1]], [1, -size], [size, size], 0, size)
    found = solved(program, solver, time_limit=5.0)
    assert found.quality is Quality.OPTIMAL
    assert found.objective == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("solver", LINEAR)
@pytest.mark.parametrize("size", [1e17, 1e18, 9e18, 1e19, 9.9e19])
def test_rounding_of_a_wide_box_proves_nothing(solver: str, size: float) -> None:
    """Where 1e18 - 1e18 stands for 3, an answer of 0 is not the optimum."""
    for program in (
        LinearProgram([1, -1], [[1, -1]], 3, INF, -size, size),
        LinearProgram([1, 1], [[1, 1]], 3, INF, -size, size),
        LinearProgram([-1, 1], [[1, -1]], -INF, -3, -size, size, sense="max").replace(cost=[1, -1]),
    ):
        found = solved(program, solver, time_limit=5.0)
        optimum = 3.0 * program.sign
        proven = found.quality is Quality.OPTIMAL
        assert not proven or found.objective == pytest.approx(optimum, rel=1e-6)
        assert found.status not in (Status.PROVEN_INFEASIBLE, Status.PROVEN_UNBOUNDED)


@pytest.mark.parametrize("solver", WHOLE)
def test_a_mixed_integer_program_without_end_is_proven_so(solver: str) -> None:
    for program, whole in (
        (LinearProgram([1, 1], [[1, -1]], -INF, 2.5, sense="max"), [True, True]),
        (LinearProgram([-3, 1], [[2, -3], [1, 1]], -INF, [7, INF]), [True, False]),
        (LinearProgram([0, -1], [[2, 3]], -5, INF, -INF, INF), [False, True]),
    ):
        found = solved(program.replace(integer=whole), solver)
        assert found.status is Status.PROVEN_UNBOUNDED
        ray = found.evidence
        assert program.sign * program.cost @ ray < 0
        activity = program.matrix @ ray
        assert np.all(activity[np.isfinite(program.row_lower)] >= -1e-9)
        assert np.all(activity[np.isfinite(program.row_upper)] <= 1e-9)
        assert np.all(ray[np.isfinite(program.lower)] >= 0)


@pytest.mark.parametrize("solver", WHOLE)
@pytest.mark.parametrize(
    ("large", "small", "side"),
    [(1e9, 100, 999_999_998), (1e8, 10, 99_999_999), (1e9, 1000, 1_999_999_996), (1e7, 7, 6)],
)
def test_whole_numbers_do_not_add_up_to_what_they_cannot(
    solver: str, large: float, small: float, side: float
) -> None:
    program = LinearProgram([1, 1], [[large, small]], side, side, 0, 1e8, True)
    found = solved(program, solver)
    assert not found.quality.usable
    assert found.status is not Status.PROVEN_INFEASIBLE  # its relaxation has points
    assert found.status.infeasible or "infeasible" in found.claim or found.values is not None


# --- what exact enumeration found ----------------------------------------------------------------


@pytest.mark.parametrize("solver", ["highs", "scipy"])
@pytest.mark.parametrize("side", [2.0**-24, 1e-9])
def test_a_tiny_side_keeps_no_program_from_being_unbounded(solver: str, side: float) -> None:
    program = LinearProgram([0, 1], [[-1, 0]], -INF, side, -INF, INF)
    assert solved(program, solver).status is Status.PROVEN_UNBOUNDED


@pytest.mark.parametrize("solver", ["highs", "scipy", "clarabel"])
def test_no_entry_is_dropped_from_an_infeasible_program(solver: str) -> None:
    unit = 2.0**32
    program = LinearProgram([-3 / unit, 2], [[3 / unit, 1]], -INF, 3, [unit, 1], [3 * unit, INF])
    found = solved(program, solver)
    assert found.status is Status.PROVEN_INFEASIBLE
    assert proves_no_point(program, found.evidence)


@pytest.mark.parametrize("solver", ["highs", "scipy"])
@pytest.mark.parametrize("unit", [2.0**-32, 2.0**-40])
def test_a_row_in_a_large_unit_is_proven_infeasible(solver: str, unit: float) -> None:
    program = LinearProgram([-2], [[-2 * unit]], -6 * unit, -3 * unit, -INF, -2)
    assert solved(program, solver).status is Status.PROVEN_INFEASIBLE
    assert solved(program.replace(integer=True), solver).status is Status.PROVEN_INFEASIBLE


@pytest.mark.parametrize("unit", [2.0**33, 2.0**39, 2.0**50])
def test_a_column_in_a_small_unit_is_proven_unbounded(unit: float) -> None:
    program = LinearProgram([unit], [[3 * unit]], 4, INF, -INF, INF, sense="max")
    assert solved(program).status is Status.PROVEN_UNBOUNDED


def test_a_quadratic_program_with_one_column_in_a_large_unit_is_right() -> None:
    unit = 2.0**-33
    term = [[4 * unit**2, 4 * unit], [4 * unit, 4]]
    program = LinearProgram(
        [2 * unit, -3], [[3 * unit, 0]], 6, 6, [-2 / unit, -INF], [INF, -2], quadratic=term
    )
    found = solved(program)
    assert found.quality is Quality.OPTIMAL
    assert found.objective == pytest.approx(10.0, rel=1e-5)


@pytest.mark.parametrize("cost", [0.0, -1.0])
def test_a_quadratic_program_in_a_small_unit_is_right(cost: float) -> None:
    """The same program with columns 4096 times as large is right to 5e-11."""
    unit = 2.0**-12
    term = [[1 / unit**2]]
    program = LinearProgram([cost / unit], np.zeros((0, 1)), [], [], 0, 4 * unit, quadratic=term)
    assert solved(program, absolute_gap=1e-7).quality is Quality.OPTIMAL


@pytest.mark.parametrize("least", [1e-2, 1e-6])
def test_a_repaired_point_leaves_a_bound_for_a_row(least: float) -> None:
    program = LinearProgram([1, 2], [[1, 1], [0, 1]], [1e3, least], [1e3, INF])
    point = repaired(program, np.array([1e3, 0.0]))
    assert primal_violation(program, point) <= 1e-9


def test_scip_ends_beside_a_tiny_side() -> None:
    pytest.importorskip("pyscipopt")
    program = LinearProgram([1, 2], [[1, 1], [0, 1]], [1e4, 1e-7], [1e4, INF])
    assert solved(program, "scip").quality is Quality.OPTIMAL


def test_a_linear_program_is_not_optimal_by_the_word_of_a_solver() -> None:
    """Its optimum is 1. A quadratic program without duals has no bound, as it should be."""

    def lies(program: LinearProgram, request: Any) -> Solution:
        point = np.array([1.0, 1.0])
        stated = program.objective(point)
        truth = right(program, request)
        return replace(truth, values=point, duals=None, objective=stated, bound=stated)

    program = LinearProgram([1, 2], [[1, 1]], 1, INF, 0, 4)
    found = solved(program, Backend("liar", "edgeopt", "edgeopt", {Kind.LINEAR: lies}))
    assert found.quality is not Quality.OPTIMAL or found.objective == pytest.approx(1.0)


def test_a_large_quadratic_term_is_no_reason_to_raise() -> None:
    unit = 2.0**-32
    term = [[4 / unit**2]]
    program = LinearProgram([2 / unit], [[3 / unit]], 5, 5, quadratic=term)
    solved(program, "highs")


def test_a_repaired_point_is_no_worse_than_a_hopeless_one() -> None:
    matrix = [[0, 0, -3, -3], [-3, 2, 0, -1], [1, -1, -1, 0], [-1, -2, 1, -1]]
    matrix[3] = [entry * 2.0**-38 for entry in matrix[3]]
    program = LinearProgram(
        np.zeros(4), matrix, [2, 3, 3, 5 * 2.0**-38], [INF, 3, 3, INF],
        [-INF, -1, 1, -INF], [3, INF, INF, INF],
    )  # fmt: skip
    start = np.array([3.0, 7e16, 1.0, 2e-9])
    assert primal_violation(program, repaired(program, start)) <= primal_violation(program, start)
