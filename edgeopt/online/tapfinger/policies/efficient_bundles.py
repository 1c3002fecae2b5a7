"""What a scheduler expects of tasks: efficient bundles, their slots, and their price."""

from __future__ import annotations

from math import frexp, ldexp
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

import numpy as np

from edgeopt.instances.tapfinger.durations import COMPLETE, progress_gain
from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.programs import efficient

if TYPE_CHECKING:
    from edgeopt.instances.fields import Flags, Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance


ROUNDING: Final = 1e-9
"""What rounding may add to a duration of whole slots."""

Information = Literal["durations", "nothing"]
"""What a scheduler knows beforehand: how long kinds of tasks take with bundles, or not even that.

All of them know clusters, kinds, and smallest and largest bundles.
"""

LEAST_LOOK: Final = 30
"""Slots that are planned ahead at least."""


class Estimates(NamedTuple):
    """Durations of tasks on every cluster, by bundle; none is larger and slower than another."""

    instance: TapFingerInstance
    first: Ints  # cluster n and kind k: first[n * K + k]..first[n * K + k + 1]-1; [N * K + 1]
    bundle: Ints  # CPU cores and GPUs, [B, 2]
    duration: Floats  # slots that a task takes with it on average, [B]
    slots: Ints  # the same, rounded up to whole slots, [B]
    share: Floats  # largest part of a resource of the cluster that it takes, [B]

    @property
    def ahead(self) -> int:
        """Slots to plan ahead: twice the longest duration, and no fewer than `LEAST_LOOK`."""
        return max(LEAST_LOOK, 2 * int(self.slots.max()))


def mean_durations(instance: TapFingerInstance) -> Floats | Ints:
    """Return the mean number of slots of a task, shape [N, K, A, B]; 0 where it does not fit."""
    if instance.noise == 0.0:
        return instance.duration
    from edgeopt.instances.tapfinger.durations import expected_durations

    return expected_durations(instance)


def estimates(instance: TapFingerInstance) -> Estimates:
    """Return what is expected of the tasks of an instance."""
    return estimates_from(instance, mean_durations(instance))


def estimates_from(
    instance: TapFingerInstance, duration: Floats | Ints, early: float = ROUNDING
) -> Estimates:
    """Return what is expected if tasks take so many slots, shape [N, K, A, B]; 0 for never."""
    # Comparisons are all that is done with the durations there.
    kept = efficient(cast("Ints", duration))
    slots = np.asarray(kept.duration, dtype=np.float64)
    capacity = instance.capacity.repeat(
        np.diff(kept.first).reshape(instance.clusters, -1).sum(axis=1), axis=0
    )
    share = (kept.bundle / np.maximum(capacity, 1)).max(axis=1)
    return Estimates(instance, kept.first, kept.bundle, slots, whole_slots(slots, early), share)


def whole_slots(duration: Floats | Ints, early: float = ROUNDING) -> Ints:
    """Return durations less a little, rounded up to whole slots."""
    return np.asarray(np.ceil(duration - early).astype(np.int64))


@compiled
def slots_left(speed: float, slowing: bool, progress: float, most: int) -> int:
    """Return how many slots a task still takes without noise, at most so many."""
    slots = 0
    while progress < COMPLETE and slots < most:
        progress += progress_gain(speed, slowing, progress)
        slots += 1
    return slots


@compiled(writes="progress speed")
def all_slots_left(
    cluster: Ints, bundle: Ints, progress: Floats, task: Ints, kind: Ints, speed: Floats,
    slowing: Flags, most: int,
) -> Ints:  # fmt: skip
    """Return how many slots each running task still takes without noise, at most so many, [m]."""
    left = np.empty(cluster.size, dtype=np.int64)
    for i in range(cluster.size):
        n, k, cpu, gpu = cluster[i], kind[task[i]], bundle[i, 0], bundle[i, 1]
        left[i] = slots_left(speed[n, k, cpu, gpu], slowing[k], progress[i], most)
    return left


def coming_outages(instance: TapFingerInstance, slot: int, look: int) -> Flags:
    """Return whether clusters are down in the coming slots, as far as any is, shape [N, l]."""
    if instance.outage is None:
        return np.zeros((instance.clusters, 0), dtype=np.bool_)
    return np.ascontiguousarray(instance.outage[:, slot : slot + look])


@compiled
def freed(
    free: Ints, cluster: Ints, bundle: Ints, left: Ints, look: int, down: Flags, capacity: Ints
) -> Ints:
    """Return what is free in the coming slots if nothing is started, shape [N, look, 2].

    A running task holds its bundle for as many slots as are `left` of it, an outage its cluster.
    """
    clusters = free.shape[0]
    ahead = np.zeros((clusters, look, 2), dtype=np.int64)
    for i in range(cluster.size):
        if left[i] < look:
            for r in range(2):
                ahead[cluster[i], left[i], r] += bundle[i, r]
    for n in range(clusters):
        for r in range(2):
            held = free[n, r]
            if down.shape[1] > 0 and down[n, 0]:
                held = capacity[n, r]
            for t in range(look):
                held += ahead[n, t, r]
                ahead[n, t, r] = 0 if t < down.shape[1] and down[n, t] else held
    return ahead


@compiled(writes="progress speed", both=True)
def free_ahead(
    free: Ints, cluster: Ints, bundle: Ints, progress: Floats, task: Ints, kind: Ints,
    speed: Floats, slowing: Flags, look: int, down: Flags, capacity: Ints,
) -> Ints:  # fmt: skip
    """Return what is free in the coming slots if nothing is started, from what is left of tasks."""
    left = all_slots_left(cluster, bundle, progress, task, kind, speed, slowing, look)
    return freed(free, cluster, bundle, left, look, down, capacity)


LIGHTEST: Final = 1e-280
"""Weights below this count as this much, so that bundles differ in cost without weight, too."""

_DIGITS: Final = 40

CLOSE: Final = 1.0 + 2.0**-36
"""Costs that are further apart than by this factor have ranks in the same order."""


@compiled
def choices(pending: Ints, eligible: Flags) -> Ints:
    """Return on how many clusters each pending task may run, shape [N, P]; 0 for an empty place."""
    count = np.zeros(pending.shape, dtype=np.int64)
    known = np.empty(eligible.shape[0], dtype=np.int64)
    for j in pending.flat:
        if j >= 0:
            known[j] = 0
    for n in range(pending.shape[0]):
        for i in range(pending.shape[1]):
            j = pending[n, i]
            if j < 0:
                continue
            if known[j] == 0:
                for m in range(eligible.shape[1]):
                    known[j] += eligible[j, m]
            count[n, i] = known[j]
    return count


@compiled
def widths(crowd: Ints) -> Ints:
    """Return the numbers m for which tasks wait that may run on m clusters, then 0, [N, N + 1]."""
    found = np.zeros(crowd.shape, dtype=np.int64)
    for n in range(crowd.shape[0]):
        count = 0
        for m in range(1, crowd.shape[1]):
            if crowd[n, m] > 0:
                found[n, count] = m
                count += 1
    return found


@compiled
def crowding(crowd: Ints, width: Ints) -> float:
    """Return how many tasks wait for a cluster, one that may run on m clusters as 1 / m."""
    total = 0.0
    for m in width:
        if m == 0:
            break
        if crowd[m] > 0:
            total += crowd[m] / m
    return total


@compiled
def rank(cost: float, weight: float) -> float:
    """Return the cost per weight to forty binary digits, so that rounding breaks no tie."""
    mantissa, exponent = frexp(cost / max(weight, LIGHTEST))
    return ldexp(np.rint(ldexp(mantissa, _DIGITS)), exponent - _DIGITS)
