"""The interior-point method on dense programs, against a vertex method and its own invariants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.solvers import LinearProgram, solve
from edgeopt.solvers.interior_point import InteriorPoint, Point, approach

if TYPE_CHECKING:
    from edgeopt.solvers.interior_point import StandardForm


class DenseForm:
    """Any standard form, by the textbook."""

    def __init__(self, cost: np.ndarray, matrix: np.ndarray, right: np.ndarray) -> None:
        self.cost, self.matrix, self.right = cost, matrix, right
        self.factorised = 0

    def rows(self, values: np.ndarray) -> np.ndarray:
        return self.matrix @ values

    def prices(self, multipliers: np.ndarray) -> np.ndarray:
        return self.matrix.T @ multipliers

    def factorise(self, weight: np.ndarray) -> None:
        self.factorised += 1
        self._normal = (self.matrix * weight) @ self.matrix.T
        if not np.isfinite(self._normal).all():
            raise FloatingPointError("overflow")

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        multipliers = np.linalg.solve(self._normal, right)
        return multipliers, self.prices(multipliers)


def bounded_knapsacks(rng: np.random.Generator, items: int, knapsacks: int) -> DenseForm:
    """Maximise profit, fill knapsacks at most, take of each item no more than there is."""
    rows = rng.uniform(0.0, 1.0, (knapsacks, items))
    budget = rng.uniform(0.2, 0.8, knapsacks) * rows.sum(axis=1)
    upper = rng.uniform(0.2, 1.0, items)
    matrix = np.block(
        [
            [rows / budget[:, None], np.zeros((knapsacks, items)), np.eye(knapsacks)],
            [np.eye(items), np.eye(items), np.zeros((items, knapsacks))],
        ]
    )
    cost = np.concatenate([-rng.uniform(0.0, 1.0, items), np.zeros(items + knapsacks)])
    return DenseForm(cost, matrix, np.concatenate([np.ones(knapsacks), upper]))


def start(form: StandardForm) -> Point:
    columns = form.cost.size
    return Point(np.full(columns, 0.5), np.ones(columns), np.zeros(form.right.size))


def optimum(form: DenseForm) -> float:
    return solve(LinearProgram(form.cost, form.matrix, form.right, form.right)).objective


@given(seed=st.integers(0, 10_000), items=st.integers(1, 8), knapsacks=st.integers(1, 3))
def test_both_objectives_reach_the_optimum_of_a_vertex_method(seed, items, knapsacks):
    form = bounded_knapsacks(np.random.default_rng(seed), items, knapsacks)
    method, point = InteriorPoint(form), start(form)
    for _ in range(40):
        primal, dual = method.objectives(point)
        if abs(primal - dual) <= 1e-9 and np.abs(method.missing(point)).max() <= 1e-9:
            break
        point = method.step(point)
    assert point.primal.min() > 0.0
    assert point.slack.min() > 0.0
    np.testing.assert_allclose(form.cost - form.prices(point.multipliers), point.slack, atol=1e-8)
    want = optimum(form)
    assert method.objectives(point) == pytest.approx((want, want), abs=1e-7)


@pytest.mark.parametrize("correctors", [0, 1, 5])
def test_a_step_factorises_once_and_leaves_its_argument_alone(correctors):
    form = bounded_knapsacks(np.random.default_rng(3), 20, 3)
    method, point = InteriorPoint(form, correctors=correctors), start(form)
    before = point.primal.copy(), point.slack.copy(), point.multipliers.copy()
    after = method.step(point)
    assert form.factorised == 1
    for kept, now in zip(before, (point.primal, point.slack, point.multipliers), strict=True):
        np.testing.assert_array_equal(kept, now)
    assert after.centre < point.centre


def test_full_steps_remove_infeasibility_in_proportion():
    """Newton's equation is linear in the rows: a step of length a leaves 1 - a of the residual."""
    form = bounded_knapsacks(np.random.default_rng(4), 12, 2)
    method, point = InteriorPoint(form), start(form)
    point = Point(point.primal * 40.0, point.slack, point.multipliers)  # far from feasible
    steps = 0
    while np.abs(before := method.missing(point)).max() > 1e-3:
        point = method.step(point)
        left = method.missing(point)
        share = left @ before / (before @ before)
        assert -1e-9 <= share < 1.0
        np.testing.assert_allclose(left, share * before, atol=1e-9)
        steps += 1
    assert steps > 1


def test_correctors_save_factorisations():
    used = []
    for correctors in (0, 4):
        total = 0
        for seed in range(20):
            form = bounded_knapsacks(np.random.default_rng(seed), 30, 6)
            method, point = InteriorPoint(form, correctors=correctors), start(form)
            while abs(np.subtract(*method.objectives(point))) > 1e-8:
                point = method.step(point)
            total += form.factorised
        used.append(total)
    assert used[1] < used[0]


def test_a_factorisation_that_fails_says_so():
    form = bounded_knapsacks(np.random.default_rng(5), 4, 1)
    first = start(form)
    broken = Point(np.full_like(first.primal, np.inf), first.slack, first.multipliers)
    with pytest.raises(FloatingPointError), np.errstate(invalid="ignore"):
        InteriorPoint(form).step(broken)


@pytest.mark.parametrize("limit", [0.0, 2.0, 7.0, 9.9])
def test_no_step_begins_that_would_end_after_the_time_limit(limit):
    form = bounded_knapsacks(np.random.default_rng(6), 20, 3)
    now = 0.0

    class Slow(InteriorPoint):
        def step(self, point: Point) -> Point:
            nonlocal now
            now += 2.0
            return super().step(point)

    points = list(approach(Slow(form), start(form), 1e-12, time_limit=limit, clock=lambda: now))
    # How long a step takes is known after the first one.
    assert now == max(2.0, 2.0 * (limit // 2.0))
    assert len(points) == now / 2.0 + 1
