"""Drawing instances on which every claim about RESCUE can be computed exactly."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.rescue import RescueInstance, generate
from edgeopt.instances.rescue import small as tiny

__all__ = ["small"]


def small(seed: int) -> RescueInstance:
    """Draw a small instance: of the paper, or of whole sizes with arrivals of both kinds."""
    draw = np.random.default_rng((seed, 1))
    if seed % 3:
        return tiny(draw, arrivals="independent" if seed % 3 == 2 else "exclusive")
    return generate(
        rng=draw,
        servers=int(draw.integers(1, 3)),
        devices=int(draw.integers(1, 3)),
        profiles=int(draw.integers(1, 3)),
        horizon=int(draw.integers(3, 5)),
        reserved=int(draw.integers(0, 3)),
        shortest=1,
        longest=3,
    )
