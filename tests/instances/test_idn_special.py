from __future__ import annotations

import numpy as np
import pytest

from edgeopt.instances.idn import small


@pytest.mark.parametrize("own_cost", [False, True])
def test_small_instances_are_small_and_various(own_cost):
    seen = set()
    useful = 0
    for seed in range(200):
        instance = small(seed, own_cost=own_cost)
        sizes = (instance.nodes, instance.tasks, instance.models, instance.types, instance.horizon)
        assert all(n <= most for n, most in zip(sizes, (5, 3, 6, 4, 4), strict=True))
        assert instance.path[:, 0].min() >= 1  # requests enter outside the repository
        assert (instance.cost is not None) == own_cost
        seen.add(sizes)
        ranking = instance.ranking
        gains = ranking.cost < ranking.repository_cost[ranking.type]
        useful += bool((gains & instance.active[ranking.node]).any())
    assert len(seen) > 100
    assert useful > 120
    assert small(3) == small(np.random.default_rng(3))
