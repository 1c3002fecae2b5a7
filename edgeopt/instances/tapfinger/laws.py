"""How a task makes progress with what it is given, and how long it takes."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMPLETE: Final = 1.0 - 1e-9
"""Progress at which a task is complete: 1, less what rounding may take from a sum of gains."""

SLOWING: Final = 1.2
"""Constant of the law of slowing progress, whose gain would vanish at this progress."""

_NEVER: Final = 1_000_000
"""Slots after which a task that is still not complete is taken for one that never will be."""


@compiled(both=True)
def progress_gain(speed: float, slowing: bool, progress: float) -> float:
    """Return the progress of a slot without noise."""
    if slowing:
        return speed * sqrt(max(0.0, SLOWING - progress))
    return speed


@compiled
def _solo(speed: float, slowing: bool, progress: float) -> int:
    for slots in range(1, _NEVER + 1):
        progress += progress_gain(speed, slowing, progress)
        if progress >= COMPLETE:
            return slots
    return 0


@compiled(writes="slots")
def _fill(speed: NDArray[np.float64], slowing: NDArray[np.bool_], slots: NDArray[np.int64]) -> None:
    clusters, kinds, cpus, gpus = speed.shape
    for n in range(clusters):
        for k in range(kinds):
            known_speed, known = -1.0, 0
            for cpu in range(cpus):
                for gpu in range(gpus):
                    if speed[n, k, cpu, gpu] <= 0.0:
                        continue
                    if speed[n, k, cpu, gpu] != known_speed:
                        known_speed = speed[n, k, cpu, gpu]
                        known = _solo(known_speed, slowing[k], 0.0)
                    slots[n, k, cpu, gpu] = known


def solo_durations(speed: NDArray[np.float64], slowing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many slots a task takes with one bundle from beginning to end, without noise."""
    slots = np.zeros(speed.shape, dtype=np.int64)
    _fill(speed, slowing, slots)
    return slots
