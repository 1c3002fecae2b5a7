"""Intervals against exact quantiles of Student's distribution, coverage, and refused input."""

import numpy as np
import pytest
import scipy
from packaging.version import Version

from edgeopt.bounds import competitive_ratio, paired_difference
from edgeopt.errors import OptionError

# Two-sided quantiles: closed forms for 1 and 2 degrees of freedom, printed tables beyond.
ONE_DEGREE = np.tan(np.pi * 0.95 / 2)
TWO_DEGREES = 0.9 * np.sqrt(2 / (1 - 0.9**2))
EXACT = 1e-12 if Version(scipy.__version__) >= Version("1.17") else 1e-10
"""Relative error allowed: before 1.17, SciPy's quantiles were 2e-11 off."""


def test_two_runs_have_the_interval_of_a_cauchy_quantile():
    ratio = competitive_ratio([1.0, 3.0], 4.0)
    assert ratio.value == pytest.approx(0.5)
    assert ratio.standard_error == pytest.approx(0.25)
    assert ratio.high - ratio.value == pytest.approx(0.25 * ONE_DEGREE, rel=EXACT)
    assert ratio.value - ratio.low == pytest.approx(0.25 * ONE_DEGREE, rel=EXACT)
    assert ratio.bound == 4.0


def test_three_runs_at_ninety_per_cent():
    found = paired_difference([1.0, 2.0, 6.0], [0.0, 0.0, 0.0], confidence=0.9)
    error = np.std([1, 2, 6], ddof=1) / np.sqrt(3)
    assert found.mean == pytest.approx(3.0)
    assert found.standard_error == pytest.approx(error)
    assert found.high - found.mean == pytest.approx(TWO_DEGREES * error, rel=EXACT)


@pytest.mark.parametrize(
    ("runs", "confidence", "quantile"),
    [(11, 0.95, 2.228), (31, 0.99, 2.750), (121, 0.95, 1.980), (6, 0.9, 2.015)],
)
def test_quantiles_agree_with_published_tables(runs, confidence, quantile):
    profits = np.random.default_rng(1).uniform(0, 1, runs)
    ratio = competitive_ratio(profits, 2.0, confidence=confidence)
    assert (ratio.high - ratio.value) / ratio.standard_error == pytest.approx(quantile, abs=5e-4)


def test_several_series_at_once_equal_each_alone():
    profits = np.random.default_rng(2).normal(3, 1, (4, 2, 20))
    bounds = np.array([[5.0, 6.0]])
    together = competitive_ratio(profits, bounds)
    assert together.low.shape == together.bound.shape == (4, 2)
    for i, j in np.ndindex(4, 2):
        alone = competitive_ratio(profits[i, j], bounds[0, j])
        assert isinstance(alone.value, float)
        for field in ("value", "standard_error", "low", "high", "bound"):
            assert getattr(together, field)[i, j] == pytest.approx(getattr(alone, field))


def test_pairing_removes_what_both_runs_share():
    rng = np.random.default_rng(3)
    scenario = rng.normal(0, 10, 50)
    first, second = scenario + 1 + rng.normal(0, 0.1, 50), scenario
    found = paired_difference(first, second)
    assert found.low < 1 < found.high
    assert found.high - found.low < 0.2
    mirrored = paired_difference(second, first)
    assert (mirrored.mean, mirrored.low) == pytest.approx((-found.mean, -found.high))


def test_interval_covers_the_true_ratio_as_often_as_it_says():
    """Cover 0.9 of 4000 normal samples of five; false alarm below 1e-6 (five sigma)."""
    profits = np.random.default_rng(4).normal(2, 1, (4000, 5))
    ratio = competitive_ratio(profits, 4.0, confidence=0.9)
    covered = np.mean((ratio.low <= 0.5) & (ratio.high >= 0.5))
    assert abs(covered - 0.9) < 5 * np.sqrt(0.09 / 4000)


@pytest.mark.parametrize(
    ("profits", "bound", "confidence", "word"),
    [
        ([1.0, np.nan], 1.0, 0.95, r"profits\[1\]"),
        ([1.0, np.inf], 1.0, 0.95, "finite"),
        ([1.0], 1.0, 0.95, "two runs"),
        (3.0, 1.0, 0.95, "two runs"),
        (["a", "b"], 1.0, 0.95, "numbers"),
        ([1.0, 2.0], 0.0, 0.95, "positive"),
        ([1.0, 2.0], -1.0, 0.95, "positive"),
        ([1.0, 2.0], np.nan, 0.95, "positive"),
        ([1.0, 2.0], np.inf, 0.95, "positive"),
        ([1.0, 2.0], 1.0, 0.0, "confidence"),
        ([1.0, 2.0], 1.0, 1.0, "confidence"),
        ([1.0, 2.0], 1.0, np.nan, "confidence"),
        (np.ones((3, 4)), np.ones(2), 0.95, "does not fit"),
    ],
)
def test_bad_input_is_named(profits, bound, confidence, word):
    with pytest.raises(OptionError, match=word):
        competitive_ratio(profits, bound, confidence=confidence)


@pytest.mark.parametrize(
    ("a", "b", "word"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0], "same scenarios"),
        ([1.0, np.nan], [1.0, 2.0], r"a\[1\]"),
        ([1.0, 2.0], [np.nan, 2.0], r"b\[0\]"),
        ([1.0], [2.0], "two runs"),
        (np.ones((2, 3)), np.ones((4, 3)), "differ"),
    ],
)
def test_bad_pairs_are_named(a, b, word):
    with pytest.raises(OptionError, match=word):
        paired_difference(a, b)
