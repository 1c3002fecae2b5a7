"""How the energy that a frame's cap leaves to inference is split over its slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeopt.models.edr.routing import routing_problem, solve_routing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import Conditions, RoutingPlan, RoutingProblem
    from edgeopt.models.edr.routing.problem import Elastic
    from edgeopt.online.edr.events import Slot

    Floats = NDArray[np.float64]

Budget: TypeAlias = Literal["even", "left", "proportional", "price"]
BUDGETS: tuple[Budget, ...] = ("even", "left", "proportional", "price")


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


def slot_budget(split: Budget, slot: Slot, slots: int, needs: Floats | None = None) -> float:
    r"""Return the energy that the requests of a slot may use.

    Parameters
    ----------
    split
        ``"even"``: the same for every slot, whatever the slots before have used. ``"left"``: what
        is left of the frame, split evenly over the slots that are left. ``"proportional"`` and
        ``"price"``: what is left, in proportion to `needs`.
    slot
        The slot.
    slots
        Slots of the frame, D.
    needs
        Energy that each slot of the frame is expected to need, Wh, shape [D], from
        `expected_needs`; without it the last two splits are ``"left"``.

    Returns
    -------
    Wh, at least 0; infinity without a cap.

    Notes
    -----
    ``"even"`` is the right-hand side of Zhu et al., equation (8), with the rounds that are carried
    out in place of the fractional ones.
    """
    if slot.cap == np.inf:
        return float("inf")
    room = slot.cap - slot.training_energy
    if split == "even":
        return max(room / slots, 0.0)
    left = room - slot.spent
    share = 1.0 / (slots - slot.slot)
    if split != "left" and needs is not None:
        ahead = float(needs[slot.slot :].sum())
        if ahead > 0.0:
            share = float(needs[slot.slot]) / ahead
    return max(left * share, 0.0)


def expected_needs(
    split: Budget,
    instance: EdrInstance,
    slot: Slot,
    requests: Floats | None,
    terms: Terms,
    elastic: Elastic,
) -> Floats | None:
    """Return the energy that each slot of a frame is expected to need, Wh, shape [D]."""
    if requests is None or split in ("even", "left") or slot.cap == np.inf:
        return None
    if split == "proportional":
        return mean_need(instance, requests)
    conditions = [slot.conditions._replace(requests=expected) for expected in requests]
    room = max(slot.cap - slot.training_energy, 0.0)
    problem = routing(instance, conditions, terms, slot.training, room)
    plan = solve_routing(problem, elastic=elastic)
    used = plan.flow * problem.route_energy
    return np.bincount(problem.slot, used, instance.slots).astype(np.float64)


def update_needs(instance: EdrInstance, slot: Slot, requests: Floats, needs: Floats) -> Floats:
    """Rescale what a slot is expected to need now that its requests are known, shape [D]."""
    expected = float(mean_need(instance, requests[slot.slot]))
    actual = float(mean_need(instance, slot.conditions.requests))
    updated = needs.copy()
    if expected > 0.0:
        updated[slot.slot] *= actual / expected
    else:
        updated[slot.slot] = actual
    return updated


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
