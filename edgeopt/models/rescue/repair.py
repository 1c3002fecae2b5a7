"""From a nearly feasible point of P1-LP to a feasible one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.instances.edf import FEASIBLE, edf_order, edf_serve
from edgeopt.models.rescue import kernels
from edgeopt.solvers import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.rescue.relaxation import Allocation, P1Relaxation

    Floats = NDArray[np.float64]

# Shares of an arrival's probability, or of a slot, below it are solver noise.
NEGLIGIBLE = 1e-12
# Demand missing by more than this part is not rounding; also the accuracy of the search below.
ROUNDING = 1e-6


def feasible_point(problem: P1Relaxation, y: Allocation, x: Floats) -> tuple[Allocation, Floats]:
    """Repair a point: rounding by scaling, anything worse by serving the reserved tasks anew."""
    y = _clean_arrivals(problem, y)
    x = np.clip(x, 0.0, 1.0)
    instance = problem.instance
    capacity = instance.capacity[instance.reserved.server]
    served, demand = (x * capacity).sum(axis=1), instance.reserved.demand
    if (demand > (1.0 + ROUNDING) * served).any():
        return _serve_anew(problem, y)
    x = np.minimum(x * np.maximum(1.0, demand / served)[:, None], 1.0)
    busy = np.zeros(instance.capacity.shape)
    np.add.at(busy, instance.reserved.server, x)
    if busy.max() > 1.0 + TIGHT:
        return _serve_anew(problem, y)
    fitted = _fit(problem, y, np.maximum(1.0 - busy, 0.0))
    if fitted is y:
        return y, x
    worth, left = problem.value(y), problem.value(fitted)
    if left >= worth * (1.0 - ROUNDING / 10):
        return fitted, x
    # Shares that fill a slot to the brim can cost a run with a thin tail: other shares may not.
    other, other_x = _serve_anew(problem, y)
    return (other, other_x) if problem.value(other) > left else (fitted, x)


def _fit(problem: P1Relaxation, y: Allocation, room: Floats) -> Allocation:
    """Shrink the runs that touch an overfull slot until every server's `room` [K, T] suffices."""
    instance = problem.instance
    occupied = problem.occupation(y)
    over = occupied > room + NEGLIGIBLE
    if not over.any():
        return y
    y = y.copy()
    ratio = np.where(over, room / np.where(over, occupied, 1.0), 1.0)
    factor = np.empty((instance.horizon, instance.servers, instance.profiles))
    kernels.least_ratio(ratio, instance.longest, factor)
    if sparse.issparse(y):
        slots = np.repeat(np.arange(y.shape[0]) // instance.devices, np.diff(y.indptr))
        y.data *= factor.reshape(instance.horizon, -1)[slots, y.indices]
    else:
        y *= factor[:, None]
    return y


def serve_alone(problem: P1Relaxation, tasks: NDArray[np.int64]) -> Floats:
    """Serve some reserved tasks earliest deadline first on otherwise idle servers."""
    instance = problem.instance
    reserved = instance.reserved
    x = np.zeros((len(reserved), instance.horizon))
    order, offset = edf_order(reserved.server[tasks], reserved.end[tasks], instance.servers)
    for k in range(instance.servers):
        own = tasks[order[offset[k] : offset[k + 1]]]
        if own.size:
            x[own], _ = _serve(problem, own, k, np.zeros(instance.horizon))
    return x


def _clean_arrivals(problem: P1Relaxation, y: Allocation) -> Allocation:
    """Remove noise and scale overfull rows (3a) down."""
    arrival = problem.instance.arrival
    if sparse.issparse(y):
        y.data[y.data < np.repeat(NEGLIGIBLE * arrival.ravel(), np.diff(y.indptr))] = 0.0
        y.eliminate_zeros()
    else:
        y[y < NEGLIGIBLE * arrival[:, :, None, None]] = 0.0
    used = problem.arrivals_used(y)
    return _scale_arrivals(y, np.minimum(1.0, arrival / np.where(used > 0.0, used, 1.0)))


def _scale_arrivals(y: Allocation, factor: Floats) -> Allocation:
    if sparse.issparse(y):
        y.data *= np.repeat(factor.ravel(), np.diff(y.indptr))
    else:
        y *= factor[:, :, None, None]
    return y


def _serve_anew(problem: P1Relaxation, y: Allocation) -> tuple[Allocation, Floats]:
    """Serve the reserved tasks earliest deadline first, in time that is taken from y where needed.

    Each server keeps the largest part of y beside which its tasks are met; with none of y they are,
    because the reserved tasks alone are feasible.
    """
    instance = problem.instance
    reserved = instance.reserved
    order, offset = edf_order(reserved.server, reserved.end, instance.servers)
    occupied = problem.occupation(y)
    x = np.zeros((len(reserved), instance.horizon))
    for k in range(instance.servers):
        tasks = order[offset[k] : offset[k + 1]]
        low, high = 0.0, 1.0
        shares, complete = _serve(problem, tasks, k, occupied[k])
        if not complete:
            shares, _ = _serve(problem, tasks, k, 0.0 * occupied[k])
        while not complete and high - low > ROUNDING:
            middle = (low + high) / 2
            trial, enough = _serve(problem, tasks, k, middle * occupied[k])
            if enough:
                low, shares = middle, trial
            else:
                high = middle
        x[tasks] = shares
    busy = np.zeros(instance.capacity.shape)
    np.add.at(busy, reserved.server, x)
    return _fit(problem, y, np.maximum(1.0 - busy, 0.0)), x


def _serve(
    problem: P1Relaxation, tasks: NDArray[np.int64], k: int, occupied: Floats
) -> tuple[Floats, bool]:
    """Serve one server's tasks in the time that retraining leaves; tell whether all were met."""
    instance = problem.instance
    reserved, capacity = instance.reserved, instance.capacity[k]
    remaining = reserved.demand.copy()
    work = np.zeros((tasks.size, instance.horizon))
    for t in range(instance.horizon):
        before = remaining[tasks]
        offer = float(capacity[t] * max(0.0, 1.0 - occupied[t]))
        edf_serve(tasks, reserved.start, reserved.end, remaining, t, offer)
        work[:, t] = before - remaining[tasks]
    return work / capacity, bool((remaining[tasks] <= FEASIBLE * reserved.demand[tasks]).all())
