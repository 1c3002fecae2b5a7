from __future__ import annotations

import numpy as np

from edgeopt.instances.edr import small
from edgeopt.instances.edr.random_parts import reference
from tests.draws import LEAN


def test_small_instances_have_a_bit_of_everything():
    seen = dict.fromkeys(("capped", "free", "idle", "pruned", "crowded", "tight"), 0)
    seeds = 60 if LEAN else 200
    for seed in range(seeds):
        instance = small(seed)
        assert instance.frames <= 3
        assert instance.slots <= 2
        assert instance.sites <= 3
        assert instance.tasks <= 3
        assert instance.types <= 2
        assert instance == small(np.random.default_rng(seed))
        usual = reference(instance)
        seen["capped"] += np.isfinite(instance.cap).any()
        seen["free"] += np.isinf(instance.cap).any()
        seen["tight"] += (instance.cap < usual.inference).any()
        seen["idle"] += instance.tasks == 0
        local = (instance.requests @ instance.request_work).max(axis=(0, 1))
        seen["crowded"] += (local > instance.capacity).any()
        for t, d in np.ndindex(instance.frames, instance.slots):
            seconds = instance.request_seconds(t, d)
            route = (seconds <= instance.slo[t, d]) & instance.capable
            assert route.any(axis=1).all()
            seen["pruned"] += (instance.capable & (seconds > instance.slo[t, d])).any()
    assert min(seen.values()) > 0.1 * seeds, seen
    assert seen["pruned"] > 0.75 * seeds, seen
