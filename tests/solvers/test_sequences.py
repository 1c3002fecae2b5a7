"""Objectives in order, pools, lazy rows and cuts, against enumeration of all points."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from edgeopt.errors import OptionError, ProblemTypeError
from edgeopt.solvers import LinearProgram, Quality, solve
from tests.draws import every
from tests.solvers.programs import glass


def knapsack(seed: int, sense: str = "max", most: int = 1) -> tuple[LinearProgram, np.ndarray]:
    """A program in whole numbers from 0 to `most`, and all its points."""
    rng = np.random.default_rng(seed)
    count = 7 if most == 1 else 4
    weight = rng.integers(2, 9, count)
    room = int(weight.sum() * most // 2)
    cost = rng.integers(-2, 9, count)
    program = LinearProgram(
        cost if sense == "max" else -cost, [weight], -np.inf, room, 0, most, True, sense,  # type: ignore[arg-type]
        offset=1.0,
    )  # fmt: skip
    points = np.array(list(product(range(most + 1), repeat=count)))
    return program, points[points @ weight <= room]


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("seed", every(2, [0, 1, 2]))
def test_pool_holds_the_best_points(seed: int, sense: str, most: int) -> None:
    program, points = knapsack(seed, sense, most)
    values = np.sort(program.sign * (points @ program.cost + 1.0))
    solution = solve(program, pool=12)
    pool = [solution, *solution.others]
    np.testing.assert_allclose([program.sign * one.objective for one in pool], values[:12])
    assert len({tuple(one.values.round().astype(int)) for one in pool}) == 12
    assert all(one.quality.usable and one.problem is solution.problem for one in pool)
    near = solve(program, pool=len(points) + 5, within=0.2)
    worst = np.abs(values - values[0]) / np.maximum(np.abs(values), abs(values[0])) <= 0.2 + 1e-9
    assert len(near.others) + 1 == worst.sum()


def test_pool_ends_with_the_last_point() -> None:
    program = LinearProgram([1, 1, 0.5], [[1, 1, 0]], 1, 1, 0, [1, 1, 5], [True, True, False])
    solution = solve(program, pool=10)
    assert len(solution.others) == 1
    assert solution.others[0].quality is Quality.OPTIMAL
    with pytest.raises(ProblemTypeError, match="whole numbers"):
        solve(glass(), pool=2)
    with pytest.raises(ProblemTypeError, match="finite bounds"):
        solve(program.replace(upper=[1, np.inf, 5]), pool=2)
    with pytest.raises(OptionError, match="pool"):
        solve(program, pool=0)


@pytest.mark.parametrize("give", [0.0, 0.1, [0.3, 0.0]])
@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("seed", every(2, [0, 1, 2]))
def test_objectives_in_order(seed: int, sense: str, give: Any) -> None:
    program, points = knapsack(seed, sense)
    rng = np.random.default_rng(100 + seed)
    costs = [program.cost, *rng.integers(0, 4, (2, points.shape[1])).astype(float)]
    left, sign = points, program.sign
    for cost, part, offset in zip(costs, [*np.broadcast_to(give, 2), 0.0], (1, 0, 0), strict=True):
        worth = sign * (left @ cost + offset)
        left = left[worth <= worth.min() + part * abs(worth.min()) + 1e-9]
    solution = solve(program, then=costs[1:], give=give)
    assert solution.objective == pytest.approx(left[0] @ costs[2], abs=1e-7)
    assert [one.objective for one in solution.others[:1]] == [solve(program).objective]
    assert len(solution.others) == 2
    named = {f"column[index={j}]": cost for j, cost in enumerate(costs[1])}
    assert solve(program, then=[named, costs[2]], give=give).objective == solution.objective


def test_second_objective_chooses_among_optima_of_a_linear_program() -> None:
    program = LinearProgram([1, 1], [[1, 1]], 4, np.inf, 0, 3)
    solution = solve(program, then=[[1, 0]])
    np.testing.assert_allclose(solution.values, [1, 3], atol=1e-7)
    assert solution.quality is Quality.OPTIMAL
    assert solution.bound_by == "proof"
    for wrong in ({"then": [[1, 0]], "pool": 2}, {"then": [[1, 0]], "give": -1}):
        with pytest.raises(OptionError):
            solve(program, **wrong)  # type: ignore[arg-type]


class Tour:
    """The travelling salesman on drawn cities: edges, degrees, and the rows that are missing."""

    def __init__(self, seed: int, cities: int = 8) -> None:
        rng = np.random.default_rng(seed)
        places = rng.random((cities, 2)) + np.where(np.arange(cities) % 2, 2.0, 0.0)[:, None]
        self.cities, self.pairs = cities, list(combinations(range(cities), 2))
        self.length = np.linalg.norm(places[:, None] - places[None], axis=-1)
        degree = [[city in pair for pair in self.pairs] for city in range(cities)]
        cost = [self.length[pair] for pair in self.pairs]
        self.program = LinearProgram(cost, np.array(degree, float), 2, 2, 0, 1, True)
        self.asked: list[np.ndarray] = []

    def broken(self, values: np.ndarray) -> list[Any]:
        """Sets of cities that too few edges leave."""
        self.asked.append(values)
        graph = np.zeros((self.cities, self.cities))
        for pair, value in zip(self.pairs, values, strict=True):
            graph[pair] = value > 1e-6
        count, part = connected_components(graph, directed=False)
        sets = [set(np.flatnonzero(part == k)) for k in range(count)] if count > 1 else []
        return [
            ({e: 1.0 for e, (a, b) in enumerate(self.pairs) if (a in one) != (b in one)}, 2, np.inf)
            for one in sets
        ]

    def best(self) -> float:
        """The shortest tour, of all."""
        tours = ((0, *rest, 0) for rest in permutations(range(1, self.cities)))
        return min(sum(self.length[a, b] for a, b in pairwise(t)) for t in tours)


@pytest.mark.parametrize("solver", ["highs", "scip"])
@pytest.mark.parametrize("seed", every(2, [0, 1, 2, 3]))
def test_lazy_rows_lead_to_a_tour(seed: int, solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    tour = Tour(seed)
    bare = solve(tour.program, solver)
    assert bare.objective < tour.best() - 1e-6  # two rings
    solution = solve(tour.program, solver, lazy=tour.broken)
    assert solution.objective == pytest.approx(tour.best(), rel=1e-6)
    assert solution.quality is Quality.OPTIMAL
    assert solution.problem.shape[0] > tour.cities
    assert not tour.broken(solution.values)
    if solver == "scip":  # it was asked inside the one search
        assert any(np.abs(v - np.round(v)).max() < 1e-6 for v in tour.asked)


def test_cuts_are_asked_at_relaxations() -> None:
    tour = Tour(5)
    solution = solve(tour.program, cuts=tour.broken, lazy=tour.broken)
    assert solution.objective == pytest.approx(tour.best(), rel=1e-6)
    before = solve(tour.program.relaxed()).objective
    assert solve(solution.problem.relaxed()).objective > before + 1e-6
    with_pool = solve(tour.program, lazy=tour.broken, pool=3)
    assert len(with_pool.others) == 2
    assert not any(tour.broken(one.values) for one in with_pool.others)


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_what_a_row_source_raises_comes_out(solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")

    def fails(values: np.ndarray) -> list[Any]:
        raise ArithmeticError("mine")

    with pytest.raises(ArithmeticError, match="mine"):
        solve(Tour(0).program, solver, lazy=fails)
    with pytest.raises(OptionError, match="terms, lower, upper"):
        solve(Tour(0).program, solver, lazy=lambda values: [3])


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_lazy_rows_count_in_the_units_of_the_caller(solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    unit = 2.0**20
    rows = [[1.0, 1 / unit], [2.0, 3 / unit]]
    program = LinearProgram(
        [1, 2 / unit], rows, -np.inf, [4.5, 11], 0, [3, 9 * unit], [True, False], "max"
    )
    assert program.units.columns[1]

    def less(values: np.ndarray) -> list[Any]:
        return [({"column[index=1]": 1.0}, -np.inf, 2.25 * unit)]

    assert solve(program, solver).values[1] > 2.25 * unit
    solution = solve(program, solver, lazy=less)
    np.testing.assert_allclose(solution.values, [2, 2.25 * unit])
    relaxed = solve(program.relaxed(), solver, lazy=less)
    assert relaxed.values[1] == pytest.approx(2.25 * unit)
    assert len(relaxed.duals) == relaxed.problem.shape[0] == 3
