"""Drawing instances on which most claims about OINC can be computed exactly."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.oinc import OincInstance, generate
from edgeopt.instances.oinc.special import small as tiny

__all__ = ["small"]


def small(seed: int) -> OincInstance:
    """Draw a small instance: in the paper's setting, or in numbers of order one."""
    draw = np.random.default_rng((seed, 1))
    if seed % 2:
        return tiny(draw)
    return generate(
        rng=draw,
        sites=int(draw.integers(1, 4)),
        devices=int(draw.integers(1, 4)),
        slots=int(draw.integers(2, 6)),
        jobs=int(draw.integers(1, 4)),
    )
