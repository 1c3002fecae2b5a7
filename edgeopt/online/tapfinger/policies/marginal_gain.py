"""Units of resources go one by one to whichever task they shorten most for what it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["GAIN", "hand_out_by_gain"]

GAIN: Final = 1e-9
"""Slots that count as no gain, so that rounding in a flat table does not hand anything out."""


@compiled(writes="bundle")
def hand_out_by_gain(
    slots: Floats, kind: Ints, remaining: Floats, bundle: Ints, cpus: int, gpus: int
) -> None:
    """Enlarge bundles, unit by unit, as long as that shortens a task.

    Each unit goes where the expected slots fall most for one unit more, divided by the units of
    that resource that the task has, at least 1. Of equals the first task and CPU cores come first.
    """
    left = (cpus, gpus)
    while True:
        best, at, resource = GAIN, -1, -1
        for i in range(kind.size):
            cpu, gpu = bundle[i, 0], bundle[i, 1]
            now = slots[kind[i], cpu, gpu]
            for r in range(2):
                more_cpu, more_gpu = cpu + (r == 0), gpu + (r == 1)
                if left[r] <= 0 or more_cpu >= slots.shape[1] or more_gpu >= slots.shape[2]:
                    continue
                gain = remaining[i] * (now - slots[kind[i], more_cpu, more_gpu])
                gain /= max(bundle[i, r], 1)
                if gain > best:
                    best, at, resource = gain, i, r
        if at < 0:
            return
        bundle[at, resource] += 1
        left = (left[0] - (resource == 0), left[1] - (resource == 1))
