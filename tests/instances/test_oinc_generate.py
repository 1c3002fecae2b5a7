from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.instances.oinc import generate, link_rates

SMALL = {"sites": 4, "devices": 6, "slots": 30, "jobs": 8}
FIELDS = (
    "speed", "rate", "active", "request_size", "request_work", "slo", "arrival", "work", "deadline",
    "job_kind",
)  # fmt: skip
MACS = [1.82, 0.30, 0.146, 3.49, 0.71]


@pytest.fixture(scope="module")
def default():
    return generate()


def test_sizes_and_ranges(default):
    assert (default.slots, default.devices, default.sites, default.jobs) == (200, 40, 12, 24)
    for name, low, high in (
        ("speed", 5, 9),
        ("request_size", 6.4, 12.8),
        ("request_work", 0.1, 0.2),
        ("slo", 0.3, 0.9),
    ):
        values = getattr(default, name)
        assert low <= values.min() < low + (high - low) / 4, name
        assert high - (high - low) / 4 < values.max() <= high, name
    assert (default.slo == default.slo[0]).all()
    assert np.unique(default.slo[0]).size == 40
    assert (default.rate == default.rate[0]).all()
    assert (default.weight == 1).all()
    assert (default.request_weight == 1).all()


def test_the_literal_channel_by_hand(default):
    # The loss, a number of 114.5 to 132, taken for a gain at 80 to 100 mW over 1e-4 mW.
    low = 2.0 * np.log2(1 + 80 * (144.7 + 36.7 * np.log10(0.15)) / 1e-4)
    high = 3.0 * np.log2(1 + 100 * (144.7 + 36.7 * np.log10(0.45)) / 1e-4)
    assert (low, high) == (pytest.approx(52.9, abs=0.1), pytest.approx(80.9, abs=0.1))
    assert low < default.rate.min()
    assert default.rate.max() < high
    # Rates of a site spread by its distances and the powers alone: by less than 3 %.
    spread = default.rate[0].max(axis=0) / default.rate[0].min(axis=0)
    assert (spread < 1.03).all()


def test_a_slot_holds_a_request_of_the_literal_and_of_a_wide_physical_channel(default):
    wide = generate(channel="physical", bandwidth=(20.0, 30.0), megabytes=(0.1, 0.2))
    narrow = generate(channel="physical")
    published = generate(channel="published")
    assert default.transmission_seconds.mean() == pytest.approx(0.15, abs=0.01)
    assert wide.transmission_seconds.mean() == pytest.approx(0.2, abs=0.02)
    assert wide.transmission_seconds.max() < 1
    assert narrow.transmission_seconds.mean() > 2
    assert published.transmission_seconds.min() > 1e12
    for instance, words in (
        (default, "Channel: literal"),
        (wide, "Channel: physical"),
        (published, "Channel: published"),
    ):
        assert words in instance.origin
        assert "a reading of the paper's radio" in instance.origin


def test_jobs_retrain_five_models(default):
    assert default.kinds == ("ResNet18", "MobileNetV2", "ShuffleNet", "TinyYOLOv2", "AlexNet")
    many = generate(**{**SMALL, "slots": 200, "jobs": 4000})
    # 6 operations per multiply-add and picture, 32 per cycle, 1024 pictures.
    factor = many.work / (np.array(MACS)[many.job_kind] * 6 * 1024 / 32)
    assert factor.min() == pytest.approx(0.9, abs=1e-3)
    assert factor.max() == pytest.approx(1.1, abs=1e-3)
    # 4000 jobs; 5 standard deviations of a binomial, false alarm 6e-7 per number.
    counts = np.bincount(many.job_kind, minlength=5)
    assert (np.abs(counts - 800) < 5 * np.sqrt(800 * 0.8)).all()
    slots = np.bincount(many.arrival, minlength=200)
    assert (np.abs(slots[:120] - 4000 / 120) < 5.5 * np.sqrt(4000 / 120)).all()
    assert slots[120:].sum() == 0
    # Due after 1.5 to 3 times what it takes on half of an average site, at the end of a slot.
    assert (many.deadline == np.ceil(many.deadline)).all()
    alone = many.work / (0.5 * many.speed.mean())
    low, high = many.arrival + 1.5 * alone, many.arrival + 3 * alone
    assert (many.deadline >= low).all()
    assert (many.deadline < high + 1).all()
    middle = (many.deadline - many.arrival) / alone
    assert abs(np.quantile(middle[alone > 50], 0.5) - 2.25) < 0.1


def test_the_default_jobs_take_what_the_paper_reports(default):
    alone = default.job_seconds(0.5)
    assert 30 < alone.mean() < 130


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({"channel": "physical"}, {"rate"}),
        ({"band_scale": 0.8}, {"rate"}),
        ({"bandwidth": (20.0, 30.0)}, {"rate"}),
        ({"megabytes": (0.1, 0.2)}, {"request_size"}),
        ({"slo": (0.5, 1.0)}, {"slo"}),
        ({"duty": 0.4}, {"active"}),
        ({"stationary": False}, {"active"}),
        ({"job_scale": 2.0}, {"work", "deadline"}),
        ({"patience": (1.0, 2.0)}, {"deadline"}),
        ({"jobs": 5}, {"arrival", "work", "deadline", "job_kind"}),
        ({"drift": True}, {"arrival", "work", "deadline", "job_kind"}),
    ],
)
def test_settings_change_nothing_else(options, changed):
    one, other = generate(**SMALL, rng=3), generate(**{**SMALL, **options}, rng=3)
    for name in FIELDS:
        equal = np.array_equal(getattr(one, name), getattr(other, name))
        assert equal != (name in changed), name


def test_sweeps_add_to_what_is_there():
    few, many = generate(**SMALL), generate(**{**SMALL, "sites": 9, "devices": 15, "jobs": 20})
    np.testing.assert_array_equal(many.speed[:4], few.speed)
    np.testing.assert_array_equal(many.rate[:, :6, :4], few.rate)
    for name in ("active", "request_size", "request_work", "slo"):
        np.testing.assert_array_equal(getattr(many, name)[:, :6], getattr(few, name))
    assert set(few.work.tolist()) <= set(many.work.tolist())
    kept = np.isin(many.work, few.work)
    np.testing.assert_array_equal(many.arrival[kept], few.arrival)


def test_factors_scale_what_they_name():
    one = generate(**SMALL)
    for factor in (0.8, 1.2):
        other = generate(**SMALL, band_scale=factor)
        np.testing.assert_allclose(other.rate, factor * one.rate)
        other = generate(**SMALL, job_scale=factor)
        np.testing.assert_allclose(other.work, factor * one.work)


def test_jobs_of_hardly_any_work_are_due_at_the_end_of_their_slot():
    instance = generate(**SMALL, job_scale=1e-20)
    np.testing.assert_array_equal(instance.deadline, instance.arrival + 1)


def test_moving_devices_change_their_rates():
    moving = generate(**SMALL, moving=True)
    assert (moving.rate[0] != moving.rate[1]).all()
    np.testing.assert_array_equal(moving.active, generate(**SMALL).active)
    # Each site moves past devices by a stream of its own.
    more = generate(**{**SMALL, "sites": 6}, moving=True)
    np.testing.assert_array_equal(more.rate[:, :, :4], moving.rate)


def test_the_whole_run_swings_once():
    calm = generate(devices=2000, slots=80, jobs=0, sites=1).active.mean(axis=1)
    swinging = generate(devices=2000, slots=80, jobs=0, sites=1, stationary=False)
    share = swinging.active.mean(axis=1)
    assert np.abs(calm - 0.6).max() < 5.5 * np.sqrt(0.24 / 2000)
    assert share[15:30].mean() > 0.75
    assert share[55:70].mean() < 0.45
    assert "swinging by half of it" in swinging.origin


def test_jobs_may_wait_for_drift(default):
    drifting = generate(drift=True)
    assert 10 < drifting.jobs < 40
    assert "a test notices made-up drift" in drifting.origin
    assert "arrive uniformly" in default.origin
    assert generate(drift=True, jobs=0).jobs == 0
    assert generate(**{**SMALL, "slots": 1, "jobs": 6}, drift=True).jobs == 0


def test_it_says_that_it_is_drawn(default):
    assert "no number is measured" in default.origin
    assert "60 % of the slots" in default.origin


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"sites": 0}, "sites = .*: must be at least 1"),
        ({"devices": 0}, "devices = .*: must be at least 1"),
        ({"slots": 0}, "slots = .*: must be at least 1"),
        ({"jobs": -1}, "jobs = .*: must be at least 0"),
        ({"jobs": -1, "drift": True}, "jobs = "),
        ({"jobs": 181, "drift": True}, "changes must lie in .*180"),
        ({"channel": "real"}, "channel = "),
        ({"duty": 1.5}, "duty = "),
        ({"duty": np.nan}, "duty = "),
        ({"bandwidth": (3.0, 2.0)}, "bandwidth = "),
        ({"bandwidth": (0.0, 2.0)}, "bandwidth = "),
        ({"bandwidth": (1.0, np.inf)}, "bandwidth = "),
        ({"megabytes": (-1.0, 2.0)}, "megabytes = "),
        ({"band_scale": 0.0}, "band_scale = "),
        ({"slo": (0.5, 1.1)}, "slo = "),
        ({"slo": (0.0, 1.0)}, "slo = "),
        ({"job_scale": 0.0}, "job_scale = "),
        ({"job_scale": np.inf}, "job_scale = "),
        ({"patience": (2.0, 1.0)}, "patience = "),
        ({"patience": (0.0, 1.0)}, "patience = "),
    ],
)
def test_options_out_of_range_are_refused(options, rule):
    with pytest.raises(OptionError, match=rule):
        generate(**{**SMALL, **options})


@pytest.mark.parametrize(
    ("channel", "noise"), [("physical", 10 ** (-174 / 10)), ("published", 10 ** (-40 / 10))]
)
def test_losses_as_losses(channel, noise):
    for kilometres, power, megahertz in ((0.15, 80.0, 2.0), (0.45, 100.0, 3.0), (0.3, 90.0, 25.0)):
        gain = 10 ** (-(140.7 + 36.7 * np.log10(kilometres) + 4) / 10)
        ratio = power * gain / (noise * megahertz * 1e6)
        # A sum of 1 and something tiny would lose most of its digits.
        expected = megahertz * np.log1p(ratio) / np.log(2)
        rate = link_rates(channel, kilometres, power, megahertz)
        assert rate == pytest.approx(expected, rel=1e-10, abs=0.0)
        assert rate > 0


@pytest.mark.parametrize("distribution", ["uniform", "stratified"])
def test_jobs_arrive_in_the_share_of_slots_that_is_asked_for(distribution):
    for arriving in (0.05, 0.6, 1.0):
        drawn = generate(
            slots=100, jobs=40, arriving=arriving, arrival_distribution=distribution, rng=2
        )
        assert drawn.arrival.max() < 100 * arriving
        assert (np.diff(drawn.arrival) >= 0).all()
    with pytest.raises(OptionError, match="arriving"):
        generate(arriving=0.0)
    with pytest.raises(OptionError, match="arrival_distribution"):
        generate(arrival_distribution="even")


def test_stratified_arrivals_come_one_in_each_part():
    drawn = generate(slots=400, jobs=10, arriving=0.5, arrival_distribution="stratified", rng=3)
    assert (drawn.arrival // 20).tolist() == list(range(10))
    # The mean varies by 1 / (12 K^3) of the time squared, in place of 1 / (12 K).
    distributions = ("uniform", "stratified")
    means = [
        [
            generate(jobs=10, arrival_distribution=distribution, rng=seed).arrival.mean()
            for seed in range(40)
        ]
        for distribution in distributions
    ]
    assert 5.0 < np.std(means[0]) / np.std(means[1]) < 20.0
