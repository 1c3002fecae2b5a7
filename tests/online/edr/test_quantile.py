"""The quantile threshold: when it trains, at what speed, and what gives way under a cap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.errors import OptionError
from edgeopt.instances.edr import EdrInstance, never_trained
from edgeopt.online.edr.policies.baselines import EvenRate, QuantileThreshold
from tests.draws import draws
from tests.online.edr.frames import drive, show
from tests.strategies import edr_instances


def priced(*expected: float, rounds: int = 4) -> EdrInstance:
    """One task of 1 Wh a round, and the price that each frame is expected to have."""
    frames = len(expected)
    return never_trained(frames).replace(
        rounds=[rounds], price_prior=expected[0], price=np.array([*expected[1:], 1.0])
    )


def wishes(instance: EdrInstance, **options: Any) -> list[int]:
    return [int(step.requested_rounds[0]) for step in drive(QuantileThreshold(**options), instance)]


def test_it_waits_for_cheap_frames():
    """Ten frames, 4 rounds, 2 at full speed; the level begins at 1.6 * 4 / (2 * 8)."""
    costs = [5.0, 4.0, 3.0, 9.0, 3.5, 2.0, 8.0, 1.0, 7.0, 7.0]
    # Even rate of what is left for two frames: ceil(4/10), ceil(3/9). Then 2 rounds are left, full
    # speed is ceil(4 * 0.4) = 2, and a frame is cheap within the lowest 1.6 * 2 / (2 * 8) = 0.2.
    assert wishes(priced(*costs), multiple=4.0) == [1, 1, 2, 0, 0, 0, 0, 0, 0, 0]
    # The third cost is the highest so far: it waits for 3.5, within the lowest 1.6 * 2 / (2 * 6).
    costs[2] = 6.0
    assert wishes(priced(*costs), multiple=4.0) == [1, 1, 0, 0, 2, 0, 0, 0, 0, 0]


@settings(max_examples=draws(100))
@given(edr_instances(frames=6, tasks=4))
def test_a_plain_reading(instance: EdrInstance):
    policy = QuantileThreshold(multiple=2.0, bias=1.2)
    seen: list[list[float]] = [[] for _ in range(instance.tasks)]
    for step in drive(policy, instance):
        frame, energy = step.frame, step.frame.round_energy
        wanted, dear = np.zeros(instance.tasks), np.zeros(instance.tasks)
        for i in range(instance.tasks):
            if not frame.active[i]:
                continue
            cost = instance.energy_weight * frame.price * energy[i]
            cost += instance.delay_weight * frame.round_seconds[i]
            seen[i].append(float(cost))
            dear[i] = cost / energy[i] if energy[i] > 0 else 0.0
            left, frames_left = int(frame.remaining[i]), int(frame.deadline[i]) - frame.frame + 1
            full = int(np.ceil(2.0 * frame.even_rate[i]))
            if len(seen[i]) < 3:
                wanted[i] = np.ceil(left / frames_left)
                continue
            level = min(1.0, 1.2 * left / (full * frames_left))
            place = level * (len(seen[i]) - 1)
            ordered = sorted(seen[i])
            low, high = ordered[int(np.floor(place))], ordered[int(np.ceil(place))]
            threshold = low + (place - np.floor(place)) * (high - low)
            wanted[i] = min(full, left) if cost <= threshold + 1e-12 else 0
        assert (step.requested_rounds <= wanted).all()
        used = energy @ wanted
        if used <= frame.cap:
            np.testing.assert_array_equal(step.requested_rounds, wanted)
        else:
            assert energy @ step.requested_rounds <= frame.cap * (1 + 1e-9)
            # Nobody gives way while a dearer task still trains.
            gave = (step.requested_rounds < wanted) & (energy > 0)
            trains = (step.requested_rounds > 0) & (energy > 0)
            if gave.any() and trains.any():
                assert dear[trains].max() <= dear[gave].max() + 1e-12
                cheapest = dear[gave].min()
                kept_dearer = trains & (dear > cheapest + 1e-12)
                assert not kept_dearer.any()


def test_it_begins_like_the_even_rate():
    instance = priced(9.0, 1.0, 5.0, 5.0)
    even = [int(np.ceil(step.requested_rounds[0])) for step in drive(EvenRate(), instance)]
    assert wishes(instance)[:2] == even[:2]


def test_a_task_that_must_hurry_is_not_choosy():
    """Behind its deadline the level is 1, and no cost is above the highest so far."""
    instance = priced(1.0, 2.0, 3.0, 4.0, 5.0, rounds=40)
    policy = QuantileThreshold(multiple=1.0)
    assert [step.requested_rounds[0] for step in drive(policy, instance)][2:] == [8, 8, 8]


def test_the_dearest_task_per_watt_hour_gives_way():
    """Task 0 costs more per Wh as it also sends models; the cap has room for one round."""
    one = never_trained(2)
    instance = one.replace(
        arrival=[0, 0], deadline=[1, 1], rounds=[2, 2], server=[0, 0], local_steps=[1, 1],
        client=[[1], [1]], step_work=[[1.0], [1.0]], aggregation_work=[0.0, 0.0],
        model_size=[0.0, 0.0],
    )  # fmt: skip
    policy = QuantileThreshold()
    for seconds, kept in (([1.0, 0.0], [0, 1]), ([0.0, 1.0], [1, 0])):
        frame = show(instance, 0, instance.rounds, cap=1.0, round_seconds=np.array(seconds))
        rng = np.random.default_rng(0)
        requested_rounds, _ = policy.requested_rounds(policy.begin(instance), frame, 1.0, rng)
        assert requested_rounds.tolist() == kept


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"multiple": 0.0}, "multiple"),
        ({"bias": -1.0}, "bias"),
        ({"bias": np.inf}, "bias"),
        ({"reserve": "first"}, "reserve"),
    ],
)
def test_options_are_refused_by_name(options: dict[str, Any], named: str):
    with pytest.raises(OptionError, match=named):
        QuantileThreshold(**options)
