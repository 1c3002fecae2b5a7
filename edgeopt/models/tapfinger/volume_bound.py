"""Lower bounds on flow times from the work of the tasks: all clusters as one fluid machine.

A second one holds when the bundle of a task may change while it runs.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.instances.tapfinger.durations import COMPLETE, progress_gain, shortest_durations
from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.problem import scheduling_problem

if TYPE_CHECKING:
    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.problem import SchedulingProblem


LEVELS: Final = 64  # most levels of weights that are examined one by one


def fastest(problem: SchedulingProblem) -> Ints:
    """Return the fewest slots in which each task can be run, anywhere, shape [J]."""
    never = np.iinfo(np.int64).max
    slots = np.where(problem.duration > 0, problem.duration, never).min(axis=(2, 3))
    return _least(problem, slots)


def least_volumes(problem: SchedulingProblem) -> Ints:
    """Return the fewest CPU-slots and the fewest GPU-slots that each task holds, shape [J, 2].

    Each is the least over all bundles and clusters; no single bundle need attain both.
    """
    never = np.iinfo(np.int64).max
    sizes = np.indices(problem.duration.shape[2:])
    volume = [
        np.where(problem.duration > 0, problem.duration * size, never).min(axis=(2, 3))
        for size in sizes
    ]
    return np.stack([_least(problem, one) for one in volume], axis=1)


def _least(problem: SchedulingProblem, value: Ints) -> Ints:
    """Return the least value among the clusters on which each task may run, shape [J]."""
    never = np.iinfo(np.int64).max
    return np.asarray(np.where(problem.eligible, value.T[problem.kind], never).min(axis=1))


def trivial_bound(problem: SchedulingProblem) -> float:
    """Bound the weighted sum of flow times by what every task takes when it is alone."""
    return float(problem.weight @ fastest(problem))


def volume_bound(problem: SchedulingProblem) -> float:
    """Bound the weighted sum of flow times of every schedule that changes no bundle.

    Of one resource, all clusters are put together, and every task takes as little of it as it can,
    as fast as it likes: then the task with the least work left goes first. See `fluid_bound`.

    Notes
    -----
    Policies that change the bundles of running tasks can fall below this: a mix of bundles may
    take less than any one of them.
    """
    rate = problem.capacity.sum(axis=0) - problem.occupied.sum(axis=1)
    volumes, quickest = least_volumes(problem), fastest(problem)
    total = problem.capacity.sum(axis=0)
    bounds = [
        fluid_bound(problem.arrival, problem.weight, volumes[:, r], quickest, rate[:, r], total[r])
        for r in range(2)
    ]
    return max(bounds)


def fluid_bound(
    arrival: Ints, weight: Floats, work: Ints, quickest: Ints, rate: Ints, full: int
) -> float:
    r"""Bound the weighted sum of flow times on one machine that may interrupt at will.

    Serving the least remaining work first completes as many tasks by any time as can be (Schrage,
    1968), and by time t no more are complete than have had the time; what is in the system is what
    remains. With weights this is done for the tasks of at least each weight u, and

    .. math:: \sum_j w_j F_j = \int_0^\infty \sum_{j: w_j \ge u} F_j \, du.

    Each integrand is bounded by itself, so that the sum is a bound but not the best weighted
    schedule of the machine.
    """
    levels = np.unique(weight[weight > 0])
    if levels.size > LEVELS:  # leaving levels out rounds weights down
        levels = levels[np.linspace(0, levels.size - 1, LEVELS).astype(np.int64)]
    value, below, rate = 0.0, 0.0, np.ascontiguousarray(rate)
    for level in levels.tolist():
        chosen = weight >= level
        ready = np.sort(arrival[chosen] + quickest[chosen])
        flow = _fluid_flow(arrival[chosen], work[chosen], ready, rate, int(full))
        value += (level - below) * flow
        below = level
    return value


@compiled
def _fluid_flow(arrival: Ints, work: Ints, ready: Ints, rate: Ints, full: int) -> int:
    """Return the least sum of flow times, in whole slots; both arrivals and ends ascend."""
    tasks = arrival.size
    left = [work[0]]  # a heap of remaining work
    left.pop()
    known, early, complete, flow, slot = 0, 0, 0, 0, arrival[0]
    while complete < tasks or early < tasks:
        while known < tasks and arrival[known] <= slot:
            heapq.heappush(left, work[known])
            known += 1
        flow += known - min(complete, early)
        amount = rate[slot] if slot < rate.size else full
        while len(left) > 0 and left[0] <= amount:
            amount -= heapq.heappop(left)
            complete += 1
        if len(left) > 0 and amount > 0:
            heapq.heappush(left, heapq.heappop(left) - amount)
        slot += 1
        while early < tasks and ready[early] <= slot:
            early += 1
    return flow


ENOUGH = COMPLETE - 1e-9
"""Progress that counts as complete in bounds: less than the environment requires."""


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

    Returns
    -------
    Volumes, shape [N, K, 2]; the two need not be attained together. A large number where a cluster
    cannot hold the task.

    Notes
    -----
    With ``speed = tanh(g / 16)`` that slows down, bundles of 5, 7 and 7 GPUs take 19 GPU-slots, and
    every fixed bundle takes at least 20, if switching costs nothing.
    """
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
    """
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
