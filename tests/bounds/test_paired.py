"""The test of two means: values by hand, invariances, false words, and its interval."""

from __future__ import annotations

from math import comb, inf, nan

import numpy as np
import pytest
from scipy import stats

from edgeopt.bounds import Spread, paired_difference, paired_ratio
from edgeopt.bounds.paired import (
    least_runs,
    mean_interval,
    mean_spread,
    one_sided,
    ratio_interval,
    two_sided,
)
from edgeopt.errors import OptionError
from tests.draws import draws


def test_a_single_run_decides_nothing() -> None:
    a, b = np.ones(20), np.r_[np.full(19, 0.5), 5.5]
    assert paired_difference(a, b)[1] == pytest.approx(0.9429, abs=5e-5)


def test_ten_differences_by_hand() -> None:
    found, p = paired_difference(np.arange(1, 11), np.zeros(10))
    assert p == pytest.approx(0.03291, abs=5e-6)
    assert (found.low, found.high) == pytest.approx((0.84755, 10.15245), abs=5e-6)
    longer = np.r_[np.arange(1.0, 11.0), -10.0]
    guarded = stats.ttest_1samp(longer, 0.0, alternative="greater").pvalue
    assert one_sided(np.arange(1.0, 11.0)) == pytest.approx(guarded, rel=1e-12)


def test_the_cubic_of_hall_decides_where_skewness_is_strong() -> None:
    d = np.r_[np.full(19, 1.0), 12.0] + np.linspace(-0.5, 0.5, 20)
    u, a = d.mean() / d.std(ddof=1), ((d - d.mean()) ** 3).mean() / d.std(ddof=1) ** 3
    g = 20**0.5 * (u + a * u**2 / 3 + a**2 * u**3 / 27 + a / 120)
    guarded = stats.ttest_1samp(np.r_[d, -12.5], 0.0, alternative="greater").pvalue
    assert one_sided(d) == pytest.approx(max(stats.t.sf(g, 19), guarded), rel=1e-12)
    below = stats.ttest_1samp(np.r_[-d, -12.5], 0.0, alternative="greater").pvalue
    g = 20**0.5 * (-u - a * u**2 / 3 - a**2 * u**3 / 27 - a / 120)
    assert one_sided(-d) == pytest.approx(max(stats.t.sf(g, 19), below), rel=1e-12)


def test_an_outlier_on_the_far_side_leaves_a_clear_difference_clear() -> None:
    d = 10 + np.r_[np.linspace(-0.2, 0.2, 19), -5]
    assert two_sided(d) == pytest.approx(1.861e-8, rel=5e-4)


def test_five_values_beside_an_exact_one() -> None:
    runs = np.array([1210.71, 1209.72, 1211.19, 1209.88, 1212.93])
    found, p = paired_difference(runs, np.full(5, 1366.29))
    assert p == pytest.approx(0.1034, abs=5e-5)
    assert (found.kind, found.low) == ("range", pytest.approx(1209.72 - 1366.29))
    assert paired_difference(np.tile(runs, 4), np.full(20, 1366.29))[1] < 1e-6


def test_the_least_number_of_runs() -> None:
    # Below ten nothing is said, whatever the test would allow.
    raw = {2: 6, 3: 8, 4: 8, 5: 9, 6: 9, 8: 10, 10: 11, 15: 11, 18: 12, 25: 12}
    for policies, least in raw.items():
        assert least_runs(policies) == max(10, least), policies
        level = 0.05 / comb(policies, 2)
        d = 1 + 1e-7 * np.random.default_rng(1).normal(size=least)
        assert two_sided(d) <= level < two_sided(d[: least - 1])


def test_what_the_probability_does_not_depend_on() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        d = rng.lognormal(0, rng.uniform(0.2, 1.5), rng.integers(5, 60)) - 1.0
        p = two_sided(d)
        for scale in 10.0 ** np.arange(-9, 10, 3):
            assert two_sided(scale * d) == pytest.approx(p, rel=1e-9)
        assert two_sided(rng.permutation(d)) == pytest.approx(p, rel=1e-9)
        assert two_sided(-d) == pytest.approx(p, rel=1e-12)
        assert two_sided(1e-300 * d) == pytest.approx(p, rel=1e-6)
        assert two_sided(1e200 * d) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-305, 1e-200, 1e160, 1e300])
def test_the_interval_of_figures_whose_squares_are_no_numbers(scale: float) -> None:
    runs = np.random.default_rng(0).uniform(0.5, 1.5, 20)
    low, high = mean_interval(runs)
    assert np.array(mean_interval(scale * runs)) == pytest.approx(
        [scale * low, scale * high], rel=1e-9, abs=0.0
    )


def test_the_interval_inverts_the_test() -> None:
    rng = np.random.default_rng(5)
    for _ in range(400):
        d = rng.lognormal(0, rng.uniform(0.2, 1.5), rng.integers(10, 60))
        d = rng.choice([-1, 1]) * (d - rng.uniform(0.2, 3))
        low, high = mean_interval(d)
        assert (low > 0 or high < 0) == (two_sided(d) <= 0.05)
        assert low < d.mean() < high
        assert mean_interval(-d) == pytest.approx((-high, -low), rel=1e-9)


def test_the_probability_falls_as_the_mean_rises() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        d = rng.choice([-1, 1]) * rng.lognormal(0, rng.uniform(0.2, 1.5), rng.integers(6, 60))
        means = np.linspace(-3, 3, 41)[:, None] * d.std() + d - d.mean()
        assert (np.diff(one_sided(means)) <= 1e-12).all()


def test_the_ratio_has_one_inside_where_the_test_does_not_reject() -> None:
    rng = np.random.default_rng(7)
    for _ in range(100):
        count = int(rng.integers(10, 60))
        common = rng.lognormal(0, 0.5, count)
        a, b = (common * rng.lognormal(shift, 0.3, count) for shift in (rng.uniform(0, 0.4), 0))
        found = paired_ratio(a, b)
        if two_sided(b) > 0.05 or two_sided(a) > 0.05:
            assert two_sided(b) <= 0.05 or found.kind == "none"
            continue
        assert found.low < a.mean() / b.mean() < found.high
        assert (found.low <= 1 <= found.high) == (paired_difference(a, b)[1] > 0.05)
        mirrored = paired_ratio(b, a)
        assert (mirrored.low, mirrored.high) == pytest.approx(
            (1 / found.high, 1 / found.low), rel=1e-6
        )
    assert ratio_interval(a, rng.normal(0, 1, count)) == (-inf, inf)


def test_ratios_that_do_not_exist() -> None:
    for a, b in (([1.0] * 12, [-1.0] * 12), ([nan] * 12, [1.0] * 12), ([0.0] * 12, [1.0] * 12)):
        assert paired_ratio(a, b).kind == "none"
        assert np.isnan(paired_ratio(a, b).centre)
    short = paired_ratio([1.0, 2.0], [2.0, 2.0])
    assert short == Spread(0.75, 0.5, 1.0, "range", 2)
    assert paired_ratio([1.0, 2.0], [-1.0, 4.0]).kind == "none"


def test_runs_that_do_not_differ() -> None:
    for n in (2, 3, 20):
        found, p = paired_difference(np.full(n, 1.5), np.ones(n))
        assert (found.centre, found.kind, p) == (0.5, "equal", 1.0)
        found, p = paired_difference(np.zeros(n), np.zeros(n))
        assert (found.centre, found.kind, p) == (0.0, "equal", 1.0)
    assert paired_difference([1.0], [0.5])[0].kind == "one"
    assert paired_difference([nan] * 12, [1.0] * 12)[1] == 1.0
    assert mean_interval(np.ones(20)) == (-inf, inf)


@pytest.mark.parametrize("n", [20, 50, 200])
def test_normal_differences_are_told_apart_by_chance_in_one_of_twenty_at_most(n: int) -> None:
    count = draws(4000)
    d = np.random.default_rng(n).normal(size=(count, n))
    assert (two_sided(d) <= 0.05).mean() <= 0.05 + 3 * (0.05 * 0.95 / count) ** 0.5


def test_intervals_cover_the_mean_of_a_skewed_distribution() -> None:
    rng, hit, count = np.random.default_rng(8), 0, draws(1000)
    for _ in range(count):
        found = mean_spread(rng.exponential(size=20))
        hit += found.low <= 1.0 <= found.high
    assert hit / count >= 0.95 - 3 * (0.05 * 0.95 / count) ** 0.5


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: paired_difference([1.0, 2.0], [1.0]), "same scenarios"),
        (lambda: paired_ratio([1.0, 2.0], [1.0]), "same scenarios"),
        (lambda: paired_ratio([1.0] * 12, [1.0] * 12, confidence=0.0), "confidence"),
        (lambda: paired_difference([1.0] * 12, [1.0] * 12, confidence=1.5), "confidence"),
        (lambda: mean_spread([]), "empty"),
    ],
)
def test_what_is_refused(call, said) -> None:
    with pytest.raises(OptionError, match=said):
        call()
