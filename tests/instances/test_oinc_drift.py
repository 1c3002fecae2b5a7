"""Accuracy that falls, and a test that notices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.oinc.jobs import JobSettings, PageHinkley, draw_drift, drift_jobs
from tests.draws import draws


def alarms(values, tolerance, threshold):
    """Where the test raises the alarm, from sums over all that it has seen since it began."""
    found, seen = [], []
    for t, value in enumerate(values):
        seen.append(value)
        means = [sum(seen[: s + 1]) / (s + 1) for s in range(len(seen))]
        sums = np.cumsum([m - x - tolerance for m, x in zip(means, seen, strict=True)])
        if sums[-1] - min(0.0, sums.min()) > threshold:
            found.append(t)
            seen = []
    return found


@given(
    st.lists(st.sampled_from([0.9, 1.0, 0.5, 0.7, 0.0]), min_size=1, max_size=25),
    st.sampled_from([0.0, 0.021, 0.1]),
    st.sampled_from([0.153, 0.517, 1.019]),
)
@settings(max_examples=draws(100))
def test_the_test_is_a_sum_over_the_past(values, tolerance, threshold):
    rule = PageHinkley(tolerance, threshold)
    evidence, found = rule.start(2), []
    for t, value in enumerate(values):
        raised, evidence = rule.step(evidence, np.array([value, 1.0]))
        assert not raised[1]
        if raised[0]:
            found.append(t)
    assert found == alarms(values, tolerance, threshold)


def test_a_fall_is_noticed_and_a_rise_is_not():
    rule = PageHinkley(0.02, 0.5)
    steady, fall, rise = [0.9] * 30, [0.9] * 15 + [0.6] * 15, [0.6] * 15 + [0.9] * 15
    assert alarms(steady, 0.02, 0.5) == alarms(rise, 0.02, 0.5) == []
    # Each slot after the fall adds about 0.3 - 0.02: two are enough.
    evidence = rule.start(3)
    raised = []
    for values in zip(steady, fall, rise, strict=True):
        alarm, evidence = rule.step(evidence, np.array(values))
        raised.append(alarm.tolist())
    assert next(t for t, (_, b, _) in enumerate(raised) if b) == 16
    assert not any(a or c for a, _, c in raised)


def test_alarms_follow_from_what_is_observed():
    drift = draw_drift(np.random.default_rng(3), 120, 12, 30)
    assert drift.accuracy.shape == drift.observed.shape == drift.alarm.shape == (120, 12)
    for i in range(12):
        assert np.flatnonzero(drift.alarm[:, i]).tolist() == alarms(drift.observed[:, i], 0.02, 0.5)
    assert drift.alarm.sum() > 15
    # A model is fresh from the slot after an alarm, unless the data change at once.
    after = drift.accuracy[1:][drift.alarm[:-1]]
    assert (after == 0.95).mean() > 0.8
    falls = np.diff(drift.accuracy, axis=0)[~drift.alarm[:-1]]
    assert 15 < (falls != 0).sum() < 45


def test_quiet_streams_stay_quiet():
    drift = draw_drift(np.random.default_rng(0), 200, 500, 0)
    assert (drift.accuracy == 0.95).all()
    assert not drift.alarm.any()
    # 3.2 million pictures; 5 standard deviations of a binomial, false alarm 6e-7.
    assert abs(drift.observed.mean() - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 3.2e6)


def test_levels_are_drawn_from_those_given():
    levels = np.array([0.3, 0.5, 0.5])
    drift = draw_drift(np.random.default_rng(1), 200, 40, 400, fresh=0.9, levels=levels)
    assert set(np.unique(drift.accuracy)) == {0.3, 0.5, 0.9}
    few = draw_drift(np.random.default_rng(1), 200, 40, 400, levels=levels)
    more = draw_drift(np.random.default_rng(1), 200, 60, 600, levels=levels)
    np.testing.assert_array_equal(more.alarm[:, :40], few.alarm)


def test_alarms_become_jobs():
    alarm = np.zeros((5, 3), dtype=bool)
    alarm[[0, 2, 2, 4], [1, 2, 0, 1]] = True
    settings = JobSettings(np.array([2.0, 4.0]), factors=np.array([1.0, 2.0]))
    fields = drift_jobs(np.random.default_rng(0), alarm, settings)
    assert fields["arrival"].tolist() == [1, 3, 3]  # the last alarm comes too late
    nominal = np.array([1.82, 0.30, 0.146, 3.49, 0.71])[fields["job_kind"]] * 192
    assert set((fields["work"] / nominal).round(12).tolist()) <= {1.0, 2.0}
    # A device retrains the same model each time.
    often = drift_jobs(np.random.default_rng(0), np.ones((9, 3), dtype=bool), settings)
    kinds = often["job_kind"].reshape(8, 3)
    assert (kinds == kinds[0]).all()
    factor = often["work"] / (np.array([1.82, 0.30, 0.146, 3.49, 0.71]) * 192)[often["job_kind"]]
    assert set(factor.round(12).tolist()) == {1.0, 2.0}
    none = drift_jobs(np.random.default_rng(0), np.zeros((4, 3), dtype=bool), settings)
    assert none["work"].size == 0


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"changes": -1}, "changes must lie"),
        ({"changes": 7}, "changes must lie in .*6"),
        ({"pictures": 0}, "pictures = .*: must be at least 1"),
        ({"levels": np.array([0.5, 1.5])}, "accuracies must lie"),
        ({"levels": np.array([])}, "at least one after a change"),
        ({"fresh": np.nan}, "fresh = "),
    ],
)
def test_options_out_of_range_are_refused(options, rule):
    with pytest.raises(OptionError, match=rule):
        draw_drift(np.random.default_rng(0), **{"slots": 2, "devices": 3, "changes": 1, **options})


@pytest.mark.parametrize("numbers", [(-0.1, 1.0), (0.1, 0.0), (0.1, np.inf), (np.nan, 1.0)])
def test_tests_out_of_range_are_refused(numbers):
    with pytest.raises(OptionError, match=r"(tolerance|threshold) = "):
        PageHinkley(*numbers)
