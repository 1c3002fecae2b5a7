"""What tasks take at least if their bundles change: by enumeration, and by hand."""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.tapfinger import TapFingerInstance, generate
from edgeopt.instances.tapfinger.durations import largest_gain, shortest_durations
from edgeopt.models.tapfinger import mixed_volumes, scheduling_problem, volume_bound
from edgeopt.models.tapfinger.bounds import mixed_volume_bound
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws


def volume_by_enumeration(instance, n, k, r, most):
    """Return the least volume of a task that goes through all sequences of bundles."""
    table = instance.speed.shape[2:]
    bundles = [x for x in np.ndindex(*table) if instance.duration[n, k][x] > 0]

    def gain(x, progress):
        speed = float(instance.speed[n, k][x])
        slow = sqrt(max(0.0, 1.2 - progress)) if instance.slowing[k] else 1.0
        return speed * slow + instance.noise

    @cache
    def best(progress, last, left):
        """Return the least volume from here, more than what is left if there is none."""
        if progress >= 1.0 - 1e-9:
            return 0
        least = left + 1
        for x in bundles:
            if x[r] < least:
                factor = 1.0 if last in (None, x) else instance.switching
                new = progress + factor * gain(x, progress)
                if new > progress:
                    least = min(least, x[r] + best(round(new, 12), x, least - x[r] - 1))
        return least

    return best(0.0, None, most)


@given(tapfinger_instances(capacity=3, clusters=2, noise=None))
@settings(max_examples=draws(40))
def test_least_volumes_are_those_of_all_sequences(instance):
    volumes = mixed_volumes(instance)
    for n, k in np.argwhere((instance.duration > 0).any(axis=(2, 3))).tolist():
        cpu, gpu = np.nonzero(instance.duration[n, k])
        for r, size in enumerate((cpu, gpu)):
            if size.min() == 0:
                assert volumes[n, k, r] == 0
                continue
            fixed = (size * instance.duration[n, k, cpu, gpu]).min()
            assert volumes[n, k, r] == volume_by_enumeration(instance, n, k, r, int(fixed))


@pytest.mark.parametrize(("switching", "least"), [(1.0, 19), (0.5, 20)])
def test_bundles_of_5_7_and_7_take_least(switching, least):
    instance = generate(tasks=4, law="sqrt", switching=switching)
    assert mixed_volumes(instance)[0].tolist() == [[8, 4], [4, least]]
    progress = 0.0
    for gpus in (5, 7, 7):
        progress += np.tanh(gpus / 16.0) * sqrt(1.2 - progress)
    assert progress >= 1.0
    assert (np.arange(1, 17) * instance.duration[0, 1, 2, 1:]).min() == 20


@given(
    st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.01, 3.0), st.floats(0.01, 3.0),
    st.floats(0.0, 1.0), st.booleans(),
)  # fmt: skip
def test_more_progress_or_speed_is_never_worse(low, high, slow, fast, factor, slowing):
    low, high = sorted((low, high))
    slow, fast = sorted((slow, fast))
    behind = low + largest_gain(slow, slowing, low, 0.1, factor)
    ahead = high + largest_gain(fast, slowing, high, 0.1, factor)
    assert min(1.0, ahead) >= min(1.0, behind) - 1e-12


@given(tapfinger_instances(noise=None))
@settings(max_examples=draws(40))
def test_mixing_never_takes_more(instance):
    problem = scheduling_problem(instance, duration=shortest_durations(instance))
    assert mixed_volume_bound(instance) + (instance.weight == 0).all() > 0.0
    assert mixed_volume_bound(instance) <= volume_bound(problem) + 1e-9


def test_a_volume_of_one_resource_may_be_nothing():
    instance = TapFingerInstance(
        capacity=[[2, 2]],
        minimum=[[0, 1]],
        speed=[[[0.0, 0.5, 0.5], [0.0, 0.5, 1.0], [0.0, 1.0, 1.0]]],
        arrival=[0],
        kind=[0],
        eligible=[[True]],
    )
    # Alone, 2 CPU cores and 1 GPU take a slot; without cores, 1 GPU takes two.
    assert mixed_volumes(instance).tolist() == [[[0, 1]]]
    assert mixed_volume_bound(instance) == 1.0
