"""Drawing instances on which most claims about TapFinger can be computed exactly."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.tapfinger import TapFingerInstance, generate
from edgeopt.instances.tapfinger.special import small as tiny

__all__ = ["small"]


def small(seed: int) -> TapFingerInstance:
    """Draw a small instance: in the paper's setting, or in speeds drawn for every bundle."""
    draw = np.random.default_rng((seed, 1))
    if seed % 2:
        return tiny(draw)
    return generate(
        rng=draw,
        clusters=int(draw.integers(1, 3)),
        tasks=int(draw.integers(1, 4)),
        single_start=bool(draw.integers(2)),
        capacity=draw.integers(2, 4, 2),
    )
