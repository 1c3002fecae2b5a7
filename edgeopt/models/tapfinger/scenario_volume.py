"""How little of a resource a task can take in a scenario if its bundle may change in every slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.instances.tapfinger.durations import SLOWING, progress_gain
from edgeopt.instances.tapfinger.scenarios import BLOCK, noise_block, served
from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.volume import ENOUGH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST: Final = 128  # unit-slots up to which the least volume of a task is searched for


def more_is_better(instance: TapFingerInstance) -> bool:
    r"""Return whether more progress before a slot never leads to less after it, if below 1.

    Where :math:`p + v \sqrt{1.2 - p}` falls in p it is at least :math:`1 + v \sqrt{.2}`, which
    noise must not bring below 1.
    """
    assert instance.slowing is not None
    falling = 2.0 * np.sqrt(SLOWING - 1.0)  # speed from which on it falls somewhere
    fast = instance.speed[:, instance.slowing] > falling
    return bool(instance.noise <= falling * np.sqrt(SLOWING - 1.0) or not fast.any())


def least_work(instance: TapFingerInstance, scenario: int) -> tuple[Ints, Ints]:
    r"""Return the fewest slots and the fewest CPU-slots and GPU-slots of each task, [J], [J, 2].

    Pauses do not advance the noise :math:`U_i` of the i-th slot of service. With the most progress
    :math:`P_x(i, u)` after i slots of service and a volume u, the last bundle being x,

    .. math::
        P_x(i, u) = \max\{P_x(i-1, u-x) + g_x^+,\; \max_y P_y(i-1, u-x) + \sigma g_x^+\}, \qquad
        g_x^+ = \max(0, g_x(P) + \varepsilon U_i).

    The three need not be attained together. More progress must never be worse.
    """
    assert instance.slowing is not None
    quickest = np.zeros(instance.tasks, dtype=np.int64)
    volumes = np.zeros((instance.tasks, 2), dtype=np.int64)
    never = np.iinfo(np.int64).max
    blocks = range(-(-MOST // BLOCK))
    noise = np.hstack([noise_block(scenario, instance.tasks, block) for block in blocks])
    noise *= instance.noise
    for k, (task, place, slots) in enumerate(served(instance, scenario)):
        tables, of = np.unique(place.reshape(place.shape[0], -1), axis=0, return_inverse=True)
        found = np.full((tables.shape[0], task.size, 3), never)
        for c, table in enumerate(tables.reshape(-1, *place.shape[1:]) if task.size else ()):
            if (table < 0).all():
                continue
            found[c, :, 0] = slots[:, table[table >= 0]].min(axis=1)
            for r in range(2):
                best = table.max(axis=1 - r)  # the speeds ascend
                size = np.flatnonzero(best > np.maximum.accumulate(np.append(-1, best[:-1])))
                if size[0] == 0:
                    found[c, :, 1 + r] = 0
                    continue
                at = best[size]
                speed = np.unique(instance.speed[:, k][instance.duration[:, k] > 0])[at]
                found[c, :, 1 + r] = _volumes(
                    size, speed, bool(instance.slowing[k]), noise[task],
                    instance.switching, (slots[:, at] * size).min(axis=1),
                )  # fmt: skip
        offered = np.where(instance.eligible[task].T[:, :, None], found[np.ravel(of)], never)
        least = offered.min(axis=0, initial=never)
        quickest[task], volumes[task] = least[:, 0], least[:, 1:]
    return quickest, volumes


@compiled
def _grown(speed: float, slowing: bool, progress: float, noise: float, factor: float) -> float:
    """Return the progress after a slot."""
    return progress + factor * max(0.0, progress_gain(speed, slowing, progress) + noise)


@compiled(writes="fixed")
def _volumes(
    size: Ints, speed: Floats, slowing: bool, noise: Floats, switching: float, fixed: Ints
) -> Ints:
    """Return the least volume of each task, at most that with its best fixed bundle, or `MOST`."""
    for j in range(fixed.size):
        limit = min(fixed[j], noise.shape[1])
        held = np.full((limit + 1, size.size), -1.0)  # most progress by volume and last bundle
        for i in range(limit):
            most = np.full(limit + 1, -1.0)
            for u in range(limit + 1):
                most[u] = held[u].max()
            longer = np.full((limit + 1, size.size), -1.0)
            for x in range(size.size):
                for u in range(size[x], limit):
                    before = u - size[x]
                    reached = -1.0
                    if i == 0:
                        if before == 0:
                            reached = _grown(speed[x], slowing, 0.0, noise[j, 0], 1.0)
                    else:
                        if held[before, x] >= 0.0:
                            reached = _grown(speed[x], slowing, held[before, x], noise[j, i], 1.0)
                        if most[before] >= 0.0:
                            other = _grown(speed[x], slowing, most[before], noise[j, i], switching)
                            reached = max(reached, other)
                    longer[u, x] = reached
                    if reached >= ENOUGH:
                        limit = min(limit, u)
            held = longer
        fixed[j] = limit
    return fixed
