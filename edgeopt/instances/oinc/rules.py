"""Rules that the data of an OINC instance must obey, beyond shapes and finiteness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.validate import (
    check_names,
    check_text,
    frozen,
    frozen_array,
    frozen_integers,
    real_numbers,
    require,
    require_positive,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.oinc.instance import OincInstance

__all__ = ["check_jobs", "check_numbers", "check_requests", "own_labels", "own_rates"]

SLOT_SECONDS: Final = 1.0
"""Length of a slot, s: latencies and completion times are told in the same unit."""


def own_rates(values: ArrayLike, sizes: Mapping[str, int]) -> NDArray[np.float64]:
    """Copy the rates of links; rates without a slot hold in all slots."""
    rate = real_numbers("rate", values)
    if rate.ndim == 2:
        rate = frozen_array("rate", rate, ("device", "site"), sizes)
        require_positive("rate", rate)
        return frozen(np.array(np.broadcast_to(rate, (sizes["slot"], *rate.shape))))
    rate = frozen_array("rate", rate, ("slot", "device", "site"), sizes)
    require_positive("rate", rate)
    return rate


def check_requests(instance: OincInstance) -> None:
    """Check sizes, objectives and weights of requests."""
    for name in ("request_size", "request_work", "request_weight"):
        values = getattr(instance, name)
        require(name, values >= 0, values, "must not be negative")
    slo = instance.slo
    require_positive("slo", slo)
    require("slo", slo <= SLOT_SECONDS, slo, f"must be at most a slot, {SLOT_SECONDS:g} s")


def check_jobs(instance: OincInstance) -> None:
    """Check arrivals, work, deadlines and weights of jobs."""
    arrival, slots = instance.arrival, instance.slots
    known = (arrival >= 0) & (arrival < slots)
    require("arrival", known, arrival, f"must be one of the {slots} slots, counted from 0")
    ordered = np.diff(arrival, prepend=arrival[:1]) >= 0
    require("arrival", ordered, arrival, "must ascend: list jobs as they arrive")
    work, deadline = instance.work, instance.deadline
    require_positive("work", work, "must be positive: there is nothing to do")
    require("deadline", deadline > arrival, deadline, "must come after the arrival")
    weight = instance.weight
    assert weight is not None
    require("weight", weight >= 0, weight, "must not be negative")


def check_numbers(instance: OincInstance) -> None:
    """Check the scales of the weighted sum, and what a refused request counts with."""
    for name in ("latency_scale", "completion_scale"):
        require_positive(name, getattr(instance, name))
    if not instance.refusal_latency >= SLOT_SECONDS:
        raise InstanceError(
            "refusal_latency", f"must be at least a slot, {SLOT_SECONDS:g} s",
            value=instance.refusal_latency,
        )  # fmt: skip


def own_labels(instance: OincInstance) -> dict[str, Any]:
    """Check what is there for tables and pictures."""
    labels: dict[str, Any] = {}
    if instance.job_kind is not None:
        kind = frozen_integers(
            "job_kind", instance.job_kind, ("job",), {"job": instance.jobs}, empty=True
        )
        require("job_kind", kind >= 0, kind, "must not be negative")
        labels["job_kind"] = kind
    if instance.kinds is not None:
        kinds = check_names(instance.kinds, None, "kind of job", "kinds")
        labels["kinds"] = kinds
        if "job_kind" in labels:
            kind = labels["job_kind"]
            require("job_kind", kind < len(kinds), kind, f"must be one of the {len(kinds)} kinds")
    if instance.names is not None:
        labels["names"] = check_names(instance.names, instance.sites, "site")
    check_text("origin", instance.origin)
    return labels
