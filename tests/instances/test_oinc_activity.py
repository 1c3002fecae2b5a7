"""Devices that switch on and off, or follow recorded requests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.oinc.activity import draw_activity, duty_by_slot, replay_activity, service_of
from tests.draws import draws


@pytest.mark.parametrize("duty", [0.3, 0.6])
def test_the_chances_of_switching(duty):
    active = draw_activity(np.random.default_rng(1), 800, 400, duty)
    before, after = active[:-1], active[1:]
    # 5 standard deviations of a binomial, false alarm 6e-7.
    for was, chance in ((True, 0.2 * (1 - duty)), (False, 0.2 * duty)):
        tried = (before == was).sum()
        switched = ((before == was) & (after != was)).sum()
        assert abs(switched - chance * tried) < 5 * np.sqrt(tried * chance * (1 - chance))
    first = np.array(
        [draw_activity(np.random.default_rng(seed), 1, 500, duty).sum() for seed in range(20)]
    )
    assert abs(first.sum() - 10_000 * duty) < 5 * np.sqrt(10_000 * duty * (1 - duty))


@given(seed=st.integers(0, 1000), duty=st.sampled_from([0.0, 0.25, 0.6, 1.0]), swing=st.booleans())
@settings(max_examples=draws(60))
def test_the_process_device_by_device(seed, duty, swing):
    active = draw_activity(np.random.default_rng(seed), 12, 3, duty, stationary=not swing)
    share = [
        min(1.0, duty * (1 + (0.5 * np.sin(2 * np.pi * t / 12) if swing else 0))) for t in range(12)
    ]
    uniform = np.random.default_rng(seed).random((3, 12))
    for i in range(3):
        on = uniform[i, 0] < share[0]
        assert active[0, i] == on
        for t in range(1, 12):
            stays = 1 - 0.2 * (1 - share[t])
            on = uniform[i, t] < (stays if on else 0.2 * share[t])
            assert active[t, i] == on
    assert duty_by_slot(duty, 12, stationary=not swing).tolist() == pytest.approx(share)


def test_always_and_never():
    assert draw_activity(np.random.default_rng(0), 50, 4, 1.0).all()
    assert not draw_activity(np.random.default_rng(0), 50, 4, 0.0).any()
    # A share that would exceed 1 at the top of its swing is cut.
    assert duty_by_slot(0.9, 8, stationary=False).tolist()[2] == 1.0
    with pytest.raises(OptionError, match="duty = "):
        draw_activity(np.random.default_rng(0), 5, 4, -0.1)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), min_size=1, max_size=6),
    st.integers(1, 8),
    st.integers(0, 1000),
)
@settings(max_examples=draws(100))
def test_recorded_requests_are_replayed(counts, devices, seed):
    table = np.array(counts)
    active = replay_activity(np.random.default_rng(seed), table, devices)
    owner = service_of(table, devices)
    assert active.shape == (len(counts), devices)
    assert (np.diff(owner) >= 0).all()
    for service in (0, 1):
        mine = active[:, owner == service]
        expected = np.minimum(table[:, service], mine.shape[1])
        assert mine.sum(axis=1).tolist() == expected.tolist()
    # Each service that asks has a device if there are enough, and none waits for a fairer share.
    total, own = table.sum(axis=0), np.bincount(owner, minlength=2)
    if devices >= 2 and total.all():
        assert own.all()
    for one, other in ((0, 1), (1, 0)):
        if own[one] > 1:
            assert total[one] / (own[one] - 1) >= total[other] / max(own[other], 1e-9)


def test_which_devices_ask_is_drawn():
    counts = np.full((2000, 1), 3)
    active = replay_activity(np.random.default_rng(5), counts, 10)
    # 2000 slots at a chance of 0.3; 5.5 standard deviations for 10 devices, false alarm 4e-7.
    assert (np.abs(active.sum(axis=0) - 600) < 5.5 * np.sqrt(2000 * 0.21)).all()
    assert (active.sum(axis=1) == 3).all()
