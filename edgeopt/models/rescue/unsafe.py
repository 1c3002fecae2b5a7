"""Runs that no schedule may start without failing a reserved task, and slots that it may not touch.

Where the reserved tasks inside an interval need all that it offers, no retraining run may touch it
with positive probability. An interior-point method has no interior there, so these critical slots
are decided beforehand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.edf import edf_feasible, edf_order, edf_serve, interval_loads
from edgeopt.kernels import compiled
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance


def unsafe_cells(instance: RescueInstance) -> NDArray[np.bool_]:
    """Tell which runs are unsafe even on a server that has served nothing but reserved tasks.

    Parameters
    ----------
    instance
        What is given.

    Returns
    -------
    Shape [T, K, L]; True where a run of profile l that starts in slot t and takes its longest time
    makes the reserved tasks of server k infeasible although the server served them, earliest
    deadline first, with all its capacity in the slots before t.

    Notes
    -----
    The test is the one of the guarded policies, with the same tolerance: with another tolerance the
    relaxation without these cells would not bound what guarded policies earn.
    """
    reserved, capacity = instance.reserved, instance.capacity
    unsafe = np.zeros((instance.horizon, instance.servers, instance.profiles), dtype=np.bool_)
    order, offset = edf_order(reserved.server, reserved.end, instance.servers)
    for k in range(instance.servers):
        tasks = order[offset[k] : offset[k + 1]]
        if tasks.size:
            _mark_server(
                tasks,
                reserved.start,
                reserved.end,
                reserved.demand,
                reserved.demand.copy(),
                capacity[k],
                instance.longest,
                unsafe,
                k,
            )
    return unsafe


@compiled(writes="remaining capacity unsafe")
def _mark_server(
    order: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    demand: NDArray[np.float64],
    remaining: NDArray[np.float64],
    capacity: NDArray[np.float64],
    longest: NDArray[np.int64],
    unsafe: NDArray[np.bool_],
    server: int,
) -> None:
    for t in range(capacity.size):
        for profile in range(longest.size):
            free = t + longest[profile]
            unsafe[t, server, profile] = not edf_feasible(
                order, start, end, demand, remaining, capacity, t, free
            )
        edf_serve(order, start, end, remaining, t, capacity[t])


def critical_slots(instance: RescueInstance) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find the intervals that reserved tasks fill, but for the share `TIGHT` of what they offer."""
    reserved = instance.reserved
    slots = np.zeros(instance.capacity.shape, dtype=np.bool_)
    tasks = np.zeros(len(reserved), dtype=np.bool_)
    for k in range(instance.servers):
        own = reserved.of_server(k)
        loads = interval_loads(
            reserved.start[own], reserved.end[own], reserved.demand[own], instance.capacity[k]
        )
        for load in loads:
            if load.offer - load.demand <= TIGHT * load.offer:
                slots[k, load.first : load.last + 1] = True
                tasks[own[list(load.tasks)]] = True
    return slots, tasks


def touching(instance: RescueInstance, slots: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which runs may be running in one of the given slots [K, T]; shape [T, K, L]."""
    servers, horizon = slots.shape
    ahead = np.concatenate([np.zeros((servers, 1)), np.cumsum(slots, axis=1)], axis=1)
    out = np.empty((horizon, servers, instance.profiles), dtype=np.bool_)
    for profile, longest in enumerate(instance.longest):
        until = np.minimum(np.arange(horizon) + longest, horizon)
        out[:, :, profile] = (ahead[:, until] > ahead[:, :horizon]).T
    return out
