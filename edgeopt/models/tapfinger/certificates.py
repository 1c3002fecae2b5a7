"""Certificates of bounds on flow times by prices of what tasks share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt import checker
from edgeopt.errors import CertificateError
from edgeopt.instances.tapfinger.durations import shortest_durations
from edgeopt.models.tapfinger.problem import scheduling_problem
from edgeopt.solvers.certificates import Certificate, entries, indices, proven, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.lagrangian import PooledBound
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
            "no certificate: tasks that already run, and outages, lower the room of some slots, "
            "which the checker does not know; a problem without them has one"
        )
    limits, prices = bound.limits, bound.prices
    resource = np.maximum(prices.resource, 0.0)
    priced = np.asarray(resource.any(axis=(1, 2)))
    priced[:1] |= not priced.any()
    size, room = limits.size[priced], limits.room[priced]
    dual = {
        "size": indices(size),
        "room": indices(room[:, :, 0] if room.size else _rooms(problem, size, bound.pools)),
        "price": entries(resource[priced]),
        "start": entries(np.maximum(prices.start, 0.0)),
        "pool": indices(bound.pools),
    }
    return proven(
        "tapfinger.pooled",
        data_of(problem),
        dual,
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


def programs_of(instance: TapFingerInstance) -> Iterator[dict[str, Any]]:
    """Yield the programs that an instance may have in a certificate."""
    yield data_of(scheduling_problem(instance, duration=shortest_durations(instance)))
    yield data_of(scheduling_problem(instance))


def _rooms(problem: SchedulingProblem, size: Ints, pool: Ints) -> Ints:
    """Return how much of each size the whole bundles of a pool can add up to, shape [I, G]."""
    rooms = np.zeros(size.shape[:2], dtype=np.int64)
    allowed = np.asarray((problem.duration > 0).any(axis=1))
    for n, group in enumerate(pool.tolist()):
        bundles = list(zip(*(one.tolist() for one in np.nonzero(allowed[n])), strict=True))
        capacity = tuple(problem.capacity[n].tolist())
        for i in range(size.shape[0]):
            sizes = {at: int(size[i, group][at]) for at in bundles}
            rooms[i, group] += checker.held(capacity, sizes)
    return rooms
