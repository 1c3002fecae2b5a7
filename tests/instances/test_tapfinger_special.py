"""The named instances are what their descriptions say."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.instances.tapfinger import mixed_bundles, small


def after(instance, progress, gpus):
    slow = np.sqrt(np.maximum(0.0, 1.2 - progress)) if instance.slowing[0] else 1.0
    return progress + instance.speed[0, 0, 2, gpus] * slow


@pytest.mark.parametrize(("law", "fixed", "mixed"), [("sqrt", 20, 19), ("constant", 17, 17)])
def test_bundles_that_change_need_fewer_gpu_slots(law, fixed, mixed):
    instance = mixed_bundles(law)
    slots = instance.duration[0, 0, 2, 1:8]
    assert min(gpus * d for gpus, d in enumerate(slots.tolist(), start=1)) == fixed
    # Progress after every sequence of bundles that comes to so many GPU-slots.
    found = [np.zeros(1)]
    while found[-1].max() < 1 - 1e-9:
        used = len(found)
        ends = [after(instance, found[used - g], g) for g in range(1, min(used, 7) + 1)]
        found.append(np.concatenate(ends))
    assert len(found) - 1 == mixed
    if law == "sqrt":
        assert slots.tolist() == [21, 10, 7, 5, 4, 4, 3]
        steps = np.zeros(4)
        for t, gpus in enumerate((5, 7, 7)):
            steps[t + 1] = after(instance, steps[t], gpus)
        assert steps[2] < 1 <= steps[3]
    assert mixed_bundles(law, 16).capacity.tolist() == [[2, 16]]


def test_small_instances_differ_and_stay_small():
    instances = [small(seed) for seed in range(200)]
    assert small(3) == small(3)
    assert small(3) == small(np.random.default_rng(3))
    assert len(set(instances)) == 200
    for field, sizes in (("clusters", 3), ("tasks", 4), ("task_kinds", 2)):
        assert {getattr(instance, field) for instance in instances} == set(range(1, sizes + 1))
    assert all(instance.largest == (3, 3) for instance in instances)
    assert max(instance.duration.max() for instance in instances) <= 5
    assert {instance.single_start for instance in instances} == {True, False}
