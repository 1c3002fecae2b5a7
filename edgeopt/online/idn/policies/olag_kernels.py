"""Compiled loops of OLAG: what passed a node, and what it chooses for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["choose", "count"]

ROUNDING = 1e-12
"""Share of a budget by which sums of sizes may miss it."""


@compiled(writes="counters")
def count(
    first: Ints,
    position: Ints,
    load: Floats,
    longest: int,
    forwarded: bool,
    option: Ints,
    type_: Ints,
    counters: Floats,
) -> None:
    """Add to each counter the requests of its type that reached its node, or went on from there.

    Requests that are served at a position of the path have reached all positions up to it.
    """
    reached = np.zeros((first.size - 1, longest + 1))
    for rho in range(first.size - 1):
        for o in range(first[rho], first[rho + 1]):
            reached[rho, position[o]] += load[o]
        for j in range(longest - 1, -1, -1):
            reached[rho, j] += reached[rho, j + 1]
    for u in range(option.size):
        o = option[u]
        counters[u] += reached[type_[o], position[o] + 1 if forwarded else position[o]]


@compiled(writes="left allocation")
def choose(
    first: Ints,
    group_type: Ints,
    node_first: Ints,
    model: Ints,
    quality: Floats,
    capacity: Floats,
    request_task: Ints,
    task: Ints,
    size: Floats,
    budget: Floats,
    shared: bool,
    left: Floats,
    allocation: Bools,
) -> None:
    """Pick models for every node by importance; `left` holds the counters and is used up.

    The factor 1/R of the importance is the same for all and left out. Ties go to the smallest
    model.
    """
    worth = np.empty(task.size)
    for v in range(budget.size):
        low, high = node_first[v], node_first[v + 1]
        if low == high:
            continue
        worth[:] = 0.0
        for g in range(low, high):
            _add_worth(first, g, model, quality, capacity, left, worth)
        room, slack = budget[v], ROUNDING * budget[v]
        while True:
            best, most = -1, 0.0
            for m in range(task.size):
                if worth[m] > 0.0 and not allocation[v, m] and size[v, m] <= room + slack:
                    importance = worth[m] / size[v, m]
                    if importance > most:
                        best, most = m, importance
            if best < 0:
                break
            allocation[v, best] = True
            room -= size[v, best]
            for m in range(task.size):
                if task[m] == task[best]:
                    worth[m] = 0.0
            for g in range(low, high):
                if request_task[group_type[g]] == task[best]:
                    _take(first, g, model, quality, capacity, best, shared, left)
                    _add_worth(first, g, model, quality, capacity, left, worth)


@compiled(writes="worth")
def _add_worth(
    first: Ints,
    group: int,
    model: Ints,
    quality: Floats,
    capacity: Floats,
    left: Floats,
    worth: Floats,
) -> None:
    """Add what each model would save on the counted requests of one type."""
    for u in range(first[group], first[group + 1]):
        worth[model[u]] += quality[u] * min(left[u], capacity[u])


@compiled(writes="left")
def _take(
    first: Ints,
    group: int,
    model: Ints,
    quality: Floats,
    capacity: Floats,
    best: int,
    shared: bool,
    left: Floats,
) -> None:
    """Take the requests that a pick serves off its counter and off those of lesser models."""
    pick = -1
    for u in range(first[group], first[group + 1]):
        if model[u] == best:
            pick = u
    if pick < 0:
        return
    taken = min(left[pick], capacity[pick])
    for u in range(first[group], first[group + 1]):
        lesser = quality[u] < quality[pick] or (shared and quality[u] == quality[pick])
        if u == pick or lesser:
            left[u] = max(0.0, left[u] - taken)
