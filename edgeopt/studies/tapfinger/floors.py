"""What no policy can go below, task by task and slot by slot."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.studies.result import Case

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["fewest_in_system", "fluid_completions", "shortest_flow_times"]


def shortest_flow_times(case: Case) -> Floats:
    """Return a number of slots below which no policy can bring a flow time, shape [J].

    Each task has its fastest bundle from its arrival on, and all the noise on its side.
    """
    return case.once(_shortest)


def _shortest(case: Case) -> Floats:
    from edgeopt.instances.tapfinger.durations import shortest_durations
    from edgeopt.models.tapfinger import scheduling_problem
    from edgeopt.models.tapfinger.volume import fastest

    instance: TapFingerInstance = case.instance
    duration = shortest_durations(instance)
    return fastest(scheduling_problem(instance, duration=duration)).astype(float)


def fluid_completions(arrival: Ints, work: Ints, rate: int, slots: int) -> Ints:
    """Return the most tasks that can be complete when each slot begins, shape [slots].

    One machine does a rate of work per slot and may interrupt at will: with the least remaining
    work first it has completed as many tasks as can be, at any time.

    Schrage: A proof of the optimality of the shortest remaining processing time discipline, 1968.
    """
    left: list[int] = []
    known = complete = 0
    found = np.zeros(slots, dtype=np.int64)
    for slot in range(slots):
        found[slot] = complete
        while known < arrival.size and arrival[known] <= slot:
            heapq.heappush(left, int(work[known]))
            known += 1
        amount = rate
        while left and left[0] <= amount:
            amount -= heapq.heappop(left)
            complete += 1
        if left:
            heapq.heapreplace(left, left[0] - amount)
    return found


def fewest_in_system(case: Case, slots: int) -> Ints:
    """Return a number of tasks that every policy has in the system at least, shape [slots].

    No task is complete before it has had its shortest flow time; and of one resource, all clusters
    together cannot complete more tasks than one machine that serves the least remaining work
    first, each task taking as little of the resource as any mix of bundles allows.
    """
    from edgeopt.models.tapfinger.volume import mixed_volumes

    instance: TapFingerInstance = case.instance
    at = np.arange(slots)
    known = np.searchsorted(instance.arrival, at, side="right")
    ready = np.sort(instance.arrival + shortest_flow_times(case))
    complete = np.searchsorted(ready, at, side="right")
    volumes = mixed_volumes(instance)
    for resource in range(2):
        offered = np.where(instance.eligible, volumes[:, instance.kind, resource].T, volumes.max())
        rate = int(instance.capacity[:, resource].sum())
        most = fluid_completions(instance.arrival, offered.min(axis=1), rate, slots)
        complete = np.minimum(complete, most)
    return np.asarray(known - complete)
