"""What the live page of RESCUE moves and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.live import Live, Slider
from edgeopt.studies.rescue.pictures import lanes
from edgeopt.studies.rescue.policies import ONLINE, SAFE

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance


def _load(instance: RescueInstance, scale: float) -> RescueInstance:
    return instance.replace(arrival=scale * instance.arrival)


def _reserved(instance: RescueInstance, scale: float) -> RescueInstance:
    from edgeopt.instances.rescue import ReservedTasks

    given = instance.reserved
    if scale == 0.0:
        return instance.replace(reserved=ReservedTasks.none())
    scaled = ReservedTasks(given.server, given.start, given.end, scale * given.demand)
    return instance.replace(reserved=scaled)


def _capacity(instance: RescueInstance, scale: float) -> RescueInstance:
    return instance.with_capacity(scale=scale)


def _columns(instance: RescueInstance) -> float:
    """Count the columns of the linear program."""
    return float(np.prod(instance.shape[:4]))


LIVE: Final = Live(
    sliders=(
        Slider("servers", "servers", 1, 8, 1, 4),
        Slider("load", "arrivals, times those of the instance", 0.1, 1.4, 0.1, 1.0, _load),
        Slider("reserved", "reserved work, times that of the instance", 0.0, 1.0, 0.1, 1.0,
               _reserved),
        Slider("capacity", "capacity, times that of the instance", 0.8, 2.0, 0.1, 1.0, _capacity),
    ),
    policies=("rescueplus+guard", "rescue+guard", "srs+guard", "random+guard", "rescue"),
    source="paper",
    fixed={"devices": 8, "profiles": 4, "horizon": 60},
    bound=SAFE,
    looser_than=(ONLINE,),
    columns=_columns,
    most=60_000,
    claim="rescue.value.published",
    lanes=lanes,
)  # fmt: skip
