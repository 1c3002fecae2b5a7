"""What a task takes at least when its bundle may change while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.tapfinger.durations import shortest_durations
from edgeopt.instances.tapfinger.laws import COMPLETE, progress_gain
from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.problem import scheduling_problem
from edgeopt.models.tapfinger.volume import fastest, fluid_bound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["ENOUGH", "largest_gain", "mixed_volume_bound", "mixed_volumes"]

ENOUGH = COMPLETE - 1e-9
"""Progress that passes for complete in bounds: less than the environment asks for."""


@compiled
def largest_gain(
    speed: float, slowing: bool, progress: float, noise: float, factor: float
) -> float:
    """Return the most by which progress can grow in a slot, whatever the noise.

    More progress is never worse: where ``p + v sqrt(1.2 - p)`` falls in p, it is above 1 already.
    Least volumes and prices of tasks rest on that.
    """
    return factor * (progress_gain(speed, slowing, min(progress, 1.0)) + noise)


@compiled(writes="speed")
def _least_volume(
    size: Ints, speed: Floats, slowing: bool, noise: float, switching: float, limit: int
) -> int:
    """Return the least sum of sizes over the slots of a task, at most the limit."""
    bundles = size.size
    # Most progress with a volume, for each bundle that may have been the last, and for any.
    held = np.full((limit + 1, bundles), -1.0)
    most = np.full(limit + 1, -1.0)
    for volume in range(1, limit + 1):
        for x in range(bundles):
            before = volume - size[x]
            if before == 0:  # it begins with this bundle, which costs nothing
                held[volume, x] = largest_gain(speed[x], slowing, 0.0, noise, 1.0)
            elif before > 0:
                kept, other = held[before, x], most[before]
                if kept >= 0.0:
                    kept += largest_gain(speed[x], slowing, kept, noise, 1.0)
                if other >= 0.0:
                    other += largest_gain(speed[x], slowing, other, noise, switching)
                held[volume, x] = max(kept, other)
            most[volume] = max(most[volume], held[volume, x])
        if most[volume] >= ENOUGH:
            return volume
    return limit


def mixed_volumes(instance: TapFingerInstance) -> Ints:
    r"""Return the fewest CPU-slots and GPU-slots with which a kind of task can be complete.

    The bundle may change in every slot, at the cost of switching, and the noise is as kind as it
    can be. Of one resource and a volume u of it, the most progress with the last bundle x is

    .. math::
        P_x(u) = \max\{P_x(u - x) + g_x(P_x(u - x)),\;
                       \max_y P_y(u - x) + \sigma g_x(\max_y P_y(u - x))\},

    since more progress is never worse; :math:`\sigma` is what switching leaves of a slot.

    Parameters
    ----------
    instance
        The instance.

    Returns
    -------
    Volumes, shape [N, K, 2]; the two need not be attained together. A large number where a cluster
    cannot hold the task.

    Notes
    -----
    With ``speed = tanh(g / 16)`` that slows down, bundles of 5, 7 and 7 GPUs take 19 GPU-slots, and
    every fixed bundle takes at least 20, if switching costs nothing.
    """
    assert instance.slowing is not None
    never = np.iinfo(np.int64).max
    allowed = instance.duration > 0
    volumes = np.full((instance.clusters, instance.task_kinds, 2), never)
    for n, k in np.argwhere(allowed.any(axis=(2, 3))).tolist():
        speed = np.where(allowed[n, k], instance.speed[n, k], 0.0)
        for r in range(2):
            best = speed.max(axis=1 - r)  # whatever the other resource
            size = np.flatnonzero(best > np.maximum.accumulate(np.append(0.0, best[:-1])))
            if size[0] == 0:
                volumes[n, k, r] = 0
                continue
            slots = np.where(allowed[n, k], instance.duration[n, k], never).min(axis=1 - r)
            fixed = int((size * slots[size]).min())
            volumes[n, k, r] = _least_volume(
                size, best[size], bool(instance.slowing[k]), instance.noise, instance.switching,
                fixed,
            )  # fmt: skip
    return volumes


def mixed_volume_bound(instance: TapFingerInstance) -> float:
    """Bound the weighted sum of flow times of every run, preemption and noise included.

    As `volume_bound`, with the least volumes of tasks whose bundles may change.

    Parameters
    ----------
    instance
        The instance.
    """
    assert instance.weight is not None
    problem = scheduling_problem(instance, duration=shortest_durations(instance))
    volumes = mixed_volumes(instance)[:, instance.kind]
    never = np.iinfo(np.int64).max
    least = np.where(instance.eligible.T[:, :, None], volumes, never).min(axis=0)
    total, nothing = instance.capacity.sum(axis=0), np.zeros(0, dtype=np.int64)
    bounds = [
        fluid_bound(
            instance.arrival, instance.weight, least[:, r], fastest(problem), nothing, total[r]
        )
        for r in range(2)
    ]
    return max(bounds)
