"""Laws of progress, the durations that follow from them, and scenarios of the noise."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.instances.validate import frozen
from edgeopt.kernels import compiled
from edgeopt.options import check_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from edgeopt.arrays import Flags
    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger.instance import TapFingerInstance


COMPLETE: Final = 1.0 - 1e-9
"""Progress at which a task is complete: 1, less what rounding may take from a sum of gains."""

ENOUGH: Final = COMPLETE - 1e-9
"""Progress that counts as complete in bounds: less than the environment requires."""

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
def largest_gain(
    speed: float, slowing: bool, progress: float, noise: float, factor: float
) -> float:
    """Return the most by which progress can grow in a slot, whatever the noise.

    More progress is never worse: where ``p + v sqrt(1.2 - p)`` falls in p, it is above 1 already.
    Least volumes and prices of tasks rest on that.
    """
    return factor * (progress_gain(speed, slowing, min(progress, 1.0)) + noise)


@compiled
def _solo(speed: float, slowing: bool) -> int:
    progress = 0.0
    for slots in range(1, _NEVER + 1):
        progress += progress_gain(speed, slowing, progress)
        if progress >= COMPLETE:
            return slots
    return 0


def solo_durations(speed: Floats, slowing: Flags) -> Ints:
    """Return how many slots a task takes with one bundle from beginning to end, without noise."""
    return _by_speed(speed, slowing, _solo).astype(np.int64)


_POINTS: Final = (2048, 262_144)  # fewest and most points of progress
_PER_NOISE: Final = 64  # points within the noise


def expected_durations(instance: TapFingerInstance) -> Floats:
    r"""Return how many slots a task takes on average with one bundle from beginning to end.

    With progress p, law g and noise U, uniform between plus and minus the noise of the instance,
    the mean number h(p) of slots still to come obeys

    .. math:: h(p) = 1 + \mathrm{E}\, h(p + \max(0, g(p) + U)), \qquad h(p) = 0
              \text{ for } p \ge 1 .

    It is solved from p = 1 down on an even grid, integrating h as linear between the points.

    Parameters
    ----------
    instance
        The instance.

    Returns
    -------
    Slots, shape [N, K, A, B], 0 where the bundle is not allowed; exactly ``instance.duration``
    without noise. The error is below 0.001 slots for a noise from 0.0001 on and durations of up to
    100 slots, as refining the grid shows; it may reach a slot for a noise below 0.000001.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import expected_durations, small
    >>> expected_durations(small(0)).shape
    (3, 2, 4, 4)
    """
    noise = instance.noise
    if noise == 0.0:
        return frozen(instance.duration.astype(np.float64))
    points = min(max(_POINTS[0], ceil(_PER_NOISE / noise)), _POINTS[1])

    def mean(speed: float, slowing: bool) -> float:
        left = np.empty(points + 1)
        _fill_left(speed, slowing, noise, left)
        return float(left[0])

    # Rounded, so that what takes equally long comes out equal.
    return frozen(np.asarray(np.round(_table(instance, mean), 6), dtype=np.float64))


def shortest_durations(instance: TapFingerInstance) -> Ints:
    r"""Return the fewest slots in which a task may be complete with one bundle, by its noise.

    They are those of the largest noise in every slot. For with progress p a slot leads to
    :math:`p + g(p)` but for the noise, which is concave in p and above 1 for p = 1: wherever it is
    below 1 it grows with p, so that less progress never leads to more.

    Parameters
    ----------
    instance
        The instance.

    Returns
    -------
    Slots, shape [N, K, A, B], 0 where the bundle is not allowed; exactly ``instance.duration``
    without noise.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import shortest_durations, small
    >>> shortest_durations(small(0)).shape
    (3, 2, 4, 4)
    """
    if instance.noise == 0.0:
        return instance.duration

    def least(speed: float, slowing: bool) -> int:
        return int(_fewest(speed, slowing, instance.noise))

    return frozen(_table(instance, least).astype(np.int64))


def longest_durations(instance: TapFingerInstance) -> Ints:
    """Return slots in which a task is complete with one bundle whatever its noise, [N, K, A, B].

    They are 0 where the bundle is not allowed, and a million where there is no such number.
    """
    if instance.noise == 0.0:
        return instance.duration

    def most(speed: float, slowing: bool) -> int:
        return int(_most(speed, slowing, instance.noise))

    return frozen(_table(instance, most).astype(np.int64))


def _table(instance: TapFingerInstance, slots: Callable[[float, bool], float]) -> NDArray[Any]:
    """Work out the slots that a task takes with each bundle that a cluster can give."""
    found = _by_speed(instance.speed, instance.slowing, slots)
    return np.where(instance.duration > 0, found, 0.0)


def _by_speed(speed: Floats, slowing: Any, slots: Callable[[float, bool], float]) -> Floats:
    """Work out a number of slots for each speed, once for equal ones; 0 where there is none."""
    table = np.zeros(speed.shape)
    for k, slows in enumerate(slowing.tolist()):
        speeds, place = np.unique(speed[:, k], return_inverse=True)
        found = [slots(one, slows) if one > 0 else 0.0 for one in speeds.tolist()]
        table[:, k] = np.array(found)[place.reshape(table[:, k].shape)]
    return table


@compiled
def _fewest(speed: float, slowing: bool, noise: float) -> int:
    progress, slots = 0.0, 0
    while progress < ENOUGH:
        progress += progress_gain(speed, slowing, progress) + noise
        slots += 1
    return slots


@compiled
def _most(speed: float, slowing: bool, noise: float) -> int:
    progress, end = 0.0, 1.0 + progress_gain(speed, slowing, 1.0)
    for slots in range(1, _NEVER):
        least = min(progress_gain(speed, slowing, progress), end - progress) - noise
        if least <= 0.0:
            break
        progress += least
        if progress >= COMPLETE:
            return slots
    return _NEVER


@compiled
def _integral(start: float, left: Floats, sums: Floats) -> float:
    """Integrate what is known from a progress up to 1."""
    last = left.size - 1
    if start >= 1.0:
        return 0.0
    i = int(start * last)
    part = start * last - i
    here = left[i] + part * (left[i + 1] - left[i])
    return float(sums[i + 1] + (1.0 - part) / last * (here + left[i + 1]) / 2.0)


@compiled(writes="left")
def _fill_left(speed: float, slowing: bool, noise: float, left: Floats) -> None:
    """Fill in the mean number of slots to come at each progress of the grid."""
    last = left.size - 1
    step = 1.0 / last
    density = 1.0 / (2.0 * noise)
    sums = np.zeros(left.size, dtype=np.float64)  # integral from a point of the grid up to 1
    # Just below 1, any progress completes the task.
    still = max(0.0, (noise - progress_gain(speed, slowing, 1.0)) * density)
    left[last] = 1.0 / (1.0 - still)
    for i in range(last - 1, -1, -1):
        progress = i * step
        gain = progress_gain(speed, slowing, progress)
        low, high = max(0.0, gain - noise), gain + noise
        # Slots to come at this point weigh in as far as the task stays in this cell of the grid.
        own = max(0.0, noise - gain) * density
        known = 0.0
        if low < step:
            end = min(high, step)
            near, far = 1.0 - low / step, 1.0 - end / step
            own += density * step * (near * near - far * far) / 2.0
            known = step * left[i + 1] * ((near - far) - (near * near - far * far) / 2.0)
        if high > step:
            known += _integral(progress + max(low, step), left, sums) - _integral(
                progress + high, left, sums
            )
        left[i] = (1.0 + density * known) / (1.0 - own)
        sums[i] = sums[i + 1] + step * (left[i] + left[i + 1]) / 2.0


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

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import scenario_durations, small
    >>> scenario_durations(small(0), 0).shape
    (3, 3, 4, 4)
    """
    check_whole("scenario", scenario)
    if instance.noise == 0.0:
        return frozen(instance.duration[:, instance.kind])
    table = np.zeros((instance.clusters, instance.tasks, *instance.speed.shape[2:]), dtype=np.int64)
    for task, place, slots in served(instance, int(scenario)):
        taken = slots.T[np.maximum(place, 0)]  # [N, A, B, j]
        table[:, task] = np.where(place[..., None] < 0, 0, taken).transpose(0, 3, 1, 2)
    return frozen(table)
