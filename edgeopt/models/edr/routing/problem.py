r"""Routing requests of one slot, or of the slots of a frame together.

.. math::

    \min \; & \sum c_a y_a + P \sum u + p\, o \\
    \text{s.t.} \; & \textstyle\sum_{a \in (\tau,j,n)} y_a + u_{\tau j n} = w_{\tau j n}, \quad
        \sum_{a \to (\tau,k)} S_n y_a \le C_{\tau k}, \quad
        \sum_\tau \sum_{a \to (\tau,k)} S_n y_a \le C_k, \quad \sum d_a y_a \le b + o.

Every request is served or counted as unserved (u), and energy above the budget is counted as
excess (o): the problem always has a solution, and what is wrong with it is in plain sight.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.models.edr.routing.kernels import cost_routes
from edgeopt.models.edr.routing.routes import Conditions, find_routes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.edr import EdrInstance

    Floats = NDArray[np.float64]

__all__ = ["Elastic", "Penalties", "RoutingProblem", "Split", "routing_problem", "training_room"]

Elastic = Literal["soft", "shed"]
Split = Literal["even", "free"]

STEEP = 1e2
"""A penalty in units of the largest cost of what it competes with."""
STEEPER = 1e1
"""By how much the penalty of the higher priority outweighs the other one."""


class Penalties(NamedTuple):
    """Prices of what must not happen.

    Attributes
    ----------
    unserved
        Cost of an unserved request.
    excess
        Cost of energy above the budget, per Wh.
    """

    unserved: float
    excess: float


@dataclass(frozen=True, eq=False)
class RoutingProblem:
    """Requests, routes, capacities and an energy budget; S slots together.

    Parameters
    ----------
    demand
        Requests, shape [S, J, N].
    capacity
        Computation for requests in each slot, GFLOP, shape [S, J].
    room
        Computation for requests in all slots together, GFLOP, infinity allowed, shape [J].
    budget
        Energy for all slots together, Wh, infinity allowed. Below 0, whatever is served is excess.
    work
        Computation of a request, GFLOP, shape [N].
    energy
        Energy of a request on each site, Wh, shape [J, N].
    first, site, seconds
        The routes, see `edgeopt.models.edr.routing.Routes`.
    cost
        Cost of a request on each route, shape [A].
    training_share
        Share of a frame's training that the capacity of each slot has been reduced by; 0 if the
        `room` has been reduced instead.
    """

    demand: Floats
    capacity: Floats
    room: Floats
    budget: float
    work: Floats
    energy: Floats
    first: NDArray[np.int64]
    site: NDArray[np.int32]
    seconds: Floats
    cost: Floats
    training_share: float = 0.0

    @property
    def slots(self) -> int:
        """Number of slots S."""
        return int(self.demand.shape[0])

    @property
    def sites(self) -> int:
        """Number of sites J."""
        return int(self.demand.shape[1])

    @property
    def types(self) -> int:
        """Number of request types N."""
        return int(self.demand.shape[2])

    @property
    def routes(self) -> int:
        """Number of routes A."""
        return int(self.site.size)

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """Row (slot, origin, type) of each route, flat, shape [A]."""
        return np.repeat(np.arange(self.demand.size), np.diff(self.first))

    def row_of(self, routes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row of some routes, without counting through all of them."""
        return np.searchsorted(self.first, routes, side="right") - 1

    def restricted(self, routes: NDArray[np.int64]) -> Self:
        """Return the problem on some of its routes, in ascending order."""
        return self.replace(
            first=np.searchsorted(routes, self.first),
            site=self.site[routes],
            seconds=self.seconds[routes],
            cost=self.cost[routes],
        )

    @property
    def slot(self) -> NDArray[np.int64]:
        """Slot of each route, shape [A]."""
        return self.row // (self.sites * self.types)

    @property
    def origin(self) -> NDArray[np.int64]:
        """Site at which the requests of a route arrive, shape [A]."""
        return self.row // self.types % self.sites

    @property
    def type(self) -> NDArray[np.int64]:
        """Request type of each route, shape [A]."""
        return self.row % self.types

    @cached_property
    def route_energy(self) -> Floats:
        """Energy of a request on each route, Wh, shape [A]."""
        return self.energy[self.site, self.type]

    @cached_property
    def coupled(self) -> bool:
        """Whether `room` can bind where the capacities of the slots do not."""
        return bool((self.room < self.capacity.sum(axis=0)).any())

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other demand, capacity, room, budget or cost.

        Demand may only vanish, not appear, where there are no routes for it.
        """
        return dataclasses.replace(self, **changes)

    def with_price(self, energy_price: float) -> Self:
        """Return the problem with each Wh charged on top, per Wh."""
        return self.replace(cost=self.cost + energy_price * self.route_energy)

    def penalties(self, elastic: Elastic = "soft") -> Penalties:
        """Return prices that put what must not happen into order.

        Parameters
        ----------
        elastic
            ``"soft"``: serve even above the budget. ``"shed"``: keep the budget, and leave as few
            requests unserved as that allows.

        Raises
        ------
        OptionError
            If there is no such order.
        """
        if elastic not in ("soft", "shed"):
            raise OptionError(f"elastic = {elastic!r}: must be 'soft' or 'shed'")
        spent = self.energy[self.energy > 0]
        least, most = (float(spent.min()), float(spent.max())) if spent.size else (1.0, 1.0)
        dearest = float(np.abs(self.cost).max(initial=0.0)) or 1.0
        if elastic == "soft":
            excess = STEEP * dearest / least
            return Penalties(unserved=STEEPER * excess * most, excess=excess)
        unserved = STEEP * dearest
        return Penalties(unserved=unserved, excess=STEEPER * unserved / least)


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
        If training is negative or has another shape, or a number is not finite.
    OptionError
        If the split is unknown, or is ``"free"`` for a part of a frame.

    Notes
    -----
    Zhu et al., problem P2 with (8) to (11). Requests are served once, neither less nor more: with
    negative prices more would pay.
    """
    shown = [slots] if isinstance(slots, Conditions) else list(slots)
    load = np.zeros(instance.sites) if training is None else np.asarray(training, np.float64)
    if load.shape != (instance.sites,) or not (load >= 0).all():
        raise InputError("training", f"must be {instance.sites} amounts that are not negative")
    if np.isnan(budget) or not np.isfinite(price) or not np.isfinite(energy_price):
        raise InputError("price", "prices must be finite, and the budget a number")
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
    """Return what training leaves to requests, per slot and in all slots, GFLOP, shape [J] each.

    Raises
    ------
    OptionError
        If the split is unknown, or is ``"free"`` for a part of a frame.
    """
    if split == "even":
        each = np.maximum(instance.capacity - training / instance.slots, 0.0)
        return each, np.full(instance.sites, np.inf)
    if split != "free":
        raise OptionError(f"split = {split!r}: must be 'even' or 'free'")
    if slots != instance.slots:
        raise OptionError(f"split = 'free' takes the {instance.slots} slots of a frame together")
    return instance.capacity, np.maximum(slots * instance.capacity - training, 0.0)
