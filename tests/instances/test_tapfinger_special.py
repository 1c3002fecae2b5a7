"""Small random instances are what their description says."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.tapfinger import small


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
