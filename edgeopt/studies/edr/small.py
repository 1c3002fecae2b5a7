"""Drawing instances on which most claims about EDR can be computed exactly."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.edr import EdrInstance, generate
from edgeopt.instances.edr.special import small as tiny

__all__ = ["small"]


def small(seed: int) -> EdrInstance:
    """Draw a small instance: in the paper's setting, of order one, or as the theory assumes."""
    from edgeopt.bounds.edr.families import steady

    draw = np.random.default_rng((seed, 1))
    kind = seed % 3
    if kind == 1:
        return tiny(draw)
    if kind == 2:
        return steady(int(draw.integers(2**32)))
    return generate(
        rng=draw,
        sites=int(draw.integers(1, 4)),
        tasks=int(draw.integers(1, 4)),
        frames=int(draw.integers(2, 5)),
        slots=int(draw.integers(1, 3)),
        types=int(draw.integers(1, 3)),
        clients=4,
    )
