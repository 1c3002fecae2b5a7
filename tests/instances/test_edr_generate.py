from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.edr import (
    EdrHistory,
    EdrInstance,
    generate,
)
from edgeopt.instances.edr.random_parts import calibrated_weights, reference

SMALL = {"sites": 5, "tasks": 4, "frames": 24, "slots": 2}
FIELDS = (
    "price", "arrival", "deadline", "rounds", "client", "server", "step_work", "requests",
    "propagation", "slo", "power", "speed", "energy_per_work", "capable", "position", "capacity",
    "rate",
)  # fmt: skip


@pytest.fixture(scope="module")
def default():
    return generate()


def test_sizes_and_ranges(default):
    assert (default.frames, default.slots, default.sites) == (48, 12, 20)
    assert (default.tasks, default.types) == (40, 4)
    assert default.slot_seconds == 300
    assert generate(**SMALL).slot_seconds == 1800
    assert set(default.rounds.tolist()) == {156}
    assert set(generate(**SMALL, clients=3, accuracy=0.01).rounds.tolist()) == {291}
    for name, low, high in (
        ("energy_per_work", 4e-5, 8e-5),
        ("power", 10**0.2 / 1e3, 0.1),
        ("speed", 5, 20),
        ("price", 3e-5 * 0.5 * 0.8, 3e-5 * 1.5 * 1.2 * 3),
    ):
        values = getattr(default, name)
        assert low <= values.min() < low + (high - low) / 3, name
        assert low + (high - low) / 2 < values.max() <= high, name
    assert (default.slo == default.slo[0, 0]).all()
    many = generate(**SMALL, types=60).slo[0, 0]
    assert 0.25 <= many.min() < 0.27
    assert 0.48 < many.max() <= 0.5
    assert default.capable.sum(axis=0).tolist() == [6] * 4
    assert default.position.min() >= 0
    assert 8 < default.position.max() <= 10
    assert 30 < generate(**{**SMALL, "sites": 320, "tasks": 0}).position.max() <= 40


def test_tasks_arrive_early_and_train_four_models(default):
    assert (np.diff(default.arrival) >= 0).all()
    assert default.arrival.min() < 5
    assert 22 < default.arrival.max() < 29  # 60 % of 48 frames
    whole = default.deadline < 47
    assert default.window[whole].min() >= 12
    assert default.window.max() <= 24
    assert default.task_kind.tolist() == [i % 4 for i in range(40)]
    assert default.client.all()
    assert len(set(default.server.tolist())) > 10
    forward = [0.833e-3, 1.304e-3, 2.064e-3, 3.284e-3]
    weights = [61706, 62006, 20490, 25578]
    for i in range(4):
        assert default.step_work[i] == pytest.approx(3 * 64 * forward[i])
        assert default.model_size[i] == 32 * weights[i]
        assert default.aggregation_work[i] == pytest.approx(20 * weights[i] * 1e-9)
        assert default.request_work[i] == forward[i]
        assert default.request_size[i] == (6272 if i % 2 == 0 else 24576)
    few = generate(**SMALL, clients=3)
    assert few.client.sum(axis=1).tolist() == [3] * 4
    assert few.client[range(4), few.server].all()


def test_requests_have_two_peaks(default):
    assert (default.requests == default.requests[..., :1]).all()
    hour = np.arange(48)[:, None] % 24 + np.arange(12) / 12
    profile = 0.25 + 0.75 * np.exp(-(((hour - 8) / 2) ** 2))
    profile += 0.75 * np.exp(-(((hour - 18) / 2.5) ** 2))
    level = 4 * default.requests[..., 0] / profile[:, :, None]
    assert (level.max(axis=(0, 1)) / level.min(axis=(0, 1)) <= 1.5).all()
    mean = level.mean(axis=(0, 1))
    assert 7e3 < mean.min() < 2e4
    assert 2.8e4 < mean.max() < 4.1e4
    assert generate(**SMALL, demand=0.0).requests.sum() == 0
    half = generate(**SMALL, demand=0.5).requests
    np.testing.assert_array_equal(half, 0.5 * generate(**SMALL).requests)


def test_capacity_is_three_times_the_peak(default):
    for j in range(20):
        peak = max(
            float(default.requests[t, d, j] @ default.request_work)
            for t in range(48)
            for d in range(12)
        )
        assert default.capacity[j] == pytest.approx(3 * peak)
    tight = generate(headroom=1.0)
    np.testing.assert_allclose(3 * tight.capacity, default.capacity, rtol=1e-12)
    # Even one unit of headroom holds the task that everybody trains, were it alone.
    assert (default.round_work.sum(axis=0) < 12 * default.capacity).all()


def test_delays_follow_distances(default):
    x = default.position
    for j, k in ((0, 1), (7, 3), (19, 4)):
        seconds = 2e-3 * np.hypot(*(x[j] - x[k]))
        between = default.propagation[:, :, j, k] / seconds
        assert 0.7 <= between.min() < 0.72
        assert 1.28 < between.max() <= 1.3
    assert default.propagation[:, :, range(20), range(20)].max() == 0


def usual_energy(instance, t: int) -> float:
    """Energy of serving at average sites and of training at even rates, by loops."""
    total = 0.0
    for n in range(instance.types):
        able = [k for k in range(instance.sites) if instance.capable[k, n]]
        mean = sum(instance.request_energy[k, n] for k in able) / len(able)
        total += mean * instance.requests[t, :, :, n].sum()
    for i in range(instance.tasks):
        if instance.arrival[i] <= t <= instance.deadline[i]:
            window = instance.deadline[i] - instance.arrival[i] + 1
            total += instance.rounds[i] / window * instance.round_energy[t, i]
    return total


def test_caps_are_shares_of_the_usual_energy(default):
    capped = np.flatnonzero(np.isfinite(default.cap))
    assert set(range(16, 20)) | set(range(40, 44)) <= set(capped.tolist())
    for t in capped:
        assert 0.85 <= default.cap[t] / usual_energy(default, int(t)) <= 1.0
    assert np.isinf(generate(**SMALL, capped=None).cap).all()
    everywhere = generate(**SMALL, capped=1.0, cap_share=(0.5, 0.5))
    for t in range(24):
        assert everywhere.cap[t] == pytest.approx(0.5 * usual_energy(everywhere, t))
    assert np.isfinite(generate(**SMALL, capped=0.0).cap).nonzero()[0].tolist() == [16, 17, 18, 19]


def test_a_tenth_of_the_other_frames_is_capped():
    instance = generate(sites=1, tasks=0, frames=24 * 200, slots=1)
    hour = np.arange(24 * 200) % 24
    other = np.isfinite(instance.cap)[(hour < 16) | (hour > 19)]
    # 4000 frames; 5 standard deviations of a binomial, false alarm 6e-7.
    assert abs(other.sum() - 400) < 5 * np.sqrt(4000 * 0.1 * 0.9)
    daily = 3e-5 * (1 + 0.5 * np.sin(2 * np.pi * (hour - 10) / 24))
    spikes = (instance.price / daily > 1.3).sum()
    assert abs(spikes - 240) < 5 * np.sqrt(4800 * 0.05 * 0.95)


def test_weights_put_energy_and_delay_on_one_scale(default):
    dollars = sum(default.price[t] * usual_energy(default, t) for t in range(48))
    assert default.energy_weight * dollars == pytest.approx(1000)
    seconds = 0.15 * default.requests.sum()
    for i in range(40):
        rate = default.rounds[i] / default.window[i]
        for t in range(default.arrival[i], default.deadline[i] + 1):
            seconds += rate * default.round_seconds[t, i]
    assert default.delay_weight * seconds == pytest.approx(1000)
    assert reference(default).seconds == pytest.approx(seconds)
    # Negative prices count by their size.
    mixed = default.replace(price=default.price * np.where(np.arange(48) % 3, 1, -1))
    assert calibrated_weights(mixed) == calibrated_weights(default)
    assert calibrated_weights(default) == (default.energy_weight, default.delay_weight)
    published = generate(**SMALL, weights="published")
    assert (published.energy_weight, published.delay_weight) == (1.0, 1.0)
    nothing = generate(**{**SMALL, "tasks": 0}, demand=0.0)
    assert (nothing.energy_weight, nothing.delay_weight) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({"reuse": "none"}, {"rate"}),
        ({"noise": -154.0}, {"rate"}),
        ({"bandwidth": 5e4}, {"rate"}),
        ({"headroom": 2.0}, {"capacity"}),
        ({"demand": 2.0}, {"requests", "capacity"}),
        ({"accuracy": 0.01}, {"rounds"}),
        ({"rounds_bound": "corrected"}, {"rounds"}),
        ({"capped": None}, set()),
        ({"weights": "published"}, set()),
        ({"round_delay": "max"}, set()),
        ({"capable_share": 0.8}, {"capable"}),
        ({"power": "frame"}, {"power", "rate"}),
    ],
)
def test_settings_change_nothing_else(options, changed):
    size = {**SMALL, "sites": 12}
    one, other = generate(**size, rng=3), generate(**size, rng=3, **options)
    for name in FIELDS:
        equal = np.array_equal(getattr(one, name), getattr(other, name))
        assert equal != (name in changed), name


def test_power_drawn_by_frame_sets_the_rates_of_that_frame():
    by_frame = generate(**SMALL, rng=3, power="frame", reuse="none")
    assert by_frame.power.shape == (24, 5)
    low, high = 10**0.2 / 1e3, 0.1
    assert low <= by_frame.power.min() < 1.2 * low
    assert 0.8 * high < by_frame.power.max() <= high
    assert len(np.unique(by_frame.power)) == 24 * 5
    # Without interference the signal over the noise is in proportion to the power.
    by_site = generate(**SMALL, rng=3, reuse="none")
    links = ~np.eye(5, dtype=bool)
    signal = [2 ** (one.rate[:, links] / 25e3) - 1 for one in (by_site, by_frame)]
    times = np.broadcast_to((by_frame.power / by_site.power)[:, :, None], (24, 5, 5))[:, links]
    np.testing.assert_allclose(signal[1] / signal[0], times, rtol=1e-9)


def test_it_says_that_it_is_drawn(default):
    assert "no number is measured" in default.origin
    assert "hours 16 to 19 of each day and 10 % of the other frames" in default.origin
    assert "No frame is capped" in generate(**SMALL, capped=None).origin


@pytest.mark.long
def test_a_thousand_sites_have_a_million_routes():
    instance = generate(sites=1000, frames=1, slots=2, tasks=0, reuse="none")
    routes = (instance.request_seconds(0, 1) <= instance.slo[0, 1]) & instance.capable
    assert 1e6 < routes.sum() < 1.2e6
    assert routes.any(axis=1).all()


@pytest.mark.parametrize("reuse", ["none", "group", "per_receiver"])
def test_most_requests_have_a_route(reuse):
    instance = generate(frames=4, reuse=reuse)
    served = np.array(
        [
            ((instance.request_seconds(t, 0) <= instance.slo[t, 0]) & instance.capable).any(axis=1)
            for t in range(4)
        ]
    )
    # Where everybody hears somebody, links are too slow for pictures.
    assert (served.mean() < 0.7) if reuse == "per_receiver" else served.all()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"sites": 0}, "sites = .*: must be at least 1"),
        ({"frames": 0}, "frames = .*: must be at least 1"),
        ({"slots": 0}, "slots = .*: must be at least 1"),
        ({"types": 0}, "types = .*: must be at least 1"),
        ({"tasks": -1}, "tasks = .*: must be at least 0"),
        ({"clients": 0}, "clients = "),
        ({"accuracy": 0.0}, "accuracy = "),
        ({"rounds_bound": "loose"}, "rounds_bound = "),
        ({"capable_share": 0.0}, "capable_share = "),
        ({"headroom": -1.0}, "headroom = "),
        ({"headroom": np.inf}, "headroom = "),
        ({"demand": -1.0}, "demand = "),
        ({"demand": np.nan}, "demand = "),
        ({"capped": 1.5}, "capped = "),
        ({"cap_share": (1.0, 0.5)}, "cap_share"),
        ({"weights": "equal"}, "weights = "),
        ({"reuse": "all"}, "reuse = "),
        ({"bandwidth": -1.0}, "bandwidth"),
        ({"power": "slot"}, "power = "),
    ],
)
def test_options_out_of_range_are_refused(options, rule):
    with pytest.raises(OptionError, match=rule):
        generate(**{**SMALL, **options})


def test_the_day_before_is_drawn_by_itself():
    plain = generate(**SMALL, rng=7)
    for history in (True, "channel"):
        drawn = generate(**SMALL, rng=7, history=history)
        assert drawn.replace(history=None) == plain
        assert drawn != plain
    past = drawn.history
    assert (past.rate > 0).all()
    assert np.isfinite(past.cap_share).sum() >= 4
    assert (generate(**SMALL, rng=7, history=True).history.price == past.price).all()
    assert generate(**SMALL, rng=7, history=True).history.rate is None
    assert (past.price != plain.price).all()
    assert not np.isfinite(generate(**SMALL, capped=None, history=True).history.cap_share).any()
    with pytest.raises(OptionError, match="history"):
        generate(**SMALL, history="price")


def test_the_day_before_is_saved_and_checked(tmp_path):
    plain, drawn = (generate(**SMALL, rng=7, history=history) for history in (False, "channel"))
    drawn.save(tmp_path / "day.nc")
    loaded = EdrInstance.load(tmp_path / "day.nc")
    assert loaded == drawn
    assert (loaded.history.rate == drawn.history.rate).all()
    # Nothing known is nothing said.
    assert plain.replace(history=EdrHistory()).history is None
    with pytest.raises(InstanceError, match=r"history\.price"):
        EdrHistory(price=np.ones(23))
    with pytest.raises(InstanceError, match=r"history\.rate.*5 sites"):
        plain.replace(history=EdrHistory(rate=np.ones((24, 4, 4))))
