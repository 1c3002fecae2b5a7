"""Estimators against closed forms: Jeffreys' interval, Kaplan and Meier, Greenwood."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from edgeopt.instances.estimates import duration_estimate, share_interval

Z = stats.norm.ppf(0.975)


def test_the_interval_of_a_share_is_that_of_jeffreys():
    low, high = share_interval([0, 1, 5, 10], 10)
    assert low[0] == 0.0
    assert high[3] == 1.0
    # Brown, Cai and DasGupta: Interval Estimation for a Binomial Proportion, table 5 (n = 10).
    assert high[0] == pytest.approx(0.217, abs=1e-3)
    assert (low[1], high[1]) == pytest.approx((0.011, 0.381), abs=1e-3)
    assert low[2] == pytest.approx(1 - high[2])
    for k in (1, 5):
        ends = np.array([low[k // 5 + 1], high[k // 5 + 1]])
        assert stats.beta.cdf(ends, k + 0.5, 10 - k + 0.5) == pytest.approx([0.025, 0.975])


def test_the_interval_of_a_share_covers_it():
    """The coverage at a probability, summed over all counts, is close to 95 % on average."""
    n = 52
    low, high = share_interval(np.arange(n + 1), n)
    chances = np.linspace(0.02, 0.98, 49)
    inside = (low <= chances[:, None]) & (chances[:, None] <= high)
    coverage = (stats.binom.pmf(np.arange(n + 1), n, chances[:, None]) * inside).sum(axis=1)
    assert abs(coverage.mean() - 0.95) < 0.01
    assert coverage.min() > 0.85


@pytest.mark.parametrize("longest", [3, 5, 9])
def test_without_cuts_durations_have_the_shares_on_record(longest):
    seconds = np.array([5.0, 10.0, 10.5, 20.0, 33.0, 49.9, 50.0])
    found = duration_estimate(seconds, np.zeros(7, dtype=bool), 10.0, longest)
    slots = np.minimum(np.ceil(seconds / 10), longest).astype(int)
    assert found.distribution == pytest.approx(np.bincount(slots, minlength=longest + 1)[1:] / 7)
    left = np.array([(seconds > 10.0 * d).mean() for d in range(1, longest + 1)])
    assert found.beyond == pytest.approx(left[-1])
    # Without cuts Greenwood's formula is the variance of a share.
    half = Z * np.sqrt(left * (1 - left) / 7)
    clipped = np.maximum(left - np.maximum(left - half, 0), np.minimum(left + half, 1) - left)
    assert found.error == pytest.approx(clipped[left > 0].max())


def test_cut_runs_are_at_risk_until_they_are_cut():
    # At risk 5, 3 and 1: survival 4/5, then 4/5 * 2/3; one run was cut at 12 s, one at 25 s.
    seconds = np.array([10.0, 12.0, 20.0, 25.0, 40.0])
    cut = np.array([False, True, False, True, False])
    found = duration_estimate(seconds, cut, 10.0, 4)
    assert found.distribution == pytest.approx([1 / 5, 4 / 15, 0, 8 / 15])
    assert found.beyond == 0
    left = 8 / 15
    greenwood = left * np.sqrt(1 / (5 * 4) + 1 / (3 * 2))
    assert found.error == pytest.approx(max(left - max(left - Z * greenwood, 0), 1 - left))
    beyond = duration_estimate(seconds, cut, 10.0, 3)
    assert beyond.distribution == pytest.approx([1 / 5, 4 / 15, 8 / 15])
    assert beyond.beyond == pytest.approx(8 / 15)


def test_cut_durations_are_estimated_without_bias():
    """Exponential durations, cut at exponential times: the share on record is far off."""
    rng = np.random.default_rng(3)
    full, limit = rng.exponential(30, 20_000), rng.exponential(40, 20_000)
    cut = limit < full
    found = duration_estimate(np.minimum(full, limit), cut, 10.0, 6)
    left = np.exp(-10 * np.arange(1, 6) / 30)
    assert 1 - np.cumsum(found.distribution[:-1]) == pytest.approx(left, abs=0.015)
    assert found.error < 0.015
    naive = (np.minimum(full, limit)[~cut] > 50).mean()
    assert abs(naive - left[-1]) > 0.08


def test_whole_slots_are_whole_in_floating_point():
    seconds = np.arange(1, 200) * 0.1
    found = duration_estimate(seconds, np.zeros(199, dtype=bool), 0.1, 199)
    assert found.distribution == pytest.approx(np.full(199, 1 / 199))
