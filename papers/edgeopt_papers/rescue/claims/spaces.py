"""Spaces of small instances in which claims of RESCUE are searched for the tightest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.search.space import Parameter, ParameterSpace, row, values
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate
from edgeopt_papers.claims.paper import space
from edgeopt_papers.rescue.claims.instances import (
    ReservedLoad,
    one_server,
    risky_runs,
    tempting_runs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def _few_slots(point: Mapping[str, Any]) -> RescueInstance:
    profit = np.array(values(point, "profit"))
    return one_server(
        arrival=np.array(values(point, "arrival"))[:, None],
        profit=profit[:, None],
        duration=[1.0 - point["long"], point["long"]],
    )


def few_slots(slots: int) -> ParameterSpace:
    """Return the instances of one server, few slots and one profile of one or two slots.

    In every slot the only device sends its task with a probability of its own. A task earns between
    0.01 and 100.
    """
    parameters = (
        Parameter("long", 0.0, 1.0, simple=1.0),
        *row("arrival", slots, 0.0, 1.0, simple=1.0),
        *row("profit", slots, 0.01, 100.0, simple=1.0, log=True),
    )
    return ParameterSpace(f"few_slots_{slots}", parameters, _few_slots, RescueInstance)


@space(
    "one_server",
    RescueInstance,
    Parameter("independent", 0, 1, whole=True),
    Parameter("dropped", 0, 1, whole=True),
    Parameter("long", 0.0, 1.0),
    *row("arrival", 4, 0.0, 1.0),
    *row("profit", 4, 0.01, 100.0, simple=1.0, log=True),
    *row("late", 2, 0.0, 1.0, simple=1.0),
    Parameter("start", 0, 1, whole=True),
    Parameter("demand", 0.0, 2.0),
)
def _two_devices(point: Mapping[str, Any]) -> RescueInstance:
    """Return two slots, two devices, runs of one or two slots, perhaps a reserved task.

    Arrivals of both distributions.

    A run of two slots earns a part of what the task would earn within one, `late`, in each slot.
    """
    independent, arrival = point["independent"] == 1, np.array(values(point, "arrival"))
    arrival = arrival.reshape(2, 2)
    if not independent:  # the second device may send as far as the first one does not
        arrival[:, 1] *= 1.0 - arrival[:, 0]
    profit = np.array(values(point, "profit")).reshape(2, 2, 1, 1, 1)
    late = np.array(values(point, "late")).reshape(2, 1, 1, 1)
    demand = point["demand"]
    return one_server(
        arrival=arrival,
        profit=np.concatenate([profit, profit * late[:, None]], axis=-1),
        duration=[1.0 - point["long"], point["long"]],
        reserved=(point["start"], 1, demand) if demand > 0 else None,
        arrivals="independent" if independent else "exclusive",
        beyond="drop" if point["dropped"] else "hold",
    )


@space(
    "steady",
    RescueInstance,
    Parameter("slots", 2, 8, whole=True, count=True),
    Parameter("long", 0.0, 1.0, simple=0.5),
    Parameter("arrival", 0.0, 1.0, simple=1.0),
)
def _steady(point: Mapping[str, Any]) -> RescueInstance:
    """Return the same task in every slot, with runs that last one slot or all of them."""
    slots = point["slots"]
    distribution = np.zeros(slots)
    distribution[0] = 1.0 - point["long"]
    distribution[-1] += point["long"]
    arrival = np.full((slots, 1), point["arrival"])
    return one_server(arrival=arrival, profit=np.ones((slots, 1)), duration=distribution)


@space(
    "drawn",
    RescueInstance,
    Parameter("servers", 1, 2, whole=True, count=True),
    Parameter("devices", 1, 2, whole=True, count=True),
    Parameter("profiles", 1, 2, whole=True, count=True),
    Parameter("horizon", 6, 12, whole=True, count=True),
    Parameter("reserved", 0, 2, whole=True, count=True),
    Parameter("seed", 0, 9999, whole=True),
)
def _drawn(point: Mapping[str, Any]) -> RescueInstance:
    """Return small draws in the paper's setting, with its physical profit."""
    return generate(**{"rng" if name == "seed" else name: value for name, value in point.items()})


@space(
    "loads",
    ReservedLoad,
    *row("start", 2, 0, 1, whole=True),
    *row("last", 2, 0, 1, whole=True),
    *row("demand", 2, 0.1, 2.0, simple=1.0),
)
def _load(point: Mapping[str, Any]) -> ReservedLoad:
    """Return two reserved tasks on a server of two slots, which need not fit together."""
    start, end = np.array(values(point, "start")), np.array(values(point, "last"))
    tasks = ReservedTasks(
        server=np.zeros(2, dtype=int),
        start=np.minimum(start, end),
        end=np.maximum(start, end),
        demand=np.array(values(point, "demand")),
    )
    return ReservedLoad(np.ones((1, 2)), tasks)


@space(
    "risky_runs",
    RescueInstance,
    Parameter("slots", 1, 8, whole=True, count=True),
    Parameter("delta", 1e-4, 1.0, simple=0.01, log=True),
)
def _risky(point: Mapping[str, Any]) -> RescueInstance:
    """Return certain tasks of the same profit in a window that a long run uses up."""
    return risky_runs(point["slots"], point["delta"])


@space(
    "tempting_runs",
    RescueInstance,
    Parameter("slots", 2, 6, whole=True, count=True),
    Parameter("delta", 1e-4, 0.5, simple=0.001, log=True),
    Parameter("epsilon", 0.0, 0.9, simple=0.05),
)
def _tempting(point: Mapping[str, Any]) -> RescueInstance:
    """Return safe runs, then risky ones that earn more."""
    return tempting_runs(point["slots"], point["delta"], point["epsilon"])


def _one_window(point: Mapping[str, Any]) -> RescueInstance:
    arrival, gain = np.array(values(point, "arrival")), np.array(values(point, "profit"))
    slots = len(gain)
    profit = np.zeros((slots, 1, 1, 2, 1))
    profit[np.arange(slots), 0, 0, values(point, "risky"), 0] = gain
    capacity = np.array(values(point, "capacity"))
    distribution = np.zeros((2, slots - 1))
    distribution[0, 0] = 1.0
    distribution[1, [0, point["longest"] - 1]] = 1.0 - point["long"], point["long"]
    return one_server(
        arrival=arrival[:, None],
        profit=profit,
        duration=distribution,
        capacity=capacity,
        reserved=(0, slots - 1, float((1.0 - point["slack"]) * capacity.sum())),
    )


def one_window(slots: int) -> ParameterSpace:
    """Return the instances of one server and one reserved task whose window are all slots.

    In every slot the only device sends, with a probability of its own, a task that pays for a run
    of one slot, or else for one that lasts one slot or several. Slots differ in capacity.
    """
    parameters = (
        *row("risky", slots, 0, 1, whole=True),
        *row("arrival", slots, 0.0, 1.0, simple=1.0),
        *row("profit", slots, 0.01, 100.0, simple=1.0, log=True),
        *row("capacity", slots, 0.01, 1.0, simple=1.0, log=True),
        Parameter("slack", 0.01, 0.99, simple=0.5),
        Parameter("long", 0.001, 1.0, simple=0.01, log=True),
        Parameter("longest", 2, slots - 1, whole=True),
    )
    return ParameterSpace(f"one_window_{slots}", parameters, _one_window, RescueInstance)


@space(
    "two_servers",
    RescueInstance,
    Parameter("long", 0.0, 1.0, simple=0.5),
    *row("arrival", 3, 0.0, 1.0, simple=1.0),
    *row("profit", 6, 0.01, 100.0, simple=1.0, log=True),
    *row("spare", 2, 1.0, 2.9, simple=2.0),
)
def _two_servers(point: Mapping[str, Any]) -> RescueInstance:
    """Return two servers that a reserved task each leaves one slot of three or more.

    Runs take one or two.
    """
    profit = np.array(values(point, "profit")).reshape(3, 1, 2, 1, 1)
    spare = np.array(values(point, "spare"))
    tasks = ReservedTasks(
        server=np.arange(2), start=np.zeros(2, dtype=int), end=np.full(2, 2), demand=3.0 - spare
    )
    return RescueInstance(
        arrival=np.array(values(point, "arrival"))[:, None],
        duration=np.array([[1.0 - point["long"], point["long"]]]),
        capacity=np.ones((2, 3)),
        reserved=tasks,
        profit=profit,
    )


PARAMETER_SPACES = (
    few_slots(2),
    few_slots(3),
    _two_devices,
    _steady,
    _drawn,
    _load,
    _risky,
    _tempting,
    one_window(5),
    _two_servers,
)
"""In the order in which they are searched."""
