"""Instances of RESCUE in other units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.rescue import ReservedTasks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.instances.rescue import RescueInstance

POWERS = (2.0**-40, 2.0**40)


def scaled(
    instance: RescueInstance, *, profit: float = 1.0, work: ArrayLike = 1.0
) -> RescueInstance:
    """Write an instance in other units: `work` is a number for all servers or one for each."""
    factor = np.broadcast_to(work, instance.servers)
    tasks = instance.reserved
    demand = tasks.demand * factor[tasks.server]
    return instance.replace(
        profit=instance.realised_profit * profit,
        capacity=instance.capacity * factor[:, None],
        reserved=ReservedTasks(tasks.server, tasks.start, tasks.end, demand),
    )
