"""Instances of RESCUE in other units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.instances.rescue import ReservedTasks

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance

POWERS = (2.0**-40, 2.0**40)


def scaled(instance: RescueInstance, *, profit: float = 1.0, work: float = 1.0) -> RescueInstance:
    """Write profits in another unit, and all work."""
    tasks = instance.reserved
    return instance.replace(
        profit=instance.realised_profit * profit,
        capacity=instance.capacity * work,
        reserved=ReservedTasks(tasks.server, tasks.start, tasks.end, tasks.demand * work),
    )
