"""The offline optimum as a shortest path, proven by its potentials."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies import Benchmark

if TYPE_CHECKING:
    from sixth_system.instance import BatchInstance


def optimum(instance: BatchInstance) -> Benchmark:
    """Return the least cost, with a lower bound that is verified independently.

    A day is a path through the ends of slots: the edge from s to t + 1 means that one batch in slot
    t serves all requests since s. Distances from the start are potentials: if the potential rises
    along no edge by more than the edge costs, no path is shorter than the last potential.
    """
    began = time.perf_counter()
    edge = _edges(instance)
    distance = np.zeros(len(edge) + 1)
    came_from = np.zeros(len(edge) + 1, dtype=int)
    for t in range(len(edge)):
        arrive = distance[: t + 1] + edge[: t + 1, t]
        came_from[t + 1] = arrive.argmin()
        distance[t + 1] = arrive.min()
    plan, t = [], len(edge)
    while t > 0:
        if instance.requests[came_from[t] : t].any():
            plan.append(t - 1)
        t = came_from[t]
    value = cost(instance, plan)
    excess = (distance[np.newaxis, 1:] - distance[:-1, np.newaxis] - edge).max()
    bound = float(distance[-1] - len(edge) * max(excess, 0.0))
    gap = abs(bound - value) / max(1.0, abs(value))
    took = time.perf_counter() - began
    return Benchmark(value, bound, gap, took, "shortest path", "proven by potentials", plan[::-1])


def cost(instance: BatchInstance, launches: list[int]) -> float:
    """Return the cost of a day with batches in these slots, added up slot by slot."""
    total, waiting = 0.0, 0
    for slot, new in enumerate(instance.requests.tolist()):
        waiting += new
        if slot in launches or (slot == len(instance.requests) - 1 and waiting):
            total, waiting = total + instance.launch, 0
        total += waiting
    return total


def _edges(instance: BatchInstance) -> np.ndarray:
    """Cost of every edge from s to t + 1, infinite where t < s, shape [T, T]."""
    slots = np.arange(instance.requests.size)
    count = np.concatenate([[0], np.cumsum(instance.requests)])
    moment = np.concatenate([[0], np.cumsum(slots * instance.requests)])
    served = count[np.newaxis, 1:] - count[:-1, np.newaxis]
    waits = slots * served - (moment[np.newaxis, 1:] - moment[:-1, np.newaxis])
    price = np.where(served > 0, instance.launch + waits, 0.0)
    return np.where(slots[:, np.newaxis] <= slots, price, np.inf)
