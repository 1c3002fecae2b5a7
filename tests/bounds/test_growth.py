"""The fitted exponent of growth: exact powers, a second opinion, coverage, and refused input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.bounds import growth_exponent
from edgeopt.errors import OptionError

T = np.array([8.0, 16.0, 32.0, 64.0, 128.0])
HALF_AT_ONE = math.tan(math.pi * 0.95 / 2)
"""Two-sided 95 % quantile of Student's distribution with one degree of freedom."""


@given(st.floats(-3, 3), st.floats(1e-3, 1e3))
def test_exact_power_is_found_exactly(exponent, factor):
    found = growth_exponent(T, factor * T**exponent)
    assert found.exponent == pytest.approx(exponent, abs=1e-9)
    assert found.factor == pytest.approx(factor, rel=1e-8)
    assert found.high - found.low == pytest.approx(0, abs=1e-7)
    assert found.local == pytest.approx(np.full(4, exponent), abs=1e-9)
    assert found.at(1000.0) == pytest.approx(factor * 1000.0**exponent, rel=1e-7)


@given(st.lists(st.floats(0.1, 100), min_size=3, max_size=6))
def test_slope_and_interval_as_scipy_fits_them(values):
    from scipy.stats import linregress, t

    horizons = 2.0 ** np.arange(1, len(values) + 1)
    found = growth_exponent(horizons, values, confidence=0.9)
    other = linregress(np.log(horizons), np.log(values))
    assert found.exponent == pytest.approx(other.slope, abs=1e-9)
    assert found.factor == pytest.approx(math.exp(other.intercept), rel=1e-8)
    error = 0.0 if len(set(values)) == 1 else other.stderr  # scipy has none for equal values
    reach = t.ppf(0.95, len(values) - 2) * error
    assert found.high - found.exponent == pytest.approx(reach, abs=1e-7)
    assert found.exponent - found.low == pytest.approx(reach, abs=1e-7)


def test_three_points_by_hand():
    """Logarithms 0, 1, 0 over 0, 1, 2: slope 0, residuals 1/3, -2/3, 1/3, error 1/sqrt(3)."""
    found = growth_exponent(np.exp([0, 1, 2]), np.exp([0, 1, 0]))
    assert found.exponent == pytest.approx(0)
    assert found.high == pytest.approx(HALF_AT_ONE / math.sqrt(3))
    assert not found.sublinear


def test_runs_have_an_exponent_each():
    found = growth_exponent(T, [T**0.5, 3 * T**0.7])
    assert found.exponent == pytest.approx(0.6)
    assert found.high == pytest.approx(0.6 + 0.1 * HALF_AT_ONE)
    assert found.factor == pytest.approx(math.sqrt(3))
    assert found.values == pytest.approx((T**0.5 + 3 * T**0.7) / 2)


def test_bend_shows_in_the_local_exponents():
    found = growth_exponent(T, T + 100 * T ** (1 / 3))
    assert (np.diff(found.local) > 0).all()
    assert found.local[0] < found.exponent < found.local[-1] < 1
    assert found.sublinear


def test_horizons_without_a_logarithm_are_left_out_on_request_only():
    values = [-1.0, 0.0, 4.0, 8.0, 16.0]
    with pytest.raises(OptionError, match=r"not positive at T = 8\b.*skip=True"):
        growth_exponent(T, values)
    found = growth_exponent(T, values, skip=True)
    assert found.exponent == pytest.approx(1.0)
    assert found.horizons == pytest.approx(T[2:])
    with pytest.raises(OptionError, match="at least three"):
        growth_exponent(T, -np.array(values), skip=True)


@pytest.mark.parametrize("runs", [None, 6])
def test_interval_covers_the_true_exponent(runs):
    """At 95 % between 1 and 49 of 400 studies miss, with probability above 1 - 1e-7."""
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(400):
        shape = T.shape if runs is None else (runs, *T.shape)
        values = 2 * T**0.66 * np.exp(rng.normal(0, 0.3, shape))
        found = growth_exponent(T, values)
        missed += not found.low <= 0.66 <= found.high
    assert 0 < missed < 50


@pytest.mark.parametrize(
    ("horizons", "values", "words"),
    [
        ([1, 2, 3], [1.0, 2.0], "does not fit"),
        ([1, 2], [1.0, 2.0], "at least three"),
        ([1, 3, 2], [1.0, 2.0, 3.0], "increasing"),
        ([0, 1, 2], [1.0, 2.0, 3.0], "positive and increasing"),
        ([1, 2, 3], [1.0, math.nan, 3.0], "values: must be finite"),
        ("words", [1.0], "horizons .*must be an array of real numbers"),
        ([1, 2, 3], [[1.0, 2.0, 3.0]], "at least two runs"),
    ],
)
def test_bad_input_is_named(horizons, values, words):
    with pytest.raises(OptionError, match=words):
        growth_exponent(horizons, values)


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_confidence_is_a_probability(confidence):
    with pytest.raises(OptionError, match="confidence"):
        growth_exponent(T, T, confidence=confidence)
