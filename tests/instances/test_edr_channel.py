from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.edr.channel import draw_bands, draw_rates, link_rates
from edgeopt.instances.radio import dbm_to_watt, interference_watt, noise_watt

DENSITIES = (-174.0, -154.0)


def test_noise_in_a_band():
    # -174 dBm/Hz over 25 kHz is -130.02 dBm.
    assert noise_watt(-174.0, 25e3) == pytest.approx(25e3 * 10**-20.4, rel=1e-12)
    assert 10 * np.log10(noise_watt(-174.0, 25e3) * 1e3) == pytest.approx(-130.0206, abs=1e-4)


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_rates_of_links_one_by_one(sites, seed):
    rng = np.random.default_rng(seed)
    power = rng.uniform(0, 0.1, sites)
    gain = 10 ** rng.uniform(-9.5, -9, (sites, sites))
    heard = rng.random((sites, sites)) < 0.5
    rate = link_rates(power, gain, heard, noise=-160.0, bandwidth=1e4)
    floor = 10**-19 * 1e4
    for j in range(sites):
        for k in range(sites):
            if j == k:
                assert rate[j, k] == math.inf
                continue
            others = [l for l in range(sites) if heard[l, k] and l not in (j, k)]  # noqa: E741
            disturbance = floor + sum(power[l] * gain[l, k] for l in others)  # noqa: E741
            expected = 1e4 * math.log2(1 + power[j] * gain[j, k] / disturbance)
            assert rate[j, k] == pytest.approx(expected, rel=1e-9)


def test_the_only_sender_heard_does_not_disturb_itself():
    received = np.array([[3.0, 0.1], [0.7, 2.0]])
    heard = np.ones((2, 2), dtype=bool)
    assert interference_watt(received, heard).tolist() == [[0.7, 0.0], [0.0, 0.1]]


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_who_hears_whom(sites, seed):
    rng = np.random.default_rng(seed)
    sizes = range(math.ceil(0.1 * sites), math.ceil(0.2 * sites) + 1)
    assert not draw_bands(rng, sites, "none").any()
    group = draw_bands(rng, sites, "group")
    members = np.flatnonzero(group.any(axis=0))
    assert (group == group.T).all()
    assert not group.diagonal().any()
    if members.size:
        assert members.size in sizes
        assert group.sum() == members.size * (members.size - 1)
    else:
        assert 1 in sizes
    own = draw_bands(rng, sites, "per_receiver")
    assert not own.diagonal().any()
    counts = set(own.sum(axis=0).tolist())
    assert len(counts) == 1
    assert counts.pop() in {min(size, sites - 1) for size in sizes}


def test_bands_are_drawn_evenly():
    rng = np.random.default_rng(0)
    group, own = np.zeros(20), np.zeros((20, 20))
    sizes = []
    for _ in range(2000):
        heard = draw_bands(rng, 20, "group")
        group += heard.any(axis=0)
        sizes.append(heard.any(axis=0).sum())
        own += draw_bands(rng, 20, "per_receiver")
    # The share is uniform in 0.1..0.2, so groups of 3 and of 4 are equally frequent: 5 standard
    # deviations of a binomial are a false alarm of 6e-7.
    assert set(sizes) == {3, 4}
    assert abs(sizes.count(3) - 1000) < 5 * math.sqrt(500)
    # Each of the 20 sites and 380 pairs by its own mean; negatively correlated draws spread less.
    assert (abs(group - 2000 * 0.175) < 6 * math.sqrt(2000 * 0.175 * 0.825)).all()
    off = own[~np.eye(20, dtype=bool)]
    share = 3.5 / 19
    assert (abs(off - 2000 * share) < 6.5 * math.sqrt(2000 * share * (1 - share))).all()


def mean_rates(sites: int, reuse: str, seeds: int) -> np.ndarray:
    """Mean rate of the links at both densities of noise, one frame per seed, shape [seeds, 2]."""
    means = np.empty((seeds, 2))
    for seed in range(seeds):
        power = dbm_to_watt(np.random.default_rng(seed).uniform(2, 20, sites))
        for column, noise in enumerate(DENSITIES):
            air = np.random.default_rng(10_000 + seed)
            rate = draw_rates(air, power, 1, reuse=reuse, noise=noise)
            means[seed, column] = rate[np.isfinite(rate)].mean()
    return means


def expected_alone(noise: float) -> float:
    """Mean rate without interference by quadrature over power and gain, which are uniform in dB."""
    power, gain = np.meshgrid(np.linspace(2, 20, 2001), np.linspace(-95, -90, 501))
    signal = power + gain - (noise + 10 * np.log10(25e3))
    rate = 25e3 * np.log2(1 + 10 ** (signal / 10))
    return float(np.trapezoid(np.trapezoid(rate, dx=1 / 2000), dx=1 / 500))


def test_rates_without_interference_have_their_mean():
    means = mean_rates(50, "none", 100)
    for column, noise in enumerate(DENSITIES):
        error = means[:, column].std(ddof=1) / 10
        # 5.5 standard errors of 100 draws: false alarm 4e-7 with Student's distribution.
        assert abs(means[:, column].mean() - expected_alone(noise)) < 5.5 * error
    assert expected_alone(-174.0) == pytest.approx(402.9e3, rel=1e-3)
    assert expected_alone(-154.0) == pytest.approx(236.9e3, rel=1e-3)


@pytest.mark.parametrize(
    ("sites", "reuse", "mean", "one"),
    [
        # Rates in kbit/s: the mean over frames, and single frames on record elsewhere.
        (50, "none", (402.9, 236.9), (411.0, 245.0)),
        (50, "group", (338.6, 199.5), (333.0, 197.0)),
        (50, "per_receiver", (4.85, 4.85), (4.61, 4.61)),
        (1000, "per_receiver", (0.251, 0.251), (0.31, 0.31)),
    ],
)
def test_mean_rates_per_reading(sites, reuse, mean, one):
    means = mean_rates(sites, reuse, 100 if sites == 50 else 6) / 1e3
    for column in range(2):
        spread = means[:, column].std(ddof=1)
        assert means[:, column].mean() == pytest.approx(mean[column], rel=0.05)
        assert abs(one[column] - means[:, column].mean()) < 3 * spread
    # Twenty decibels of noise cost 41 %, unless everybody is drowned by others anyway.
    ratio = means[:, 1].mean() / means[:, 0].mean()
    assert ratio == pytest.approx(1.0 if reuse == "per_receiver" else 0.589, abs=2e-3)


def test_reuse_and_noise_leave_gains_alone():
    power = dbm_to_watt(np.random.default_rng(0).uniform(2, 20, 8))
    alone, group, per = (
        draw_rates(np.random.default_rng(4), power, 3, reuse=reuse)
        for reuse in ("none", "group", "per_receiver")
    )
    assert (group <= alone).all()
    assert (per <= alone).all()
    assert (group < alone).any()
    # The two of a group that are disturbed by each other alone keep their own link.
    assert (group == alone).mean() > 0.5


@pytest.mark.parametrize(
    "options",
    [{"reuse": "all"}, {"bandwidth": 0.0}, {"bandwidth": np.nan}, {"noise": np.inf}],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(OptionError):
        draw_rates(np.random.default_rng(0), np.ones(3), 1, **options)
