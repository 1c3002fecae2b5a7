"""What missed objectives cost, smoothly: what a site counts with while the insertion actor learns.

A site whose objectives do not fit together answers at least one request late. The count of late
requests has no slope, so training takes a smooth function of the stretch in its place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot.resource_shares import stretch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MISSED: Final = 3.0
"""What a missed objective counts with in the reward of Zeng et al., s."""

FULL: Final = 0.985
"""Stretch of a site from which objectives count as missed."""

STEEP: Final = 40.0
"""How sharply."""

SOFT: Final = 0.7
"""Missed objectives by that."""

MANY: Final = 12.0
"""Missed objectives of a site from which further ones count less."""

FLATTER: Final = 0.25
"""How much they count then; if they did not at all, crowded sites would draw all requests."""


@compiled(both=True)
def strained(sending: float, computing: float, a: float, c: float, e: float) -> float:
    """Return what a site of these sums counts with: its latencies, and objectives missed, s."""
    above = STEEP * (stretch(a, c, e, 1.0) - FULL)
    late = SOFT * (max(above, 0.0) + math.log1p(math.exp(-abs(above))))
    if late > MANY:
        late = MANY + FLATTER * (late - MANY)
    return sending * sending + computing * computing + MISSED * late
