"""Certificates of bounds on what RESCUE's policies earn."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.instances.edf import FEASIBLE
from edgeopt.models.rescue.solution import P1Relaxation
from edgeopt.solvers.certificates import (
    SHRUNK,
    Certificate,
    entries,
    indices,
    proven,
    proven_of,
    texts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue.bounds import SafeBound
    from edgeopt.solvers import Solution


def certificate_of(problem: P1Relaxation, solution: Solution, **how: Any) -> Certificate:
    """Return the certificate of a solution of P1-LP, from its prices of busy slots alone."""
    dual = {"occupancy": entries(np.maximum(solution.duals.occupancy, 0.0))}
    points = _points(problem, solution)
    return proven_of(problem, "rescue.p1-lp", data_of(problem), dual, points, **how)


def _points(problem: P1Relaxation, solution: Solution) -> Iterator[dict[str, str]]:
    y, x = solution.values["y"], solution.values["x"]
    dense = y.toarray().reshape(problem.instance.shape[:4]) if hasattr(y, "toarray") else y
    yield entries(dense) | entries(x)
    # Runs give up a little, of which reserved tasks get less.
    more = np.minimum(np.maximum(x, 0.0) * (2.0 - SHRUNK**0.25), 1.0)
    yield entries(SHRUNK * np.maximum(dense, 0.0)) | entries(more)


def data_of(problem: P1Relaxation) -> dict[str, Any]:
    """Return the numbers of P1-LP as texts; runs that are ruled out earn nothing."""
    instance = problem.instance
    profit = np.where(problem.allowed[:, None], instance.expected_profit, 0.0)
    own = {"arrival": instance.arrival, "profit": profit, "survival": instance.survival}
    return {name: texts(each) for name, each in own.items()} | _reservations(instance)


def _reservations(instance: RescueInstance, served: float = 1.0) -> dict[str, Any]:
    """Return capacities and reserved tasks, of which a share must be served."""
    reserved = instance.promised
    return {
        "capacity": texts(instance.capacity),
        "demand": texts(reserved.demand * served),
        "server": indices(reserved.server),
        "start": indices(reserved.start),
        "end": indices(reserved.end),
    }


def programs_of(instance: RescueInstance) -> Iterator[dict[str, Any]]:
    """Yield the programs that an instance may have in a certificate."""
    for how in ((False, 1.0), (True, 1.0), (True, 0.5)):
        yield data_of(P1Relaxation(instance, *how))
    yield safe_data_of(instance)


def certificate_of_safe_bound(bound: SafeBound, name: str) -> Certificate:
    """Return the certificate of a bound on policies that never let a reserved task fail."""
    return proven(
        "rescue.safe",
        safe_data_of(bound.instance),
        {"price": entries(np.maximum(bound.price, 0.0)), "grid": texts(bound.states.grid)},
        instance=bound.instance,
        name=name,
    )


def safe_data_of(instance: RescueInstance) -> dict[str, Any]:
    """Return the numbers of an instance as texts, with what safe policies must serve of tasks.

    Chances that add up to more than 1 by rounding, or durations to something else, are mended in
    the largest entry.
    """
    apart = instance.arrivals == "independent"
    arrival, duration = texts(instance.arrival), texts(instance.duration)
    for row in [*duration, *(() if apart else arrival)]:
        excess = sum(map(Fraction, row)) - 1
        if excess > 0 or (excess and row in duration):
            most = max(range(len(row)), key=lambda n: Fraction(row[n]))
            row[most] = str(Fraction(row[most]) - excess)
    own = {
        "independent": str(int(apart)),
        "arrival": arrival,
        "profit": texts(instance.expected_profit),
        "duration": duration,
    }
    return own | _reservations(instance, 1.0 - FEASIBLE)
