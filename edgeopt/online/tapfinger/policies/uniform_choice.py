"""A random pending task for every cluster, one cluster after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["name_tasks"]


@compiled
def name_tasks(
    coins: Floats, pending: Ints, free: Ints, kind: Ints, minimum: Ints, largest: tuple[int, int],
    smallest: bool,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Return the task that each cluster starts, -1 for none, shape [N], and its bundle, [N, 2]."""
    clusters, places = pending.shape
    task, bundle = np.full(clusters, -1), np.zeros((clusters, 2), np.int64)
    chosen = np.full(clusters, -1)
    for n in range(clusters):
        count = 0
        while count < places and pending[n, count] >= 0:
            count += 1
        if count == 0:
            continue
        j = pending[n, int(coins[n, 0] * count)]
        taken = False
        for before in range(n):
            taken |= chosen[before] == j
        if taken:
            continue
        chosen[n] = j
        least_cpu, least_gpu = minimum[kind[j], 0], minimum[kind[j], 1]
        cpus = min(free[n, 0], largest[0]) - least_cpu + 1
        gpus = min(free[n, 1], largest[1]) - least_gpu + 1
        if cpus <= 0 or gpus <= 0:
            continue
        pick = 0
        if not smallest:
            pick = int(coins[n, 1] * (cpus * gpus + 1)) - 1
        if pick >= 0:
            task[n] = j
            bundle[n, 0] = least_cpu + pick // gpus
            bundle[n, 1] = least_gpu + pick % gpus
    return task, bundle
