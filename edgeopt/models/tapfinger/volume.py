"""Lower bounds on flow times from the work of the tasks: all clusters as one fluid machine."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["fastest", "fluid_bound", "least_volumes", "trivial_bound", "volume_bound"]

LEVELS: Final = 64
"""Most levels of weights that are looked at one by one."""


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
    """Bound the weighted sum of flow times by what every task takes when it is alone.

    Parameters
    ----------
    problem
        The tasks.
    """
    assert problem.weight is not None
    return float(problem.weight @ fastest(problem))


def volume_bound(problem: SchedulingProblem) -> float:
    """Bound the weighted sum of flow times of every schedule that changes no bundle.

    Of one resource, all clusters are put together, and every task takes as little of it as it can,
    as fast as it likes: then the task with the least work left goes first. See `fluid_bound`.

    Parameters
    ----------
    problem
        The tasks.

    Notes
    -----
    Policies that change the bundles of running tasks can fall below this: a mix of bundles may
    take less than any one of them.
    """
    assert problem.occupied is not None
    assert problem.weight is not None
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
