"""Putting a routing problem together from what slots show and what training takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import InputError, OptionError
from edgeopt.models.edr.routing.kernels import cost_routes
from edgeopt.models.edr.routing.problem import RoutingProblem
from edgeopt.models.edr.routing.routes import Conditions, find_routes
from edgeopt.options import real_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.edr import EdrInstance

    Floats = NDArray[np.float64]

__all__ = ["Split", "routing_problem", "training_room"]

Split = Literal["even", "free"]

DUST = 1e-12
"""Share of a capacity that rounding may leave when training takes all of it."""


@checked(budget="[-inf, inf]")
def routing_problem(
    instance: EdrInstance,
    slots: Conditions | Sequence[Conditions],
    *,
    price: float,
    training: ArrayLike | None = None,
    budget: float = np.inf,
    split: Split = "even",
    energy_weight: float | None = None,
    delay_weight: float | None = None,
    energy_price: float = 0.0,
) -> RoutingProblem:
    """Put together what is to be routed in one slot or several of a frame.

    Parameters
    ----------
    instance
        Sites, types, weights and the number of slots of a frame. Its series are not looked at, so
        that a policy can ask with what it has observed.
    slots
        What the slots show, see `edgeopt.models.edr.routing.conditions`.
    price
        Price of energy, $/Wh.
    training
        Computation of the training of the whole frame on each site, GFLOP, shape [J].
    budget
        Energy for requests in these slots together, Wh; below 0 nothing is left for them.
    split
        Training takes the same share of every slot (``"even"``), or whatever requests leave of the
        frame (``"free"``, for all slots of a frame together).
    energy_weight, delay_weight
        Weights of the cost; by default those of the instance.
    energy_price
        Cost of a Wh on top.

    Returns
    -------
    RoutingProblem
        The problem. Training beyond the capacity of a site leaves no capacity there.

    Raises
    ------
    InputError
        If training is negative or has another shape.
    OptionError
        If a number is none, a price or weight is not finite, or the split is unknown, or is
        ``"free"`` for a part of a frame.

    Notes
    -----
    Zhu et al., problem P2 with (8) to (11). Requests are served once, neither less nor more: with
    negative prices more would pay.
    """
    shown = [slots] if isinstance(slots, Conditions) else list(slots)
    load = np.zeros(instance.sites) if training is None else real_array("training", training)
    if load.shape != (instance.sites,) or not (load >= 0).all():
        raise InputError("training", f"must be {instance.sites} amounts that are not negative")
    each, room = training_room(instance, load, len(shown), split)
    routes = find_routes(instance, shown)
    energy = instance.request_energy
    weight = instance.energy_weight if energy_weight is None else energy_weight
    per_second = instance.delay_weight if delay_weight is None else delay_weight
    cost = cost_routes(*routes, energy, weight * price + energy_price, per_second)
    return RoutingProblem(
        demand=np.stack([one.requests for one in shown]),
        capacity=np.broadcast_to(each, (len(shown), instance.sites)),
        room=room,
        budget=float(budget),
        work=instance.request_work,
        energy=energy,
        first=routes.first,
        site=routes.site,
        seconds=routes.seconds,
        cost=cost,
        training_share=1.0 / instance.slots if split == "even" else 0.0,
    )


def training_room(
    instance: EdrInstance, training: Floats, slots: int, split: Split
) -> tuple[Floats, Floats]:
    """Return what training leaves to requests, per slot and in all slots, GFLOP, shape [J] each."""
    if split == "even":
        each = _rest(instance.capacity, training / instance.slots)
        return each, np.full(instance.sites, np.inf)
    if split != "free":
        raise OptionError(f"split = {split!r}: must be 'even' or 'free'")
    if slots != instance.slots:
        raise OptionError(f"split = 'free' takes the {instance.slots} slots of a frame together")
    return instance.capacity, _rest(slots * instance.capacity, training)


def _rest(capacity: Floats, taken: Floats) -> Floats:
    """Return what is left of capacities; what rounding leaves of a full one is nothing."""
    left = capacity - taken
    return np.where(left > DUST * capacity, left, 0.0)
