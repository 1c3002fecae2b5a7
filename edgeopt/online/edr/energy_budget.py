"""How the energy that a frame's cap leaves to inference is split over its slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.models.edr.routing import routing_problem, solve_routing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import Conditions, RoutingPlan, RoutingProblem
    from edgeopt.models.edr.routing.problem import Elastic
    from edgeopt.online.edr.events import Slot

    Floats = NDArray[np.float64]


class Terms(NamedTuple):
    """What a policy lets energy and delay cost when it routes requests.

    Attributes
    ----------
    price
        Price of energy that it expects, $/Wh.
    energy_price
        What a Wh costs on top, in units of cost.
    energy_weight, delay_weight
        Weights instead of those of the instance; None: the instance's.
    capped
        Whether slots have an energy budget at all.
    """

    price: float
    energy_price: float = 0.0
    energy_weight: float | None = None
    delay_weight: float | None = None
    capped: bool = True


def slot_budget(slot: Slot, slots: int) -> float:
    r"""Return the energy that the requests of a slot may use.

    What training leaves of a frame's cap is split evenly, whatever the slots before have used.

    Parameters
    ----------
    slot
        The slot.
    slots
        Slots of the frame, D.

    Returns
    -------
    Wh, at least 0; infinity without a cap.

    Notes
    -----
    The right-hand side of Zhu et al., equation (8), with the rounds that are carried out in place
    of the fractional ones.
    """
    if slot.cap == np.inf:
        return float("inf")
    return max((slot.cap - slot.training_energy) / slots, 0.0)


def mean_need(instance: EdrInstance, requests: Floats) -> Floats:
    """Return the energy of requests [..., J, N] on an average capable site, Wh, shape [...]."""
    capable = instance.capable
    mean = (instance.request_energy * capable).sum(axis=0) / capable.sum(axis=0)
    return np.asarray(requests.sum(axis=-2) @ mean)


def routing(
    instance: EdrInstance,
    conditions: Conditions | list[Conditions],
    terms: Terms,
    training: Floats,
    budget: float,
) -> RoutingProblem:
    """Return the routing problem of one or several slots on a policy's terms."""
    return routing_problem(
        instance,
        conditions,
        price=terms.price,
        training=training,
        budget=budget if terms.capped else float("inf"),
        energy_weight=terms.energy_weight,
        delay_weight=terms.delay_weight,
        energy_price=terms.energy_price,
    )


def route(
    instance: EdrInstance,
    slot: Slot,
    terms: Terms,
    budget: float,
    elastic: Elastic,
    start: RoutingPlan | None = None,
) -> RoutingPlan:
    """Solve the routing problem of a slot; `start` is the plan of the slot before, if any."""
    problem = routing(instance, slot.conditions, terms, slot.training, budget)
    return solve_routing(problem, elastic=elastic, start=start)
