from __future__ import annotations

import numpy as np

from edgeopt.instances.oinc import small


def test_small_instances_are_small_and_varied():
    drawn = [small(seed) for seed in range(60)]
    for name, least, most in (("slots", 1, 3), ("devices", 1, 3), ("sites", 1, 3), ("jobs", 0, 3)):
        sizes = [getattr(instance, name) for instance in drawn]
        assert (min(sizes), max(sizes)) == (least, most)
    alone = [
        (i.transmission_seconds + i.computation_seconds).min(axis=2)[i.active] <= i.slo[i.active]
        for i in drawn
    ]
    assert 0.6 < np.concatenate(alone).mean() < 1
    assert drawn[3] == small(3)
