"""How a network serves the requests of one slot: who takes what, and what could have been taken.

Every request takes the cheapest model on its path that is deployed and not saturated. What comes
out depends on the order in which requests arrive when models are shared by request types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.kernels import compiled
from edgeopt.representation import brief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.instances.idn.ranking import Columns

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


SLACK = 1e-9
"""Relative excess over a budget that counts as rounding."""


@compiled
def _is_permutation(order: Ints) -> bool:
    """Tell whether every index occurs once."""
    seen = np.zeros(order.size, dtype=np.bool_)
    for index in order:
        if index < 0 or index >= order.size or seen[index]:
            return False
        seen[index] = True
    return True


@compiled(writes="free")
def _reset(options: Columns, free: Floats) -> None:
    """Set `free` at every cell that an option stands on."""
    for o, c in enumerate(options.cell):
        free[c] = np.inf if options.permanent[o] else options.capacity[o]


@compiled(writes="free load")
def _serve_in_turn(
    options: Columns, deployed: Bools, requests: Ints, free: Floats, load: Floats, order: Ints
) -> None:
    """Serve type after type, each from its cheapest option on."""
    first, cell = options.first, options.cell
    for rho in order:
        left = float(requests[rho])
        for o in range(first[rho], first[rho + 1]):
            if left == 0.0:
                break
            c = cell[o]
            if deployed[c]:
                taken = min(left, free[c])
                load[o] = taken
                free[c] -= taken
                left -= taken


@compiled
def _next_open(o: int, last: int, cell: Ints, deployed: Bools, free: Floats) -> int:
    """Return the first option from `o` on that is deployed and not saturated."""
    while o < last and not (deployed[cell[o]] and free[cell[o]] > 0.0):
        o += 1
    return o


@compiled(writes="free load")
def _serve_units(
    options: Columns, deployed: Bools, requests: Ints, free: Floats, load: Floats, units: Ints
) -> None:
    """Serve single requests; `units` holds the type of each, in order of arrival."""
    first, cell = options.first, options.cell
    current = first[:-1].copy()
    for rho in units:
        o = _next_open(current[rho], first[rho + 1], cell, deployed, free)
        current[rho] = o
        # A capacity that is no whole number serves the rest of a request elsewhere.
        left = 1.0
        while left > 0.0 and o < first[rho + 1]:
            taken = min(left, free[cell[o]])
            load[o] += taken
            free[cell[o]] -= taken
            left -= taken
            if left > 0.0:
                o = _next_open(o, first[rho + 1], cell, deployed, free)


@compiled(writes="free load inflow")
def _serve_fluid(
    options: Columns, deployed: Bools, requests: Ints, free: Floats, load: Floats,
    task_first: Ints, task_types: Ints, inflow: Floats,
) -> None:  # fmt: skip
    """Let all types flow at constant rates; an event is a cell that saturates.

    Types of different tasks share no cell, so tasks are simulated one by one. `inflow` is scratch
    of one zero per cell, and zero again afterwards.
    """
    first, cell = options.first, options.cell
    current = first[:-1].copy()
    for i in range(task_first.size - 1):
        types = task_types[task_first[i] : task_first[i + 1]]
        clock = 0.0
        while clock < 1.0:
            for rho in types:
                if requests[rho] > 0:
                    o = _next_open(current[rho], first[rho + 1], cell, deployed, free)
                    current[rho] = o
                    if o < first[rho + 1]:
                        inflow[cell[o]] += requests[rho]
            step = 1.0 - clock
            for rho in types:
                if requests[rho] > 0 and current[rho] < first[rho + 1]:
                    c = cell[current[rho]]
                    if free[c] < step * inflow[c]:
                        step = free[c] / inflow[c]
            for rho in types:
                if requests[rho] > 0 and current[rho] < first[rho + 1]:
                    load[current[rho]] += step * requests[rho]
            for rho in types:
                if requests[rho] > 0 and current[rho] < first[rho + 1]:
                    c = cell[current[rho]]
                    if inflow[c] > 0.0:
                        left = free[c] - step * inflow[c]
                        # Rounding must not leave a cell open that an event has filled.
                        free[c] = left if left > 1e-12 * inflow[c] else 0.0
                        inflow[c] = 0.0
            clock += step


@compiled(writes="potential")
def _look_back(
    options: Columns, deployed: Bools, requests: Ints, free: Floats, load: Floats, potential: Floats
) -> float:
    """Fill in the potential available capacities of a served slot, and return its cost.

    A deployed model could have served what was left of it besides what this type had of it, any
    other model its whole capacity, and never more than the type's requests.
    """
    total = 0.0
    for rho in range(requests.size):
        most = float(requests[rho])
        for o in range(options.first[rho], options.first[rho + 1]):
            c = options.cell[o]
            if options.permanent[o]:
                potential[o] = most
            elif deployed[c]:
                potential[o] = min(free[c] + load[o], most)
            else:
                potential[o] = min(options.capacity[o], most)
            total += options.cost[o] * load[o]
    return total


Order: TypeAlias = Literal["sequential", "random", "fluid"]
ORDERS: tuple[Order, ...] = ("sequential", "random", "fluid")


@brief
class Served(NamedTuple):
    """What became of the requests of a slot.

    Attributes
    ----------
    load
        Requests that each option of the ranking served, shape [P]; whole numbers but for the order
        ``"fluid"``.
    potential
        Potential available capacity of each option at run time, requests, shape [P]: what it could
        have served of its type, other types' load left as it is.
    cost
        Serving cost of the slot, ms.
    """

    load: NDArray[np.float64]
    potential: NDArray[np.float64]
    cost: float


def serve(
    instance: IdnInstance,
    requests: NDArray[np.int64],
    allocation: NDArray[np.bool_],
    *,
    order: Order = "sequential",
    draw: NDArray[np.int64] | int | None = None,
) -> Served:
    """Serve the requests of one slot.

    Parameters
    ----------
    instance
        The network; its own requests play no part.
    requests
        Requests of every type, shape [R].
    allocation
        Which models are deployed where, shape [V, M]; repositories included.
    order
        How requests arrive. ``"sequential"``: type after type. ``"random"``: all requests in one
        uniformly random order. ``"fluid"``: all types at constant rates throughout the slot, the
        limit of many small requests.
    draw
        The random part of the order: for ``"sequential"`` a permutation of the types, shape [R], by
        default the order of the instance; for ``"random"`` a seed; for ``"fluid"`` nothing.

    Returns
    -------
    Served
        Load, potential available capacity and cost.

    Raises
    ------
    OptionError
        If the order is unknown or its draw is missing or no permutation.
    InputError
        If requests or allocation have another shape, or requests are negative.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section III-D and equation (7). Whatever
    the order, the cost equals equation (12) at the potential capacities reported.
    """
    options = instance.ranking.columns
    requests = _checked_requests(instance, requests)
    if allocation.shape != instance.size.shape or allocation.dtype != np.bool_:
        raise InputError(
            "allocation",
            f"must be a bool array of shape {instance.size.shape}",
            value=f"{allocation.dtype} of shape {allocation.shape}",
        )
    deployed = np.ascontiguousarray(allocation).ravel()
    free = np.empty(instance.size.size)
    load = np.zeros(options.cell.size)
    _reset(options, free)
    system = (options, deployed, requests, free, load)
    if order == "sequential":
        _serve_in_turn(*system, _permutation(draw, requests.size))
    elif order == "random":
        if draw is None or isinstance(draw, np.ndarray):
            raise OptionError("draw: the random order needs a seed, a whole number")
        units = np.repeat(np.arange(requests.size), requests)
        np.random.default_rng(int(draw)).shuffle(units)
        _serve_units(*system, units)
    elif order == "fluid":
        _serve_fluid(*system, *_by_task(instance), np.zeros(instance.size.size))
    else:
        raise OptionError(f"order = {order!r}: must be one of {', '.join(map(repr, ORDERS))}")
    potential = np.empty_like(load)
    return Served(load, potential, _look_back(*system, potential))


def _checked_requests(instance: IdnInstance, requests: NDArray[np.int64]) -> NDArray[np.int64]:
    array = np.asarray(requests)
    if array.shape != (instance.types,) or array.dtype.kind not in "iu":
        raise InputError(
            "requests",
            f"must hold whole numbers, shape ({instance.types},)",
            value=f"{array.dtype} of shape {array.shape}",
        )
    if array.size and array.min() < 0:
        first = int(np.argmax(array < 0))
        raise InputError("requests", "must not be negative", index=(first,), value=array[first])
    return np.ascontiguousarray(array, dtype=np.int64)


def _permutation(draw: NDArray[np.int64] | int | None, types: int) -> NDArray[np.int64]:
    if draw is None:
        return np.arange(types)
    order = np.asarray(draw, dtype=np.int64)
    if order.shape != (types,) or not _is_permutation(order):
        raise OptionError(f"draw: the sequential order needs a permutation of 0..{types - 1}")
    return order


def _by_task(instance: IdnInstance) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Request types task by task: where each task's types begin, and the types."""
    order = np.argsort(instance.request_task, kind="stable")
    counts = np.bincount(instance.request_task, minlength=instance.tasks)
    return np.concatenate([[0], np.cumsum(counts)]), order
