"""Families of small RESCUE instances in which a search may look for tight and false claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.search import Family, Parameter
from edgeopt.instances.rescue import RescueInstance, ReservedTasks

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAMILIES", "few_slots"]


def few_slots(slots: int = 2, devices: int = 2) -> Family:
    """Return the instances of one server, few slots and one profile of one or two slots.

    In every slot each device sends its task with a probability of its own, as far as the devices
    before it leave one, and else nobody does. A task earns between 0.01 and 100.

    Parameters
    ----------
    slots
        Number of slots T.
    devices
        Number of devices that send tasks.
    """
    parameters = [Parameter("long", 0.0, 1.0, simple=1.0)]
    for t in range(slots):
        for d in range(devices):
            parameters.append(Parameter(f"arrival_{t}_{d}", 0.0, 1.0))
            parameters.append(Parameter(f"digits_{t}_{d}", -2.0, 2.0, simple=0.0))

    def build(point: Mapping[str, Any]) -> RescueInstance:
        arrival, profit = np.zeros((slots, devices + 1)), np.zeros((slots, devices + 1, 1, 1, 1))
        for t in range(slots):
            left = 1.0
            for d in range(devices):
                arrival[t, d] = left * point[f"arrival_{t}_{d}"]
                left -= arrival[t, d]
                profit[t, d] = 10.0 ** point[f"digits_{t}_{d}"]
            arrival[t, devices] = left
        return RescueInstance(
            arrival=arrival,
            duration=np.array([[1.0 - point["long"], point["long"]]]),
            capacity=np.ones((1, slots)),
            reserved=ReservedTasks.none(),
            profit=profit,
        )

    return Family(f"few_slots_{slots}_{devices}", tuple(parameters), build)


FAMILIES = {"two_slots": few_slots(2, 1), "three_slots": few_slots(3, 1)}
"""Families by name."""
