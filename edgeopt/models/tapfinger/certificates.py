"""Certificates of bounds on flow times by prices of what tasks share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import CertificateError
from edgeopt.solvers.certificates import Certificate, entries, indices, proven, texts

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.pooled import PooledBound
    from edgeopt.models.tapfinger.problem import SchedulingProblem


def certificate_of(
    bound: PooledBound | None, name: str, instance: TapFingerInstance | None
) -> Certificate:
    """Return the certificate of a bound by prices."""
    if bound is None:
        raise CertificateError(
            "no certificate: the method that proved most has no prices; "
            'flow_bound(instance, method="pooled") has'
        )
    problem = bound.problem
    if problem is None:
        raise CertificateError(
            "no certificate: where bundles may change, the least cost of a task is a shortest path "
            "over its progress, which the checker does not know; bounds without changes have one"
        )
    if problem.occupied.any() or problem.started.any():
        raise CertificateError(
            "no certificate: tasks that already run lower the room of some slots, which the "
            "checker does not know; a problem without them has one"
        )
    limits, prices = bound.limits, bound.prices
    slots = prices.resource.shape[2]
    room = limits.room[:, :, 0] if slots else np.zeros(limits.room.shape[:2])
    dual = {
        "size": indices(limits.size),
        "room": indices(room),
        "price": entries(np.maximum(prices.resource, 0.0)),
        "start": entries(np.maximum(prices.start, 0.0)),
        "pool": indices(bound.pools),
    }
    return proven(
        "tapfinger.pooled",
        data_of(problem),
        dual,
        system="tapfinger",
        instance=instance,
        name=name,
    )


def data_of(problem: SchedulingProblem) -> dict[str, Any]:
    """Return the numbers of the problem as texts."""
    return {
        "starts": "1" if problem.single_start else "inf",
        "capacity": indices(problem.capacity),
        "duration": indices(problem.duration),
        "arrival": indices(problem.arrival),
        "weight": texts(problem.weight),
        "kind": indices(problem.kind),
        "eligible": [
            {str(n): "1" for n in np.flatnonzero(one).tolist()} for one in problem.eligible
        ],
    }
