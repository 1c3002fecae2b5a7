"""Slots in which reserved work leaves no room at all.

Where the tasks inside an interval need all that it offers, no retraining run may touch it with
positive probability. An interior-point method has no interior there, so these slots are decided
beforehand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.edf import interval_loads
from edgeopt.solvers import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance

__all__ = ["critical_slots", "touching"]


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
