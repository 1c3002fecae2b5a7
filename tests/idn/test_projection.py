"""The projection of the learning policy against rationals and bisection."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.online.knapsack_projection import (
    ascend_in_place,
    project_in_place,
    project_knapsack_entropy,
)
from tests.oracles.idn import policies, projection


@st.composite
def rows(draw, *, decades=0, zeros=True, n=6):
    """Draw a point with ties, sizes and a budget; entries lie up to `decades` apart."""
    count = draw(st.integers(1, n))
    entry = st.sampled_from([1, 1, 2, 3, 5, 7, 10]).map(float)
    if zeros:
        entry = st.one_of(entry, st.just(0.0))
    point = draw(st.lists(entry, min_size=count, max_size=count))
    power = st.integers(-decades, decades)
    point = [v * 10.0 ** draw(power) for v in point]
    size = draw(st.lists(st.integers(1, 12), min_size=count, max_size=count))
    eighths = draw(st.integers(0, 8 * sum(size) + 4))
    scale = draw(st.sampled_from([1.0, 1.0, 1024.0, 1 / 1024]))
    return point, [scale * s / 2 for s in size], scale * eighths / 16


def project(point, size, budget):
    return project_knapsack_entropy(np.array(point), np.array(size), budget)


@given(rows())
def test_projection_is_that_of_the_rationals(row):
    point, size, budget = row
    try:
        exact = [float(v) for v in projection.exact(*row)]
    except ValueError:
        with pytest.raises(InputError):
            project(*row)
        return
    found = project(*row)
    assert found == pytest.approx(exact, abs=1e-14)
    assert ((found > 0) | (np.array(point) == 0) | (budget == 0)).all()
    in_place = np.array(point)
    project_in_place(in_place, np.array(size), budget)
    assert in_place == pytest.approx(found, abs=1e-14)


@given(rows(decades=100, n=9))
def test_projection_is_that_of_bisection_however_far_entries_lie_apart(row):
    point, size, budget = row
    try:
        near = projection.by_bisection(projection.logarithms(point), size, budget)
    except ValueError:
        with pytest.raises(InputError):
            project(*row)
        return
    found = project(*row)
    assert found == pytest.approx(near, abs=1e-12)
    filled = min(budget, sum(size))
    assert np.array(size) @ found == pytest.approx(filled, rel=1e-13, abs=1e-300)


@given(rows(zeros=False), st.data())
def test_a_step_is_an_exponential_and_a_projection(row, data):
    """Exponents up to 1e6 and down to -1e6: what no float can hold, logarithms can."""
    point, size, budget = row
    start = [v / 16 for v in point]
    steep = st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.5, 30.0, -700.0, 1e4, 1e6])
    gradient = [data.draw(steep) * s for s in size]
    rate = data.draw(st.sampled_from([0.0, 1e-3, 0.5, 1.0]))
    found = np.array(start)
    ascend_in_place(found, np.array(gradient), np.array(size), rate, budget)
    near = policies.step(start, gradient, size, budget, rate)
    # an exponent e in floats is known to 1e-16 e, whatever is done with it afterwards
    largest = max(abs(rate * g / s) for g, s in zip(gradient, size, strict=True))
    assert found == pytest.approx(near, abs=1e-12 + 4e-16 * largest)


@given(rows(decades=3, zeros=False))
def test_the_projection_solves_its_problem(row):
    """First-order conditions: one multiplier for all entries below 1, and no smaller one above."""
    point, size, budget = row
    if not 0 < budget < sum(size):
        return
    y = project(*row)
    ratio = y / np.array(point)
    below = y < 1 - 1e-12
    if below.any():
        mu = ratio[below]
        assert mu == pytest.approx(np.full(mu.size, mu[0]), rel=1e-12)
        assert (ratio[~below] <= mu[0] * (1 + 1e-9)).all()


def test_projection_of_the_worked_example():
    exact = [2 / 11, 9 / 11, 1.0, 1 / 22]
    assert project([0.2, 0.9, 3.0, 0.05], [1, 2, 3, 4], 5.0) == pytest.approx(exact, abs=1e-15)
    near = projection.by_bisection(
        projection.logarithms([0.2, 0.9, 3.0, 0.05]), [1, 2, 3, 4], Decimal(5)
    )
    assert near == pytest.approx(exact, abs=1e-15)
