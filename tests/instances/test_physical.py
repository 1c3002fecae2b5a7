from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InstanceError
from edgeopt.instances import radio
from edgeopt.instances.rescue import fit_log_profile
from edgeopt.instances.rescue.generate import link_rate, retraining_budget
from edgeopt.instances.traces.columns import great_circle_kilometres


def test_conversions_hit_known_values():
    assert radio.dbm_to_watt(20) == pytest.approx(0.1)
    assert radio.dbm_to_watt(0) == pytest.approx(1e-3, rel=1e-12)
    assert radio.decibel_to_ratio(3) == pytest.approx(1.9953, abs=1e-4)
    assert radio.thermal_noise_dbm(3e6) == pytest.approx(-109.2, abs=0.05)
    assert radio.path_loss_decibel(1.0) == 128.1
    assert radio.path_loss_decibel(0.1) == pytest.approx(128.1 - 37.6)
    assert radio.shannon_rate(1e6, 3.0) == pytest.approx(2e6)
    assert radio.transmission_seconds(2.0, 8e6) == pytest.approx(2.0)


@given(st.floats(-200, 200))
def test_conversions_invert_each_other(level):
    assert radio.ratio_to_decibel(radio.decibel_to_ratio(level)) == pytest.approx(level, abs=1e-9)


def test_link_rates_lie_where_the_documentation_says():
    near, far = link_rate([0.15, 0.45])
    assert 31e6 < near < 33e6
    assert 13e6 < far < 15e6
    assert link_rate(0.3, "literal") == pytest.approx(75e6, rel=0.02)


def test_budget_is_what_the_transmission_leaves():
    # 20 MB at 8 Mbit/s and at 0.1 Mbit/s: 20 s and 1600 s, in slots of 10 s.
    budget = retraining_budget([23.0], [20.0], np.array([[8e6, 1e5]]), 10)
    assert budget.tolist() == [[21, 0]]
    assert retraining_budget([23.0], [20.0], np.array([[7.9e6]]), 10).tolist() == [[20]]


def test_distances_on_the_ground():
    melbourne, sydney = np.array([[-37.8136, 144.9631]]), np.array([[-33.8688, 151.2093]])
    assert great_circle_kilometres(melbourne, sydney)[0, 0] == pytest.approx(714, abs=2)
    assert great_circle_kilometres(melbourne, melbourne)[0, 0] == 0
    quarter = great_circle_kilometres(
        np.array([[0.0, 0.0]]), np.array([[90.0, 17.0], [0.0, 180.0]])
    )
    np.testing.assert_allclose(quarter[0], np.pi * 6371.0088 * np.array([0.5, 1.0]))


@given(
    a=st.floats(0.01, 1.0),
    log_b=st.floats(math.log(1e-3), math.log(50)),
    points=st.integers(2, 12),
)
def test_noise_free_curves_are_recovered(a, log_b, points):
    b = math.exp(log_b)
    work = np.geomspace(0.5, 200, points)
    fit = fit_log_profile(work, a * np.log1p(b * work))
    assert fit.gain == pytest.approx(a, rel=1e-6)
    assert fit.curvature == pytest.approx(b, rel=1e-6)
    assert fit.squared_error < 1e-12 * a * a
    assert not fit.at_bound


def test_noisy_fit_beats_every_other_curve():
    rng = np.random.default_rng(5)
    work = np.linspace(5, 150, 20)
    gain = 0.2 * np.log1p(0.05 * work) + rng.normal(0, 0.02, 20)
    fit = fit_log_profile(work, gain)
    assert fit.squared_error == pytest.approx(
        np.sum((gain - fit.gain * np.log1p(fit.curvature * work)) ** 2)
    )
    for b in np.geomspace(1e-4, 1e2, 4001):
        h = np.log1p(b * work)
        a = max(0.0, h @ gain / (h @ h))
        assert fit.squared_error <= np.sum((gain - a * h) ** 2) * (1 + 1e-9)


def test_linear_data_end_at_the_lower_bound():
    work = np.linspace(1, 50, 10)
    fit = fit_log_profile(work, 0.003 * work)
    assert fit.at_bound
    assert fit.gain * fit.curvature == pytest.approx(0.003, rel=5e-3)


def test_flat_data_end_at_the_upper_bound():
    fit = fit_log_profile([10.0, 20.0, 40.0], [0.5, 0.4, 0.3])
    assert fit.at_bound
    assert fit.curvature == pytest.approx(1e2)


def test_no_gain_gives_the_zero_function():
    fit = fit_log_profile([1.0, 2.0], [-0.1, 0.0])
    assert fit.gain == 0
    assert fit.squared_error == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("work", "gain", "field", "rule"),
    [
        ([1.0, 1.0], [0.1, 0.2], "work", "two different"),
        ([1.0], [0.1], "work", "two different"),
        ([1.0, 0.0], [0.1, 0.2], "work", "positive"),
        ([1.0, np.nan], [0.1, 0.2], "work", "finite"),
        ([1.0, 2.0], [0.1], "gain", "2 entries"),
        ([1.0, 2.0], [0.1, np.inf], "gain", "finite"),
    ],
)
def test_points_that_cannot_be_fitted_are_refused(work, gain, field, rule):
    with pytest.raises(InstanceError, match=rule) as caught:
        fit_log_profile(work, gain)
    assert caught.value.field == field
