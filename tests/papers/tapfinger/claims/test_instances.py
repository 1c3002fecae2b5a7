"""The instances of the claims are what their descriptions say."""

from __future__ import annotations

import numpy as np
import pytest
from edgeopt_papers.tapfinger.claims.instances import mixed_bundles


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
