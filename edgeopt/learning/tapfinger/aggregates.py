"""What the critic of policy optimisation reads: sums over the tasks of each cluster."""

from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.tapfinger.policies.efficient_bundles import slots_left

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.online.tapfinger.kernels import State

SOON: Final = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24])
"""Slots within which running tasks are counted with what they hold."""

COMING: Final = np.array([1, 2, 4, 8, 16, 32])
"""Slots within which tasks that are to arrive are counted."""

_QUEUE, _SERVED, _MOST, _LONG = 20.0, 8.0, 60, 50.0  # what counts and slots are divided by
_FIRST = 6  # numbers of a cluster before those by kind


def aggregates(state: State, *, told: bool) -> NDArray[np.float32]:
    """Return what the critic reads of scenarios side by side, shape [E, N, F].

    That is of each cluster what is free, waits and runs there, by kind and by slots in service;
    the mean of that over the clusters; and what waits anywhere. If the critic is `told`, running
    tasks are counted by the slots that they still take without noise, and tasks that are to arrive
    by when they do.
    """
    (E, N), K = state.cluster.shape, state.kind.shape[1]
    own = np.zeros((E, N, _FIRST + 3 * K + 3 * SOON.size + 1))
    whole = np.zeros((E, 2 + K + told * K * (COMING.size + 1)))
    _fill(state, told, SOON, COMING, own, whole)
    everywhere = np.broadcast_to(own.mean(1, keepdims=True), own.shape)
    beside = np.broadcast_to(whole[:, None], (E, N, whole.shape[1]))
    return np.concatenate([own, everywhere, beside], -1).astype(np.float32)


@compiled(writes="own whole")
def _fill(state: State, told: bool, soon: Ints, coming: Ints, own: Floats, whole: Floats) -> None:
    """Add up what there is of each scenario, and of each of its clusters."""
    (count, clusters), kinds = state.cluster.shape, state.kind.shape[1]
    for e in range(count):
        scenario = state.scenario[e]
        whole[e, 0], whole[e, 1] = scenario.active / _QUEUE, min(scenario.number, 20) / 10.0
        for n in range(clusters):
            cluster = state.cluster[e, n]
            for r in range(2):
                own[e, n, r] = cluster.free[r] / max(cluster.capacity[r], 1)
            own[e, n, 2], own[e, n, 3] = cluster.waiting / _QUEUE, log1p(cluster.waiting)
            own[e, n, 4], own[e, n, 5] = cluster.size / 10.0, 1.0 * cluster.started
        for j in range(scenario.arrived):
            if not state.waits[e, j]:
                continue
            kind, choice = state.task[e, j].kind, max(state.task[e, j].choice, 1)
            whole[e, 2 + kind] += 1.0 / _QUEUE
            for n in range(clusters):
                if state.eligible[e, j, n]:
                    own[e, n, _FIRST + kind] += 1.0 / _QUEUE
                    own[e, n, _FIRST + kinds + kind] += 1.0 / (_QUEUE * choice)
        for i in range(scenario.active):
            task = state.task[e, state.active[e, i]]
            n, cpu, gpu = task.cluster, task.bundle[0], task.bundle[1]
            capacity = state.cluster[e, n].capacity
            slots = scenario.slot - task.start
            if told:
                speed = state.speed[scenario.table, n, task.kind, cpu, gpu]
                slots = slots_left(speed, state.kind[e, task.kind].slowing, task.progress, _MOST)
            own[e, n, _FIRST + 2 * kinds + task.kind] += 1.0 / _SERVED
            own[e, n, -1] += slots / _LONG
            for h in range(soon.size):
                if slots <= soon[h]:
                    at = _FIRST + 3 * kinds + 3 * h
                    own[e, n, at] += cpu / max(capacity[0], 1)
                    own[e, n, at + 1] += gpu / max(capacity[1], 1)
                    own[e, n, at + 2] += 1.0 / _SERVED
        if not told:
            continue
        for j in range(scenario.arrived, scenario.tasks):
            task = state.task[e, j]
            at = 2 + kinds + task.kind * (coming.size + 1)
            for h in range(coming.size):
                if task.arrival - scenario.slot <= coming[h]:
                    whole[e, at + h] += 1.0 / (2.0 * coming[h] + 2.0)
            whole[e, at + coming.size] += 1.0
        for k in range(kinds):
            at = 2 + kinds + k * (coming.size + 1) + coming.size
            whole[e, at] = log1p(whole[e, at]) / 4.0
