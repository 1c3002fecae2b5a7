"""Families of small RESCUE instances in which a search may look for tight and false claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.rescue.reserved import ReservedLoad
from edgeopt.bounds.search.space import Parameter, ParameterSpace, row, values
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate

if TYPE_CHECKING:
    from collections.abc import Mapping


def few_slots(slots: int) -> ParameterSpace:
    """Return the instances of one server, few slots and one profile of one or two slots.

    In every slot the only device sends its task with a probability of its own. A task earns between
    0.01 and 100.
    """

    def build(point: Mapping[str, Any]) -> RescueInstance:
        return RescueInstance(
            arrival=np.array(values(point, "arrival"))[:, None],
            duration=np.array([[1.0 - point["long"], point["long"]]]),
            capacity=np.ones((1, slots)),
            reserved=ReservedTasks.none(),
            profit=np.array(values(point, "profit")).reshape(slots, 1, 1, 1, 1),
        )

    parameters = (
        Parameter("long", 0.0, 1.0, simple=1.0),
        *row("arrival", slots, 0.0, 1.0, simple=1.0),
        *row("profit", slots, 0.01, 100.0, simple=1.0, log=True),
    )
    return ParameterSpace(f"few_slots_{slots}", parameters, build, RescueInstance)


def _one_server(point: Mapping[str, Any]) -> RescueInstance:
    independent, arrival = point["independent"] == 1, np.array(values(point, "arrival"))
    arrival = arrival.reshape(2, 2)
    if not independent:  # the second device may send as far as the first one does not
        arrival[:, 1] *= 1.0 - arrival[:, 0]
    profit = np.array(values(point, "profit")).reshape(2, 2, 1, 1, 1)
    late = np.array(values(point, "late")).reshape(2, 1, 1, 1)
    reserved = ReservedTasks.none()
    if point["demand"] > 0:
        reserved = ReservedTasks(
            server=np.array([0]),
            start=np.array([point["start"]]),
            end=np.array([1]),
            demand=np.array([point["demand"]]),
        )
    return RescueInstance(
        arrival=arrival,
        duration=np.array([[1.0 - point["long"], point["long"]]]),
        capacity=np.ones((1, 2)),
        reserved=reserved,
        profit=np.concatenate([profit, profit * late[:, None]], axis=-1),
        arrivals="independent" if independent else "exclusive",
        beyond="drop" if point["dropped"] else "hold",
    )


ONE_SERVER = ParameterSpace(
    "one_server",
    (
        Parameter("independent", 0, 1, whole=True),
        Parameter("dropped", 0, 1, whole=True),
        Parameter("long", 0.0, 1.0),
        *row("arrival", 4, 0.0, 1.0),
        *row("profit", 4, 0.01, 100.0, simple=1.0, log=True),
        *row("late", 2, 0.0, 1.0, simple=1.0),
        Parameter("start", 0, 1, whole=True),
        Parameter("demand", 0.0, 2.0),
    ),
    _one_server,
    RescueInstance,
)
"""Two slots, two devices, runs of one or two slots, perhaps a reserved task; arrivals of both laws.

A run of two slots earns a part of what the task would earn within one, `late`, in each slot.
"""


def _steady(point: Mapping[str, Any]) -> RescueInstance:
    slots = point["slots"]
    law = np.zeros(slots)
    law[0] = 1.0 - point["long"]
    law[-1] += point["long"]
    return RescueInstance(
        arrival=np.full((slots, 1), point["arrival"]),
        duration=law[None],
        capacity=np.ones((1, slots)),
        reserved=ReservedTasks.none(),
        profit=np.ones((slots, 1, 1, 1, 1)),
    )


STEADY = ParameterSpace(
    "steady",
    (
        Parameter("slots", 2, 8, whole=True),
        Parameter("long", 0.0, 1.0, simple=0.5),
        Parameter("arrival", 0.0, 1.0, simple=1.0),
    ),
    _steady,
    RescueInstance,
)
"""The same task in every slot, with runs that last one slot or all of them."""


def _drawn(point: Mapping[str, Any]) -> RescueInstance:
    return generate(
        servers=point["servers"],
        devices=point["devices"],
        profiles=point["profiles"],
        horizon=point["horizon"],
        reserved=point["reserved"],
        rng=point["seed"],
    )


DRAWN = ParameterSpace(
    "drawn",
    (
        Parameter("servers", 1, 2, whole=True),
        Parameter("devices", 1, 2, whole=True),
        Parameter("profiles", 1, 2, whole=True),
        Parameter("horizon", 6, 12, whole=True),
        Parameter("reserved", 0, 2, whole=True),
        Parameter("seed", 0, 9999, whole=True),
    ),
    _drawn,
    RescueInstance,
)
"""Small draws in the paper's setting, with its physical profit."""


def _load(point: Mapping[str, Any]) -> ReservedLoad:
    start, end = np.array(values(point, "start")), np.array(values(point, "last"))
    tasks = ReservedTasks(
        server=np.zeros(2, dtype=int),
        start=np.minimum(start, end),
        end=np.maximum(start, end),
        demand=np.array(values(point, "demand")),
    )
    return ReservedLoad(np.ones((1, 2)), tasks)


LOADS = ParameterSpace(
    "loads",
    (
        *row("start", 2, 0, 1, whole=True),
        *row("last", 2, 0, 1, whole=True),
        *row("demand", 2, 0.1, 2.0, simple=1.0),
    ),
    _load,
    ReservedLoad,
)
"""Two reserved tasks on a server of two slots, which need not fit together."""

PARAMETER_SPACES = (few_slots(2), few_slots(3), ONE_SERVER, STEADY, DRAWN, LOADS)
"""In the order in which they are looked at."""
