"""Means over a bound: several series, coverage, and refused input."""

import numpy as np
import pytest

from edgeopt.bounds import competitive_ratio
from edgeopt.errors import OptionError


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


def test_interval_covers_the_true_ratio_at_least_as_often_as_it_says():
    """Cover 0.9 of 1000 normal samples of twenty, and not all; five sigma."""
    profits = np.random.default_rng(4).normal(2, 0.2, (1000, 20))
    ratio = competitive_ratio(profits, 4.0, confidence=0.9)
    covered = np.mean((ratio.low <= 0.5) & (ratio.high >= 0.5))
    assert 0.9 - 5 * np.sqrt(0.09 / 1000) < covered < 0.999


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
