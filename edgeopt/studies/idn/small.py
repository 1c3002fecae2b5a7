"""Drawing networks on which nearly every claim about IDN can be computed exactly."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.idn import IdnInstance, generate
from edgeopt.instances.idn.special import small as tiny

__all__ = ["small"]


def small(seed: int) -> IdnInstance:
    """Draw a small network: in the paper's setting, of whole sizes, or of those that all fit."""
    from edgeopt.bounds.idn.families import fitting, one_node

    draw = np.random.default_rng((seed, 1))
    kind = seed % 4
    if kind == 0:
        return generate(
            rng=draw,
            topology=2,
            tasks=1,
            replicas=1,
            horizon=int(draw.integers(1, 5)),
            rate=float(draw.integers(1, 10)) / 60.0,
        )
    if kind == 1:
        return tiny(draw)
    return (fitting if kind == 2 else one_node)(int(draw.integers(2**32)))
