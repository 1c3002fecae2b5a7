"""The projection onto the capped knapsack face: against bisection, a solver and its conditions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from edgeopt.errors import InputError
from edgeopt.online.entropic_projection import (
    FLOOR,
    ascend_in_place,
    project_in_place,
    project_knapsack_entropy,
)

Floats = NDArray[np.float64]


def by_bisection(logarithms: Floats, size: Floats, budget: float) -> Floats:
    """Find the multiplier by halving an interval of its logarithm."""
    finite = logarithms[np.isfinite(logarithms)]

    def at(level: float) -> Floats:
        return np.exp(np.minimum(0.0, logarithms + level))

    low, high = math.log(budget / size.sum()) - finite.max() - 1.0, -finite.min()
    for _ in range(200):
        middle = (low + high) / 2
        if math.fsum(size * at(middle)) < budget:
            low = middle
        else:
            high = middle
    return at(high)


@st.composite
def rows(draw: st.DrawFn, decades: float = 3.0, largest: int = 40) -> tuple[Floats, Floats, float]:
    """Draw a point, sizes and a budget that its positive entries can fill."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, largest))
    size = 10.0 ** rng.uniform(-2, 2, n)
    point = 10.0 ** rng.uniform(-decades, decades, n)
    if draw(st.booleans()):
        point = rng.choice(point, n)
    if draw(st.booleans()):
        size = rng.choice([1.0, 2.0, 3.0], n)
    if draw(st.booleans()):
        point[rng.random(n) < 0.3] = 0.0
        point[rng.integers(n)] = 1.0
    support = float(size[point > 0].sum())
    return point, size, support * draw(st.sampled_from([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999]))


@given(rows(decades=140.0))
def test_entries_may_lie_any_number_of_decades_apart(row: tuple[Floats, Floats, float]) -> None:
    point, size, budget = row
    result = project_knapsack_entropy(point, size, budget)
    with np.errstate(divide="ignore"):
        expected = by_bisection(np.log(point), size, budget)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=1e-11)
    assert math.fsum(size * result) == pytest.approx(budget, rel=1e-12)


@given(rows())
def test_conditions_of_optimality_hold(row: tuple[Floats, Floats, float]) -> None:
    """One multiplier serves all entries below 1, and would lift the others to 1 or beyond."""
    point, size, budget = row
    result = point.copy()
    multiplier = project_in_place(result, size, budget)
    assert math.fsum(size * result) == pytest.approx(budget, rel=1e-13)
    assert ((result >= 0) & (result <= 1)).all()
    assert ((result == 0) == (point == 0)).all()
    below = result < 1
    np.testing.assert_allclose(result[below], multiplier * point[below], rtol=1e-13)
    assert (multiplier * point[~below] >= 1 - 1e-13).all()


def in_fractions(point: list[int], size: list[int], budget: int, fill: bool) -> list[Fraction]:
    """Search all sets of full entries for the one whose multiplier makes just these full."""
    y = [Fraction(p, 8) for p in point]
    capped = [min(Fraction(1), p) for p in y]
    if not fill and sum(s * p for s, p in zip(size, capped, strict=True)) <= budget:
        return capped
    for count in range(len(y)):
        for full in itertools.combinations(range(len(y)), count):
            rest = [i for i in range(len(y)) if i not in full]
            left = budget - sum(size[i] for i in full)
            multiplier = left / sum(size[i] * y[i] for i in rest)
            found = [min(Fraction(1), multiplier * p) for p in y]
            if left >= 0 and {i for i, p in enumerate(found) if p == 1} == set(full):
                return found
    return [Fraction(1)] * len(y)


@pytest.mark.parametrize("fill", [True, False])
@given(st.integers(0, 2**32 - 1))
def test_projection_is_that_in_fractions(fill: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    point, size = rng.integers(1, 16, n).tolist(), rng.integers(1, 6, n).tolist()
    budget = int(rng.integers(1, sum(size) + 1))
    expected = in_fractions(point, size, budget, fill)
    result = project_knapsack_entropy(np.array(point) / 8, size, budget, fill=fill)
    np.testing.assert_allclose(result, [float(x) for x in expected], rtol=1e-12)


def test_hand_value() -> None:
    result = project_knapsack_entropy([0.2, 0.9, 3.0, 0.05], [1, 2, 3, 4], 5)
    np.testing.assert_allclose(result, [2 / 11, 9 / 11, 1, 1 / 22], rtol=1e-14)


def test_scale_of_the_point_does_not_matter() -> None:
    size, point = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.5, 0.2])
    expected = project_knapsack_entropy(point, size, 2.5)
    for scale in (1e-290, 1e-30, 1e30, 1e290):
        result = project_knapsack_entropy(scale * point, size, 2.5)
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_a_budget_for_everything_hosts_everything() -> None:
    size = np.array([0.1, 0.2, 0.3])
    for budget in (float(size.sum()), 7.0, np.inf):
        result = project_knapsack_entropy([0.5, 0.0, 1e-9], size, budget)
        np.testing.assert_array_equal(result, 1.0)
    # In floats 0.1 + 0.2 + 0.3 exceeds 0.6.
    result = project_knapsack_entropy([0.5, 0.3, 1e-9], size, 0.6)
    np.testing.assert_allclose(result, 1.0, rtol=1e-14)


def test_without_budget_nothing_is_hosted() -> None:
    np.testing.assert_array_equal(project_knapsack_entropy([0.5, 0.2], [1, 1], 0), 0.0)


def test_zeros_stay_and_the_others_may_have_to_be_full() -> None:
    result = project_knapsack_entropy([0.5, 0.0, 1e-200], [0.1, 5.0, 0.2], 0.1 + 0.2)
    np.testing.assert_allclose(result, [1.0, 0.0, 1.0], rtol=1e-15)
    with pytest.raises(InputError, match="cannot be filled"):
        project_knapsack_entropy([0.5, 0.0], [1, 1], 1.5)


def test_ties_get_the_same() -> None:
    result = project_knapsack_entropy([3.0] * 5 + [1.0] * 5, [1.0] * 10, 7.0)
    np.testing.assert_allclose(result, [1.0] * 5 + [0.4] * 5, rtol=1e-14)
    # All five ties reach 1 at the very multiplier that fills the budget.
    result = project_knapsack_entropy([3.0] * 5 + [1.0] * 5, [1.0] * 10, 20 / 3)
    np.testing.assert_allclose(result, [1.0] * 5 + [1 / 3] * 5, rtol=1e-14)
    np.testing.assert_allclose(project_knapsack_entropy([3.0] * 10, [1.0] * 10, 6.0), 0.6)


@pytest.mark.parametrize("gap", [1e16, 1e17, 1e40, 1e300])
def test_small_entries_take_what_large_ones_leave(gap: float) -> None:
    """The second entry is lost in any sum with the first, and still gets the rest."""
    result = project_knapsack_entropy([1.0, 1 / gap, 3 / gap], [1.0, 1.0, 1.0], 1.4)
    np.testing.assert_allclose(result, [1.0, 0.1, 0.3], rtol=1e-12)


def test_slow_climbs_end() -> None:
    """Entries in geometric order become full one after the other."""
    n = 600
    point, size = 3.0 ** -np.arange(n), np.ones(n)
    result = project_knapsack_entropy(point, size, n - 0.5)
    expected = by_bisection(-np.arange(n) * math.log(3.0), size, n - 0.5)
    np.testing.assert_allclose(result, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("point", "size", "budget", "named"),
    [
        ([0.5, -0.1], [1, 1], 1, r"point\[1\]"),
        ([0.5, np.nan], [1, 1], 1, r"point\[1\]"),
        ([np.inf, 0.5], [1, 1], 1, r"point\[0\]"),
        ([0.5, 0.5], [1, 0], 1, r"size\[1\]"),
        ([0.5, 0.5], [np.nan, 1], 1, r"size\[0\]"),
        ([0.5, 0.5], [1], 1, "point"),
        ([0.5, 0.5], [1, 1], -1, "budget"),
        ([0.5, 0.5], [1, 1], np.nan, "budget"),
    ],
)
def test_bad_input_is_named(
    point: list[float], size: list[float], budget: float, named: str
) -> None:
    with pytest.raises(InputError, match=named):
        project_knapsack_entropy(np.array(point), np.array(size), budget)


@given(
    rows(decades=0.0),
    st.sampled_from([0.0, 1e-3, 1.0, 100.0, 299.0, 1e3, 1e6, 1e15]),
    st.integers(0, 99),
)
def test_a_step_is_an_exponential_and_a_projection(
    row: tuple[Floats, Floats, float], longest: float, seed: int
) -> None:
    point, size, budget = row
    rng = np.random.default_rng(seed)
    point = project_knapsack_entropy(point * rng.uniform(0.1, 1.0, point.size), size, budget)
    worth = rng.uniform(-1.0 if seed % 2 else 0.0, 1.0, point.size) * (rng.random(point.size) < 0.7)
    result = point.copy()
    ascend_in_place(result, worth * size * 3.0, size, longest / 3.0, budget)
    with np.errstate(divide="ignore"):
        expected = by_bisection(np.log(point) + longest * worth, size, budget)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=1e-11 + 1e-15 * longest)
    assert ((result == 0) == (point == 0)).all()


def test_far_exponents_keep_what_the_budget_needs() -> None:
    """Relative to the first entry the second underflows, yet it has half a size to fill."""
    point = np.array([0.9, 0.6])
    ascend_in_place(point, np.array([1e5, 0.0]), np.ones(2), 1.0, 1.5)
    np.testing.assert_allclose(point, [1.0, 0.5], rtol=1e-14)


def test_a_step_depends_on_differences_alone() -> None:
    point, size = np.array([0.3, 0.4, 0.5]), np.array([1.0, 2.0, 4.0])
    gradient = np.array([1.0, 0.0, -2.0])
    budget = float(point @ size)
    moved = [point.copy() for _ in range(3)]
    for row, shift in zip(moved, (0.0, 50.0, 5000.0), strict=True):
        ascend_in_place(row, gradient + shift * size, size, 0.7, budget)
    np.testing.assert_allclose(moved[1], moved[0], rtol=1e-12)
    np.testing.assert_allclose(moved[2], moved[0], rtol=1e-11)


def test_sums_may_leave_the_range_of_floats() -> None:
    for point in ([1.0, 1e-310, 3e-310], [1e308, 1e-2, 3e-2], [1e308, 1e8, 3e8]):
        result = project_knapsack_entropy(point, [2.0, 2.0, 2.0], 2.8)
        np.testing.assert_allclose(result, [1.0, 0.1, 0.3], rtol=1e-12)
    # Subnormal sums would have few digits left.
    result = project_knapsack_entropy([1.0, 1e-307, 3e-307], [1e-12] * 3, 1.4e-12)
    np.testing.assert_allclose(result, [1.0, 0.1, 0.3], rtol=1e-12)
    result = project_knapsack_entropy([1e308] * 4, [10.0] * 4, 10.0)
    np.testing.assert_allclose(result, 0.25, rtol=1e-12)


@pytest.mark.parametrize("large", [1e200, 1e300])
def test_positive_entries_stay_positive(large: float) -> None:
    result = project_knapsack_entropy([large, 1e-150, 0.0], [1.0, 1.0, 1.0], 0.5)
    assert result[1:].tolist() == [FLOOR, 0.0]
    assert result[0] == pytest.approx(0.5, rel=1e-12)


def test_without_checks_the_positive_entries_do_what_they_can() -> None:
    point = np.array([0.5, 0.0, 1e-200])
    assert project_in_place(point, np.ones(3), 2.5) == np.inf
    assert point.tolist() == [1.0, 0.0, 1.0]
    point = np.zeros(3)
    project_in_place(point, np.ones(3), 2.5)
    assert point.tolist() == [0.0, 0.0, 0.0]


def test_what_has_decayed_can_come_back() -> None:
    """Entries pushed down for long stay at a floor instead of becoming zeros."""
    point, size = np.array([0.5, 0.5]), np.ones(2)
    for _ in range(100):
        ascend_in_place(point, np.array([100.0, 0.0]), size, 1.0, 1.0)
    assert point[1] == FLOOR
    for _ in range(20):
        ascend_in_place(point, np.array([0.0, 100.0]), size, 1.0, 1.0)
    np.testing.assert_allclose(point, [0.0, 1.0], atol=1e-12)
