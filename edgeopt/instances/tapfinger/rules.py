"""Rules that the data of a TapFinger instance must obey, beyond shapes and finiteness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.validate import (
    check_names,
    check_text,
    frozen,
    frozen_array,
    frozen_flags,
    real_numbers,
    require,
    require_positive,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.tapfinger.instance import TapFingerInstance

__all__ = [
    "MANY",
    "check_bundles",
    "check_durations",
    "check_numbers",
    "check_tasks",
    "holdable",
    "own_eligibility",
    "own_labels",
    "own_speeds",
]


MANY: Final = 1_000_000
"""Most CPU cores, GPUs, and slots before the last arrival: arrays are as long."""


def holdable(capacity: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which bundles fit into an empty cluster, shape [N, A, B]."""
    cpus, gpus = np.arange(shape[0]), np.arange(shape[1])
    fits_cpu = cpus <= capacity[:, 0, None]
    fits_gpu = gpus <= capacity[:, 1, None]
    return np.asarray(fits_cpu[:, :, None] & fits_gpu[:, None, :])


def check_bundles(instance: TapFingerInstance) -> None:
    """Check capacities and smallest bundles."""
    capacity, minimum = instance.capacity, instance.minimum
    require("capacity", capacity >= 0, capacity, "must not be negative")
    require("capacity", capacity <= MANY, capacity, f"must be at most {MANY}")
    require("minimum", minimum >= 0, minimum, "must not be negative")
    asked = minimum.sum(axis=1)
    require("minimum", asked > 0, asked, "must ask for a CPU core or a GPU")
    held = np.asarray((minimum[:, None] <= capacity).all(axis=2)).any(axis=1)
    for k in np.flatnonzero(~held).tolist():
        raise InstanceError(
            "minimum",
            "must be at most the capacity of some cluster: none can hold a task of this kind",
            index=(k,),
            value=tuple(minimum[k].tolist()),
        )


def own_speeds(
    values: ArrayLike, minimum: NDArray[np.int64], sizes: Mapping[str, int]
) -> NDArray[np.float64]:
    """Copy the table of speeds; a table without clusters holds on all of them."""
    table = real_numbers("speed", values)
    if table.ndim == 3:
        table = np.repeat(table[None], sizes["cluster"], axis=0)
    if table.ndim == 4 and table.shape[1] == sizes["kind"]:
        largest = np.array(table.shape[2:]) - 1
        rule = f"must be at most the largest bundle of the table, {tuple(largest.tolist())}"
        require("minimum", minimum <= largest, minimum, rule)
        cpus, gpus = np.arange(table.shape[2]), np.arange(table.shape[3])
        below = (cpus < minimum[:, 0, None])[:, :, None] | (gpus < minimum[:, 1, None])[:, None, :]
        table[:, below] = 0.0
        hole = ~(np.isfinite(table) & (table > 0)) & ~below
        require("speed", ~hole, table, "must be positive from the smallest bundle on: a hole")
    return frozen_array("speed", table, ("cluster", "kind", "cpu", "gpu"), sizes)


def check_durations(speed: NDArray[np.float64], slots: NDArray[np.int64]) -> None:
    """Check that every bundle completes a task before long."""
    ends = (slots > 0) | (speed == 0)
    require("speed", ends, speed, "must complete a task within a million slots")


def check_tasks(instance: TapFingerInstance) -> None:
    """Check arrivals, kinds and weights of tasks."""
    arrival, kind, weight = instance.arrival, instance.kind, instance.weight
    assert weight is not None
    require("arrival", arrival >= 0, arrival, "must not be negative")
    require("arrival", arrival <= MANY, arrival, f"must be at most {MANY}")
    ordered = np.diff(arrival, prepend=arrival[:1]) >= 0
    require("arrival", ordered, arrival, "must ascend: list tasks as they arrive")
    known = (kind >= 0) & (kind < instance.task_kinds)
    require("kind", known, kind, f"must be one of the {instance.task_kinds} kinds of tasks")
    require("weight", weight >= 0, weight, "must not be negative")


def own_eligibility(instance: TapFingerInstance, sizes: Mapping[str, int]) -> NDArray[np.bool_]:
    """Copy which clusters may run a task, less those that cannot hold it."""
    asked = frozen_flags("eligible", instance.eligible, ("task", "cluster"), sizes, empty=True)
    chosen = asked.sum(axis=1)
    require("eligible", chosen > 0, chosen, "must name a cluster on which the task may run")
    holds = np.asarray((instance.minimum[:, None] <= instance.capacity).all(axis=2))
    eligible = asked & holds[instance.kind]
    for j in np.flatnonzero(~eligible.any(axis=1)).tolist():
        raise InstanceError(
            "eligible",
            "must name a cluster that can hold the smallest bundle of the task, "
            f"{tuple(instance.minimum[instance.kind[j]].tolist())} CPU cores and GPUs",
            index=(j,),
            value=f"clusters {np.flatnonzero(asked[j]).tolist()}",
        )
    return frozen(eligible)


def check_numbers(instance: TapFingerInstance) -> None:
    """Check noise, cost of switching, places and length of a slot."""
    for name in ("noise", "switching"):
        value = getattr(instance, name)
        if not 0 <= value <= 1:
            raise InstanceError(name, "must lie in [0, 1]", value=value)
    if instance.pending < 1:
        raise InstanceError("pending", "must be at least 1", value=instance.pending)
    require_positive("slot_seconds", instance.slot_seconds)


def own_labels(instance: TapFingerInstance) -> dict[str, Any]:
    """Check what is there for tables and pictures."""
    labels: dict[str, Any] = {}
    if instance.names is not None:
        labels["names"] = check_names(instance.names, instance.clusters, "cluster")
    if instance.kinds is not None:
        labels["kinds"] = check_names(instance.kinds, instance.task_kinds, "kind of task", "kinds")
    check_text("origin", instance.origin)
    return labels
