"""How a network serves the requests of one slot: who takes what, and what could have been taken.

Every request takes the cheapest model on its path that is deployed and not saturated. What comes
out depends on the order in which requests arrive when models are shared by request types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.online.idn import serving_kernels as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["ORDERS", "Order", "Served", "serve"]

Order: TypeAlias = Literal["sequential", "random", "fluid"]
ORDERS: tuple[Order, ...] = ("sequential", "random", "fluid")


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
    ranking = instance.ranking
    requests = _checked_requests(instance, requests)
    if allocation.shape != instance.size.shape or allocation.dtype != np.bool_:
        raise InputError(
            "allocation",
            f"must be a bool array of shape {instance.size.shape}",
            value=f"{allocation.dtype} of shape {allocation.shape}",
        )
    deployed = np.ascontiguousarray(allocation).ravel()
    free = np.empty(instance.size.size)
    load = np.zeros(ranking.cell.size)
    kernels.reset(ranking.cell, ranking.permanent, ranking.capacity, free)
    system = (ranking.first, ranking.cell, deployed, requests, free, load)
    if order == "sequential":
        kernels.serve_in_turn(*system, _permutation(draw, requests.size))
    elif order == "random":
        if draw is None or isinstance(draw, np.ndarray):
            raise OptionError("draw: the random order needs a seed, a whole number")
        units = np.repeat(np.arange(requests.size), requests)
        np.random.default_rng(int(draw)).shuffle(units)
        kernels.serve_units(*system, units)
    elif order == "fluid":
        kernels.serve_fluid(*system, *_by_task(instance), np.zeros(instance.size.size))
    else:
        raise OptionError(f"order = {order!r}: must be one of {', '.join(map(repr, ORDERS))}")
    potential = np.empty_like(load)
    cost = kernels.look_back(*system, ranking.permanent, ranking.cost, ranking.capacity, potential)
    return Served(load, potential, cost)


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
    if order.shape != (types,) or not kernels.is_permutation(order):
        raise OptionError(f"draw: the sequential order needs a permutation of 0..{types - 1}")
    return order


def _by_task(instance: IdnInstance) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Request types task by task: where each task's types begin, and the types."""
    order = np.argsort(instance.request_task, kind="stable")
    counts = np.bincount(instance.request_task, minlength=instance.tasks)
    return np.concatenate([[0], np.cumsum(counts)]), order
