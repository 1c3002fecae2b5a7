"""Certificates of bounds on what RESCUE's policies earn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import CertificateError
from edgeopt.models.rescue.relaxation import P1Relaxation
from edgeopt.solvers.certificates import SHRUNK, Certificate, entries, indices, proven, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue.safe_bound import SafeBound
    from edgeopt.solvers import Solution


def certificate_of(
    problem: P1Relaxation,
    solution: Solution,
    *,
    name: str,
    instance: Any,
    point: bool,
    repair: bool,
) -> Certificate:
    """Return the certificate of a solution of P1-LP, from its prices of busy slots alone."""
    if instance not in (None, problem.instance):
        raise CertificateError("no certificate: the instance is another one")
    primal, repaired = None, None
    if point:
        y, x = solution.values["y"], solution.values["x"]
        dense = y.toarray().reshape(problem.instance.shape[:4]) if hasattr(y, "toarray") else y
        primal = entries(dense) | entries(x)
        if repair:  # runs give up a little, of which reserved tasks get less
            more = np.minimum(np.maximum(x, 0.0) * (2.0 - SHRUNK**0.25), 1.0)
            repaired = entries(SHRUNK * np.maximum(dense, 0.0)) | entries(more)
    return proven(
        "rescue.p1-lp",
        data_of(problem),
        {"occupancy": entries(np.maximum(solution.duals.occupancy, 0.0))},
        primal,
        repaired,
        system="rescue",
        instance=problem.instance,
        name=name,
    )


def data_of(problem: P1Relaxation) -> dict[str, Any]:
    """Return the numbers of P1-LP as texts; runs that are ruled out earn nothing."""
    instance = problem.instance
    profit = np.where(problem.allowed[:, None], instance.expected_profit, 0.0)
    reserved = instance.reserved
    return {
        "arrival": texts(instance.arrival),
        "profit": texts(profit),
        "survival": texts(instance.survival),
        "capacity": texts(instance.capacity),
        "demand": texts(reserved.demand),
        "server": indices(reserved.server),
        "start": indices(reserved.start),
        "end": indices(reserved.end),
    }


def programs_of(instance: RescueInstance) -> Iterator[dict[str, Any]]:
    """Yield the programs that an instance may have in a certificate."""
    for how in ((False, 1.0), (True, 1.0), (True, 0.5)):
        yield data_of(P1Relaxation(instance, *how))


def certificate_of_safe_bound(bound: SafeBound, name: str) -> Certificate:
    """Return the certificate of a bound on policies that never let a reserved task fail."""
    raise CertificateError("no certificate: the checker does not know the states of idle servers")
