"""What tasks take at least in a scenario when their bundles may change."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import pytest
from edgeopt_papers.tapfinger.claims import flow_gap
from edgeopt_papers.tapfinger.claims.plan import Restless
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt import simulate
from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import TapFingerInstance, generate
from edgeopt.instances.tapfinger.durations import noise_block
from edgeopt.models.tapfinger import flow_bound, scenario_bound
from edgeopt.models.tapfinger.scenario_bound import least_work, more_is_better
from edgeopt.online.tapfinger import Optimus, TapFingerEnvironment, Tiresias
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws


def every_way(speeds, slowing, noise, switching, longest):
    """Return fewest slots and least volume over all sequences of bundles, by trying them."""
    slots, volume = np.inf, np.inf
    for length in range(1, longest + 1):
        for held in product(speeds, repeat=length):
            done = 0.0
            for i, gpus in enumerate(held):
                gain = speeds[gpus] * (sqrt(max(0.0, 1.2 - done)) if slowing else 1.0)
                gain = max(0.0, gain + noise[i])
                done += gain * (switching if i and gpus != held[i - 1] else 1.0)
            if done >= 1.0 - 1e-9:
                slots, volume = min(slots, length), min(volume, sum(held))
    return slots, volume


@pytest.mark.parametrize("slowing", [False, True])
@given(
    first=st.floats(0.2, 0.5), second=st.floats(0.05, 0.4), third=st.floats(0.05, 0.3),
    switching=st.sampled_from([0.0, 0.5, 1.0]), noise=st.floats(0.01, 0.2),
    scenario=st.integers(0, 10**6),
)  # fmt: skip
@settings(max_examples=draws(20))
def test_no_sequence_of_bundles_takes_less(
    slowing, first, second, third, switching, noise, scenario
):
    speed = np.cumsum([first, second, third])
    instance = TapFingerInstance(
        capacity=[[1, 3]], minimum=[[1, 1]], speed=np.array([[[0, 0, 0, 0], [0, *speed]]]),
        arrival=[0], kind=[0], eligible=[[True]], slowing=[slowing], noise=noise,
        switching=switching,
    )  # fmt: skip
    quickest, volume = least_work(instance, scenario)
    draw = noise * noise_block(scenario, 1, 0)[0]
    table = dict(zip((1, 2, 3), speed.tolist(), strict=True))
    slots, least = every_way(table, slowing, draw, switching, 6)
    if slots <= 6:
        assert quickest[0] == slots
    # More than six slots take six GPU-slots at least.
    assert volume[0, 1] == least if least <= 6 else volume[0, 1] <= least


@pytest.mark.parametrize("policy", [Restless(), Optimus(), Tiresias()], ids=lambda one: one.name)
@given(instance=tapfinger_instances(noise=True), seed=st.integers(0, 10**6))
@settings(max_examples=draws(25))
def test_no_run_that_changes_bundles_is_below(policy, instance, seed):
    run = simulate(TapFingerEnvironment(instance, patience=60), policy, rng=seed, runs=2)
    bound = scenario_bound(instance, run.scenarios, preemptive=True)
    value = run.weighted_flow_time()
    assert (bound.values <= value * (1 + 1e-9)).all()
    assert (bound.values >= flow_bound(instance, preemptive=True).value).all()
    if np.isfinite(value).all() and bound.value > 0:
        found = flow_gap(run, bound=bound)
        assert found.scope == "scenario"
        assert found.note.startswith("holds for all policies, in the scenarios")


def test_it_is_between_any_noise_and_fixed_bundles():
    instance = generate(tasks=48, single_start=True)
    changing, fixed = (
        scenario_bound(instance, [1, 2], preemptive=which) for which in (True, False)
    )
    assert (changing.values < fixed.values).all()
    assert (changing.values > 1.05 * changing.any_noise.value).all()
    with pytest.raises(OptionError, match="for the same policies"):
        scenario_bound(instance, [1], any_noise=changing.any_noise)


def test_nothing_is_said_where_progress_may_harm():
    instance = generate(tasks=6, noise=0.5)
    assert more_is_better(instance)
    fast = instance.replace(speed=2 * instance.speed)
    assert not more_is_better(fast)
    assert more_is_better(fast.replace(noise=0.39))
    assert scenario_bound(fast, [1], preemptive=True).methods == ("any noise",)
