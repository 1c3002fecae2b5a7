"""The geometry of mirror maps on a knapsack, and their steps, beside other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.online.mirror_ascent import (
    AdaptiveStep,
    FixedStep,
    KnapsackEntropy,
    KnapsackEuclidean,
    MirrorAscent,
    TheoryStep,
)
from tests.online.mirror_maps import Floats, Map, best_fixed, maps, somewhere


def norm(mirror: Map, move: Floats) -> float:
    if isinstance(mirror, KnapsackEntropy):
        return float(mirror.size @ np.abs(move))
    return float(np.sqrt(mirror.size @ move**2))


@given(maps())
def test_best_point_is_that_of_the_linear_program(drawn: tuple[Map, np.random.Generator]):
    mirror, rng = drawn
    gradient = rng.normal(size=mirror.size.size)
    point = mirror.best(gradient)
    assert gradient @ point == pytest.approx(best_fixed(gradient, mirror), abs=1e-9)
    np.testing.assert_allclose(mirror.project(point), point, atol=1e-12)


@given(maps())
def test_divergence_is_at_least_half_the_squared_norm(drawn: tuple[Map, np.random.Generator]):
    mirror, rng = drawn
    y, z = somewhere(mirror, rng), somewhere(mirror, rng)
    assert mirror.divergence(y, z) >= mirror.convexity / 2 * norm(mirror, y - z) ** 2 - 1e-12
    assert mirror.divergence(y, y) == pytest.approx(0.0, abs=1e-12)


def test_no_larger_convexity_is_valid_for_the_entropy():
    """Halves of equal mass, moved against each other by little."""
    mirror = KnapsackEntropy([1.0, 2.0, 3.0, 4.0], 3.0)
    centre = mirror.centre()
    move = 1e-4 * np.array([1.0, -1.0, -1.0, 1.0]) * centre
    ratio = mirror.divergence(centre + move, centre) / norm(mirror, move) ** 2
    assert ratio == pytest.approx(mirror.convexity / 2, rel=1e-3)
    within = KnapsackEntropy(mirror.size, mirror.budget, fill=False)
    ratio = within.divergence(0.9999 * centre, centre) / norm(within, 1e-4 * centre) ** 2
    assert ratio == pytest.approx(within.convexity / 2, rel=1e-3)


@given(maps())
def test_diameter_and_width_bound_the_set(drawn: tuple[Map, np.random.Generator]):
    mirror, rng = drawn
    y, z = somewhere(mirror, rng, 30.0), somewhere(mirror, rng, 30.0)
    assert mirror.divergence(y, mirror.centre()) <= mirror.diameter * (1 + 1e-12)
    assert mirror.divergence(y, z) <= mirror.farthest(z) * (1 + 1e-12)
    assert norm(mirror, y - z) <= mirror.width * (1 + 1e-12)


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize("kind", [KnapsackEntropy, KnapsackEuclidean])
def test_whole_choices_attain_diameter_and_width(kind: type[Map], fill: bool):
    mirror = kind([1.0, 2.0, 3.0, 2.0], 4.0, fill)
    low, high = np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0, 1.0])
    assert mirror.divergence(low, mirror.centre()) == pytest.approx(mirror.diameter)
    assert norm(mirror, low - high) == pytest.approx(mirror.width)
    start = np.array([0.2, 0.6, 0.3, 0.7])
    assert mirror.divergence(low, start) == pytest.approx(mirror.farthest(start))
    assert mirror.divergence(high, start) < mirror.farthest(start)


@given(maps())
def test_the_centre_is_where_the_map_is_least(drawn: tuple[Map, np.random.Generator]):
    mirror, rng = drawn
    y, centre = somewhere(mirror, rng), mirror.centre()
    np.testing.assert_allclose(mirror.project(centre), centre, rtol=1e-12)
    # The slope of the map, s (log y + 1) or s y, rises towards every other point.
    entropic = isinstance(mirror, KnapsackEntropy)
    slope = mirror.size * ((np.log(centre) + 1.0) if entropic else centre - 0.5)
    assert slope @ (y - centre) >= -1e-9


@given(maps())
def test_dual_norm_bounds_what_a_move_earns_and_is_attained(
    drawn: tuple[Map, np.random.Generator],
):
    mirror, rng = drawn
    gradient = rng.normal(size=mirror.size.size)
    move = somewhere(mirror, rng) - somewhere(mirror, rng)
    assert gradient @ move <= mirror.dual_norm(gradient) * norm(mirror, move) + 1e-12
    worth = gradient / mirror.size
    if not mirror.fill:
        top = np.argmax(np.abs(worth))
        one = np.sign(worth[top]) * np.eye(worth.size)[top] / mirror.size
        move = one if isinstance(mirror, KnapsackEntropy) else worth
        assert gradient @ move == pytest.approx(mirror.dual_norm(gradient) * norm(mirror, move))
        return
    if isinstance(mirror, KnapsackEntropy):
        move = np.zeros_like(worth)
        move[np.argmax(worth)] += 1.0
        move[np.argmin(worth)] -= 1.0
        move /= mirror.size
    else:
        move = worth - np.average(worth, weights=mirror.size)
    assert mirror.size @ move == pytest.approx(0.0, abs=1e-12)
    assert gradient @ move == pytest.approx(mirror.dual_norm(gradient) * norm(mirror, move))
    shifted = gradient + 7.0 * mirror.size
    assert mirror.dual_norm(shifted) == pytest.approx(mirror.dual_norm(gradient))


@given(maps())
def test_a_step_maximises_its_objective(drawn: tuple[Map, np.random.Generator]):
    mirror, rng = drawn
    start, gradient = somewhere(mirror, rng), rng.normal(size=mirror.size.size)
    rate = 10.0 ** rng.uniform(-2, 1)
    reached = mirror.step(start, gradient, rate)
    used = mirror.size @ reached
    assert used <= mirror.budget * (1 + 1e-12)
    assert used == pytest.approx(mirror.budget, rel=1e-12) or not mirror.fill
    assert ((reached >= 0) & (reached <= 1)).all()

    def objective(y: Floats) -> float:
        return rate * float(gradient @ y) - mirror.divergence(y, start)

    other = somewhere(mirror, rng)
    for part in (1.0, 0.1, 1e-3):
        assert objective(reached + part * (other - reached)) <= objective(reached) + 1e-10


@given(maps(), st.floats(-3, 3))
def test_euclidean_projection_clips_at_one_level(
    drawn: tuple[Map, np.random.Generator], offset: float
):
    face, rng = drawn
    mirror = KnapsackEuclidean(face.size, face.budget, face.fill)
    target = rng.normal(scale=rng.choice([0.1, 1.0, 10.0]), size=mirror.size.size) + offset
    if rng.random() < 0.3:
        target = np.round(target)
    result = mirror.project(target)
    low, high = target.min() - 1.0, target.max()
    if not mirror.fill:
        low, high = 0.0, max(0.0, high)
        if mirror.size @ np.clip(target, 0.0, 1.0) <= mirror.budget:
            high = 0.0
    for _ in range(100):
        level = (low + high) / 2
        if mirror.size @ np.clip(target - level, 0.0, 1.0) > mirror.budget:
            low = level
        else:
            high = level
    np.testing.assert_allclose(result, np.clip(target - high, 0.0, 1.0), atol=1e-12)
    if high > 0.0 or mirror.fill:
        assert mirror.size @ result == pytest.approx(mirror.budget, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_steps_within_a_budget_are_those_of_a_conic_solver(seed: int):
    """Gains of both signs, budgets that bind and budgets that do not."""
    import cvxpy as cp

    rng = np.random.default_rng(seed)
    n = 6
    size, gradient = rng.uniform(0.5, 3.0, n), rng.normal(size=n) + (seed % 3 - 1)
    budget = float(size.sum()) * rng.choice([0.2, 0.6, 0.9])
    for kind in (KnapsackEntropy, KnapsackEuclidean):
        mirror = kind(size, budget, fill=False)
        start = somewhere(mirror, rng, 1.0)
        y = cp.Variable(n)
        if kind is KnapsackEntropy:
            distance = cp.sum(cp.multiply(size, cp.kl_div(y, start)))
        else:
            distance = cp.sum(cp.multiply(size / 2, cp.square(y - start)))
        goal = cp.Maximize(0.7 * gradient @ y - distance)
        cp.Problem(goal, [y >= 0, y <= 1, size @ y <= budget]).solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
        )
        np.testing.assert_allclose(mirror.step(start, gradient, 0.7), y.value, atol=2e-5)


def test_points_that_need_not_fill_the_budget_fill_it_for_gains():
    """From a full start and without losses, both sets give the same points; losses part them."""
    rng = np.random.default_rng(5)
    size = rng.uniform(0.5, 2.0, 7)
    for kind in (KnapsackEntropy, KnapsackEuclidean):
        ends = [
            MirrorAscent(kind(size, 2.0, fill), FixedStep(0.2), "mirror") for fill in (True, False)
        ]
        full, within = (ascent.start() for ascent in ends)
        np.testing.assert_allclose(full.point, within.point)
        for _ in range(30):
            gradient = rng.uniform(0.0, 2.0, 7)
            full, within = ends[0].update(full, gradient), ends[1].update(within, gradient)
            np.testing.assert_allclose(full.point, within.point, rtol=1e-9, atol=1e-12)
        lost = ends[1].update(within, -np.ones(7))
        assert size @ lost.point < 2.0 - 0.1
        assert size @ ends[0].update(full, -np.ones(7)).point == pytest.approx(2.0)


def test_huge_losses_and_gains_leave_numbers_finite():
    mirror = KnapsackEntropy(np.ones(3), 2.0, fill=False)
    point = mirror.step(mirror.centre(), np.array([1e4, -1e4, 1e3]), 1.0)
    np.testing.assert_allclose(point, [1.0, 0.0, 1.0], atol=1e-200)
    assert (point > 0).all()
    np.testing.assert_allclose(
        mirror.step(point, np.array([0.0, 2e4, -1e4]), 1.0), [1.0, 1.0, 0.0], atol=1e-200
    )


@pytest.mark.parametrize("kind", [KnapsackEntropy, KnapsackEuclidean])
@pytest.mark.parametrize("budget", [0.0, 6.0, 100.0, np.inf])
def test_sets_of_one_point(kind: type[Map], budget: float):
    mirror = kind([1.0, 2.0, 3.0], budget)
    point = np.ones(3) if budget else np.zeros(3)
    np.testing.assert_array_equal(mirror.centre(), point)
    assert mirror.diameter == 0.0
    assert mirror.width == 0.0
    np.testing.assert_array_equal(mirror.step(point, np.array([1.0, -5.0, 2.0]), 3.0), point)
    for rule in (TheoryStep(1.0, 10), AdaptiveStep()):
        ascent = MirrorAscent(mirror, rule)
        state = ascent.update(ascent.start(), np.array([1.0, 0.0, 0.0]))
        np.testing.assert_array_equal(state.point, point)
