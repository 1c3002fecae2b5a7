"""The best bound for a kind of policy: below all runs, of every policy and under every noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import TapFingerInstance, generate
from edgeopt.instances.tapfinger.durations import shortest_durations
from edgeopt.models.tapfinger import best_list, flow_bound, scheduling_problem, volume_bound
from edgeopt.models.tapfinger import bounds as bound_module
from edgeopt.models.tapfinger.bounds import METHODS, mixed_volume_bound
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws
from tests.oracles.tapfinger.changes import TooManyStatesError, least_flow
from tests.tapfinger.run_policy import CHANGING, STEADY, run_once

CROWDED = st.one_of(
    tapfinger_instances(clusters=1, tasks=4, noise=None),
    tapfinger_instances(clusters=2, tasks=3, capacity=2, noise=None),
)


@given(CROWDED)
@settings(max_examples=draws(25))
def test_no_run_with_changing_bundles_is_below(instance):
    instance = instance.replace(
        arrival=instance.arrival // 2, weight=np.maximum(instance.weight, 0.25)
    )
    problem = scheduling_problem(instance, duration=shortest_durations(instance))
    try:
        least = least_flow(instance, best_list(problem).flow_time(problem))
    except TooManyStatesError:
        assume(False)
    for method in METHODS:
        bound = flow_bound(instance, preemptive=True, method=method)
        assert bound.value <= least * (1.0 + 1e-9)
    assert bound.value >= 0.6 * least


@given(
    tapfinger_instances(noise=None), st.sampled_from(STEADY + CHANGING), st.integers(0, 2**32 - 1)
)
def test_no_run_falls_below_the_bounds(instance, policy, seed):
    trajectory, _ = run_once(instance, policy, seed)
    for method in METHODS:
        bound = flow_bound(instance, preemptive=policy in CHANGING, method=method)
        assert bound.noisy == (instance.noise > 0)
        assert bound.value <= trajectory.weighted_flow_time()[0] * (1.0 + 1e-9), method


def test_the_best_is_the_largest_of_all():
    instance = generate(tasks=40)
    for preemptive in (False, True):
        best = flow_bound(instance, preemptive=preemptive)
        each = {
            method: flow_bound(instance, preemptive=preemptive, method=method) for method in METHODS
        }
        assert best.value == max(one.value for one in each.values())
        assert best.values == {method: one.value for method, one in each.items()}
        assert each[best.method].value == best.value
        assert best.mean == best.value / 40
        assert (best.proof is None) == (best.method in METHODS[:2])
        assert best.preemptive == preemptive
        assert not best.noisy


def test_noise_and_preemption_lower_the_bound():
    calm = generate(tasks=40, switching=0.5)
    loud = replace(calm, noise=0.1)
    fixed, changing = (flow_bound(calm, preemptive=which).value for which in (False, True))
    assert flow_bound(loud).value < fixed
    assert flow_bound(loud, preemptive=True).value < changing <= fixed * 1.001


def test_volumes_are_those_of_bundles_that_may_change():
    instance = generate(tasks=60, rate=30.0, switching=1.0)
    fixed, changing = (
        flow_bound(instance, preemptive=which, method="volume").value for which in (False, True)
    )
    assert (
        changing
        == mixed_volume_bound(instance)
        < fixed
        == volume_bound(scheduling_problem(instance))
    )


def test_kinds_that_slow_down_are_not_taken_for_others():
    # One by one on a single GPU: 2 slots each, or 3 for the task that slows down.
    instance = TapFingerInstance(
        capacity=[[1, 1]],
        minimum=[[0, 1], [0, 1]],
        speed=np.full((2, 2, 2), 0.5),
        slowing=[False, True],
        arrival=[0, 0],
        kind=[0, 1],
        eligible=[[True]] * 2,
    )
    assert instance.duration[0, :, 0, 1].tolist() == [2, 3]
    for which in (False, True):
        for method in METHODS[1:]:
            bound = flow_bound(instance, preemptive=which, method=method)
            assert bound.value == pytest.approx(2 + 5, rel=1e-3)


def test_crowded_instances_get_what_they_can_afford(monkeypatch):
    instance = generate(tasks=20)
    assert tuple(flow_bound(instance).values) == METHODS
    monkeypatch.setattr(bound_module, "APART", 10)
    assert tuple(flow_bound(instance).values) == METHODS[:3]
    monkeypatch.setattr(bound_module, "POOLED", 10)
    assert tuple(flow_bound(instance).values) == METHODS[:2]


def test_nothing_to_bound():
    nothing = generate(tasks=1).replace(
        arrival=np.zeros(0), kind=np.zeros(0), eligible=np.zeros((0, 3)), weight=np.zeros(0)
    )
    bound = flow_bound(nothing)
    assert bound.value == 0.0
    assert np.isnan(bound.mean)


def test_unknown_methods_are_refused():
    with pytest.raises(OptionError, match="method = 'guess'"):
        flow_bound(generate(tasks=1), method="guess")
