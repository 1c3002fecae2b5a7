"""What a bundle costs beside its time: it keeps others waiting."""

from __future__ import annotations

from math import frexp, ldexp
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.options import check_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["LIGHTEST", "check_pressure", "choices", "crowding", "rank"]

LIGHTEST: Final = 1e-280
"""Weights below this count as this much, so that bundles are told apart without weight as well."""

_DIGITS: Final = 40


def check_pressure(pressure: float) -> None:
    """Check how much others that wait count."""
    check_real("pressure", pressure, "[0, inf)")


@compiled
def choices(pending: Ints, eligible: Flags) -> Ints:
    """Return on how many clusters each pending task may run, shape [N, P]; 0 for an empty place."""
    count = np.zeros(pending.shape, np.int64)
    for n in range(pending.shape[0]):
        for i in range(pending.shape[1]):
            if pending[n, i] >= 0:
                for m in range(eligible.shape[1]):
                    count[n, i] += eligible[pending[n, i], m]
    return count


@compiled
def crowding(crowd: Ints) -> float:
    """Return how many tasks wait for a cluster, one that may run on m clusters as 1 / m."""
    total = 0.0
    for m in range(1, crowd.size):
        if crowd[m] > 0:
            total += crowd[m] / m
    return total


@compiled
def rank(cost: float, weight: float) -> float:
    """Return the cost per weight to forty binary digits, so that rounding breaks no tie."""
    mantissa, exponent = frexp(cost / max(weight, LIGHTEST))
    return ldexp(np.rint(ldexp(mantissa, _DIGITS)), exponent - _DIGITS)
