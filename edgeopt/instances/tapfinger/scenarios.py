"""Scenarios of the noise: what disturbs every slot of service, and the durations that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.instances.tapfinger.durations import COMPLETE, progress_gain
from edgeopt.instances.validate import frozen
from edgeopt.kernels import compiled
from edgeopt.options import check_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger.instance import TapFingerInstance

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

BLOCK: Final = 64
"""Slots of service of all tasks for which the noise is drawn at a time."""


def noise_block(scenario: int, tasks: int, block: int) -> Floats:
    """Return the noise of a block of slots of service, in [-1, 1], shape [J, `BLOCK`].

    Entry [j, i] disturbs slot ``block * BLOCK + i`` in which task j is served, whatever the policy.
    """
    rng = np.random.default_rng([scenario, block])
    return rng.uniform(-1.0, 1.0, size=(tasks, BLOCK))


class Served(NamedTuple):
    """Slots that the tasks of a kind take in a scenario, by speed."""

    task: Ints  # the tasks, shape [j]
    place: Ints  # which of the speeds a cluster offers with a bundle, -1 for none, shape [N, A, B]
    slots: Ints  # slots of service until a task is complete at a speed, shape [j, V]


def served(instance: TapFingerInstance, scenario: int) -> Iterator[Served]:
    """Yield the realised durations of the tasks of each kind, each speed once."""
    assert instance.slowing is not None
    kinds = range(instance.task_kinds)
    tasks = [np.flatnonzero(instance.kind == k) for k in kinds]
    speeds, places, slots, progress = [], [], [], []
    for k in kinds:
        allowed = instance.duration[:, k] > 0
        speed, at = np.unique(instance.speed[:, k][allowed], return_inverse=True)
        place = np.full(allowed.shape, -1)
        place[allowed] = at
        speeds.append(speed)
        places.append(place)
        slots.append(np.zeros((tasks[k].size, speed.size), dtype=np.int64))
        progress.append(np.zeros((tasks[k].size, speed.size)))
    open_kinds, block = [k for k in kinds if tasks[k].size], 0
    while open_kinds:
        noise = instance.noise * noise_block(scenario, instance.tasks, block)
        block += 1
        open_kinds = [
            k
            for k in open_kinds
            if _serve(speeds[k], bool(instance.slowing[k]), noise[tasks[k]], progress[k], slots[k])
        ]
    for k in kinds:
        yield Served(tasks[k], places[k], slots[k])


@compiled(writes="progress slots")
def _serve(speed: Floats, slowing: bool, noise: Floats, progress: Floats, slots: Ints) -> int:
    """Serve tasks for a block of slots at every speed; return how many are not complete."""
    left = 0
    for j in range(noise.shape[0]):
        for v in range(speed.size):
            done = progress[j, v]
            for i in range(noise.shape[1]):
                if done >= COMPLETE:
                    break
                done += max(0.0, progress_gain(speed[v], slowing, done) + noise[j, i])
                slots[j, v] += 1
            progress[j, v] = done
            left += done < COMPLETE
    return left


def scenario_durations(instance: TapFingerInstance, scenario: int) -> Ints:
    r"""Return how many slots every task takes in a scenario if its bundle never changes.

    With the noise :math:`U_{ji}` of the i-th slot in which task j is served, progress is

    .. math:: p_i = p_{i-1} + \max(0, g(p_{i-1}) + \varepsilon U_{ji}), \qquad p_0 = 0,

    and the task is complete when it reaches 1. The noise depends on the scenario alone, so the
    duration depends on cluster and bundle, but neither on the start nor on the policy.

    Parameters
    ----------
    instance
        The instance.
    scenario
        One of `TapFingerTrajectory.scenarios`, or any other number from 0 on.

    Returns
    -------
    Slots, shape [N, J, A, B], a kind for every task; 0 where the bundle is not allowed. Those of
    ``instance.duration`` where there is no noise.

    Raises
    ------
    OptionError
        If the scenario is not a whole number from 0 to 2**63 - 1.
    """
    check_whole("scenario", scenario)
    if instance.noise == 0.0:
        return frozen(instance.duration[:, instance.kind])
    table = np.zeros((instance.clusters, instance.tasks, *instance.speed.shape[2:]), dtype=np.int64)
    for task, place, slots in served(instance, int(scenario)):
        taken = slots.T[np.maximum(place, 0)]  # [N, A, B, j]
        table[:, task] = np.where(place[..., None] < 0, 0, taken).transpose(0, 3, 1, 2)
    return frozen(table)
