"""Rules that the data of an EDR instance must obey, beyond shapes and finiteness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.edr.derived import request_seconds
from edgeopt.instances.validate import (
    check_names,
    check_text,
    frozen_array,
    frozen_integers,
    real_numbers,
    require,
    require_positive,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.edr.instance import EdrInstance

__all__ = [
    "check_numbers",
    "check_objectives",
    "check_sites",
    "check_tasks",
    "own_labels",
    "own_rates",
]


def own_rates(values: ArrayLike, sizes: Mapping[str, int]) -> NDArray[np.float64]:
    """Copy the rates of links, infinite within a site."""
    rate = real_numbers("rate", values)
    if rate.ndim == 3 and rate.shape[1] == rate.shape[2]:
        sites = np.arange(rate.shape[1])
        rate[:, sites, sites] = np.inf
    rate = frozen_array("rate", rate, ("frame", "origin", "target"), sizes, infinite=True)
    require_positive("rate", rate)
    return rate


def check_tasks(instance: EdrInstance) -> None:
    """Check windows, rounds, clients and servers."""
    first, last, frames = instance.arrival, instance.deadline, instance.frames
    require("arrival", first >= 0, first, "must be a frame, counted from 0")
    require(
        "deadline", last >= first, last,
        "must not come before the arrival: the window would have no frame",
    )  # fmt: skip
    require("deadline", last < frames, last, f"must be one of the {frames} frames")
    for name in ("rounds", "local_steps"):
        values = getattr(instance, name)
        require(name, values >= 1, values, "must be at least 1")
    for name in ("step_work", "aggregation_work", "model_size"):
        values = getattr(instance, name)
        require(name, values >= 0, values, "must not be negative")
    server = instance.server
    known = (server >= 0) & (server < instance.sites)
    require("server", known, server, f"must be one of the {instance.sites} sites")
    task = np.arange(instance.tasks)
    require("server", instance.client[task, server], server, "must be a client of its task")


def check_sites(instance: EdrInstance) -> None:
    """Check what sites can do, and the network between them."""
    for name in ("energy_per_work", "capacity", "power", "request_size", "propagation"):
        values = getattr(instance, name)
        require(name, values >= 0, values, "must not be negative")
    for name in ("speed", "request_work", "slo"):
        require_positive(name, getattr(instance, name))
    require("slo", instance.slo <= instance.slot_seconds, instance.slo, "must fit into a slot")
    own = np.einsum("tdjj->tdj", instance.propagation)
    require("propagation", own == 0, own, "must be 0 from a site to itself")
    for n in np.flatnonzero(~instance.capable.any(axis=0)).tolist():
        raise InstanceError(f"capable[:, {n}]", "some site must be able to serve the request type")


def check_numbers(instance: EdrInstance) -> None:
    """Check weights and the length of a slot."""
    for name in ("energy_weight", "delay_weight"):
        value = np.asarray(getattr(instance, name))
        require(name, value >= 0, value, "must not be negative")
    require_positive("slot_seconds", instance.slot_seconds)


def check_objectives(instance: EdrInstance) -> None:
    """Check that the objective of every type that is asked for is met by some site.

    Requests of single sites may still be out of reach; they stay unserved, and are reported.
    """
    for frame in range(instance.frames):
        for slot in range(instance.slots):
            asked = instance.requests[frame, slot] > 0
            seconds = request_seconds(instance, frame, slot)
            met = (seconds <= instance.slo[frame, slot]) & instance.capable[None, :, :]
            served = (met.any(axis=1) & asked).any(axis=0)
            for n in np.flatnonzero(asked.any(axis=0) & ~served).tolist():
                raise InstanceError(
                    "slo",
                    "no site meets it for any of the requests",
                    index=(frame, slot, n),
                    value=float(instance.slo[frame, slot, n]),
                )


def own_labels(instance: EdrInstance, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return what is only for pictures and tables, where it is given: kinds, positions, names."""
    check_text("origin", instance.origin)
    labels: dict[str, Any] = {}
    if instance.task_kind is not None:
        kind = frozen_integers("task_kind", instance.task_kind, ("task",), sizes, empty=True)
        require("task_kind", kind >= 0, kind, "must be a kind, counted from 0")
        labels["task_kind"] = kind
    if instance.position is not None:
        axes, plane = ("site", "coordinate"), {**sizes, "coordinate": 2}
        labels["position"] = frozen_array("position", instance.position, axes, plane)
    if instance.names is not None:
        labels["names"] = check_names(instance.names, instance.sites, "site")
    return labels
