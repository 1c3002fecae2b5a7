"""One rule for intervals: hand-computed data, coverage, comparisons, and refused input."""

from __future__ import annotations

from math import exp, inf, isnan, sqrt

import numpy as np
import pytest

from edgeopt.bounds import competitive_ratio, holm, spread
from edgeopt.bounds.intervals import t_quantile, wilson
from edgeopt.bounds.paired import expectation
from edgeopt.errors import OptionError
from tests.draws import LEAN

# Quantiles of Student's distribution as printed in tables.
T4, T1, T9 = 2.776445, 12.706205, 2.262157


def ends(found):
    return found.kind, found.count, found.centre, found.low, found.high


def test_one_value_is_one_value():
    found = spread([3.0])
    assert (found.kind, found.count, found.centre) == ("one", 1, 3.0)
    assert isnan(found.low)
    assert isnan(found.high)


@pytest.mark.parametrize("nature", ["positive", "signed", "share", "timing"])
def test_below_five_values_there_are_median_and_range(nature):
    assert ends(spread([0.2, 0.6], nature)) == ("range", 2, pytest.approx(0.4), 0.2, 0.6)
    assert ends(spread([0.9, 0.1, 0.2, 0.4], nature)) == ("range", 4, pytest.approx(0.3), 0.1, 0.9)


def test_five_positive_values_have_the_interval_of_their_logarithms():
    # Logarithms 0, 1, 2, 3, 4: mean 2, standard deviation sqrt(2.5), error sqrt(0.5).
    found = spread([exp(y) for y in range(5)])
    reach = T4 * sqrt(0.5)
    expected = ("interval", 5, exp(2), exp(2 - reach), exp(2 + reach))
    assert ends(found) == (*expected[:2], *(pytest.approx(one, rel=1e-6) for one in expected[2:]))
    reciprocal = spread([exp(-y) for y in range(5)])
    assert (reciprocal.low, reciprocal.high) == pytest.approx((1 / found.high, 1 / found.low))


def test_five_signed_values_have_the_plain_interval_below_0_too():
    found = spread([-1.0, 0.0, 1.0, 2.0, 3.0], "signed")
    reach = T4 * sqrt(0.5)
    assert ends(found)[:3] == ("interval", 5, pytest.approx(1.0))
    assert (found.low, found.high) == pytest.approx((1 - reach, 1 + reach), rel=1e-6)


@pytest.mark.parametrize("odd", [0.0, -1.0])
def test_a_positive_figure_that_is_not_has_a_range_only(odd):
    assert ends(spread([odd, 1.0, 2.0, 3.0, 10.0])) == ("range", 5, 2.0, odd, 10.0)


def test_timings_have_a_range_however_many():
    assert ends(spread(np.arange(1.0, 42.0), "timing")) == ("range", 41, 21.0, 1.0, 41.0)


def test_equal_values_have_no_interval():
    for values in ([113.3] * 10, [113.3, 113.3 * (1 + 1e-15)], [0.0] * 6):
        found = spread(values)
        assert (found.kind, found.centre) == ("equal", pytest.approx(values[0]))
        assert isnan(found.low)
        assert isnan(found.high)
    assert spread([1.0, 1.0 + 1e-9]).kind == "range"


def test_wilson_is_that_of_the_textbook():
    # 3 of 10 at 95 %.
    assert wilson(0.3, 10, 1.959964) == pytest.approx((0.107791, 0.603222), abs=1e-6)
    assert wilson(0.0, 10, 1.959964)[0] == 0.0
    assert wilson(1.0, 10, 1.959964)[1] == pytest.approx(1.0)


def test_shares_have_the_interval_of_as_many_events_as_vary_alike():
    # 3 of 10 events: variance .7 * .3 / 9 of the mean, so 9 events, and nine degrees of freedom.
    found = spread([1.0] * 3 + [0.0] * 7, "share")
    assert (found.low, found.high) == pytest.approx(wilson(0.3, 9, T9), abs=1e-6)
    close = spread([0.98, 0.99, 1.0, 1.0, 0.995], "share")
    assert 0.9 < close.low < close.centre < close.high <= 1.0


def test_an_infinite_value_leaves_no_interval():
    found = spread([1.0, inf, 2.0, 3.0, 4.0])
    assert (found.kind, found.centre) == ("none", inf)
    assert isnan(found.low)


def test_a_lognormal_median_is_covered_as_often_as_said():
    """Cover 0.95 of 4000 series at each n; false alarm below 1e-6 (five sigma)."""
    rng, count = np.random.default_rng(11), 1000 if LEAN else 4000
    for n in (5, 12):
        found = [spread(row) for row in np.exp(rng.normal(0.0, 0.8, (count, n)))]
        covered = np.mean([one.low <= 1.0 <= one.high for one in found])
        assert abs(covered - 0.95) < 5 * sqrt(0.95 * 0.05 / count)


def test_shares_are_covered_about_as_often_as_said():
    """The interval of shares is approximate: 0.95 +- 0.03 for beta distributions, no rare mode."""
    rng = np.random.default_rng(12)
    for a, b, n in ((8.0, 2.0, 8), (2.0, 2.0, 12), (30.0, 1.0, 20)):
        found = [spread(row, "share") for row in rng.beta(a, b, (2000, n))]
        covered = np.mean([one.low <= a / (a + b) <= one.high for one in found])
        assert 0.92 < covered < 0.98


@pytest.mark.parametrize(
    ("confidence", "degrees", "quantile"),
    [(0.95, 4, T4), (0.95, 1, T1), (0.95, 9, T9), (0.99, 30, 2.749996), (0.9, 5, 2.015048)],
)
def test_quantiles_agree_with_published_tables(confidence, degrees, quantile):
    assert t_quantile(confidence, degrees) == pytest.approx(quantile, abs=1e-5)


def test_holm_raises_probabilities_step_by_step():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([]).size == 0


def test_runs_over_a_bound_below_and_from_ten():
    few = competitive_ratio([1.0, 3.0], 4.0)
    assert (few.value, few.low, few.high) == (0.5, 0.25, 0.75)
    enough = competitive_ratio(np.arange(1.0, 11.0), 4.0)
    assert (enough.low, enough.high) == pytest.approx((0.84755 / 4, 10.15245 / 4), abs=2e-6)
    assert expectation("runs", [3.0, 1.0, 2.0])[2:] == (1.0, 3.0)
    assert expectation("runs", [2.0] * 12)[2:] == (2.0, 2.0)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: spread([]), "must not be empty"),
        (lambda: spread([1.0, 2.0], "share"), "share of 2"),
        (lambda: spread([1.0], "odd"), "nature"),
        (lambda: spread([1.0], confidence=1.0), "confidence"),
        (lambda: spread(["a"]), "numbers"),
    ],
)
def test_bad_input_is_named(call, word):
    with pytest.raises(OptionError, match=word):
        call()
