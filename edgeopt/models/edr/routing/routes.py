"""The routes that requests may take, slot by slot, and the routing problems made of them.

A route leads to a capable site within the objective.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import InputError, OptionError
from edgeopt.kernels import compiled
from edgeopt.models.edr.routing.problem import RoutingProblem
from edgeopt.options import check_whole, real_array
from edgeopt.representation import compact_repr
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance


@in_html
@compact_repr
class Conditions(NamedTuple):
    """What a slot shows.

    Attributes
    ----------
    requests
        Requests that arrive at each site, shape [J, N].
    propagation
        One-way propagation delay, s, shape [J, J].
    slo
        Longest delay that a request may have, s, shape [N].
    rate
        Rate of the links, bit/s, 0 where there is none, shape [J, J].

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr.routing import Conditions, conditions
    >>> conditions(small(1), 0, 0).requests.shape
    (3, 1)
    """

    requests: Floats
    propagation: Floats
    slo: Floats
    rate: Floats


def conditions(instance: EdrInstance, frame: int, slot: int) -> Conditions:
    """Return what a slot of an instance shows.

    Parameters
    ----------
    instance
        The instance.
    frame, slot
        Numbers of the frame and of the slot within it, from 0.

    Returns
    -------
    Requests, latencies, objectives and rates of the slot.

    Raises
    ------
    OptionError
        If there is no such frame or slot.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr.routing import conditions
    >>> conditions(small(1), 0, 0)
    Conditions(requests=float64[3, 1], propagation=float64[3, 3], slo=float64[1],
    rate=float64[3, 3])
    """
    check_whole("frame", frame, 0, instance.frames - 1)
    check_whole("slot", slot, 0, instance.slots - 1)
    return Conditions(
        instance.requests[frame, slot],
        instance.propagation[frame, slot],
        instance.slo[frame, slot],
        instance.rate[frame],
    )


class _Routes(NamedTuple):
    """Routes by slot, origin and request type, then by serving site; see `RoutingProblem`."""

    first: NDArray[np.int64]
    site: NDArray[np.int32]
    seconds: Floats
    cost: Floats  # of a request, shape [A]
    dearest: float  # the largest cost by size


def _routes(
    instance: EdrInstance, slots: Sequence[Conditions], charge: Floats, per_second: float
) -> _Routes:
    """Return routes, costs of a request on each at a charge per site and type, and the largest."""
    pieces = [_routes_of_slot(instance, one, charge, per_second) for one in slots]
    if len(pieces) == 1:
        return pieces[0]
    firsts, sites, seconds, costs, dearest = zip(*pieces, strict=True)
    ends = np.cumsum([0, *(site.size for site in sites)])
    first = [one[:-1] + end for one, end in zip(firsts, ends, strict=False)]
    every = np.concatenate([*first, ends[-1:]])
    site, delay, cost = (np.concatenate(part) for part in (sites, seconds, costs))
    return _Routes(every, site, delay, cost, max(dearest))


def _routes_of_slot(
    instance: EdrInstance, slot: Conditions, charge: Floats, per_second: float
) -> _Routes:
    """Return the routes of a slot and their costs, see `_routes`."""
    kind, host = np.nonzero(instance.capable.T)
    begin = np.searchsorted(kind, np.arange(instance.types + 1))
    first = np.zeros(instance.sites * instance.types + 1, dtype=np.int64)
    most = instance.sites * host.size
    site, seconds, cost = np.empty(most, dtype=np.int32), np.empty(most), np.empty(most)
    serve = instance.request_work[kind] / instance.speed[host]
    count, dearest = _collect(
        slot.requests, slot.propagation, slot.slo, slot.rate, instance.request_size, begin,
        host.astype(np.uint32), serve, charge[host, kind], per_second, first, site, seconds, cost,
    )  # fmt: skip
    return _Routes(first, site[:count], seconds[:count], cost[:count], dearest)


TOGETHER = 8  # origins whose delays back are read at once: they share a line of the cache


@compiled(writes="first site seconds cost", error_model="numpy")
def _collect(
    requests: Floats,
    propagation: Floats,
    slo: Floats,
    rate: Floats,
    request_size: Floats,
    begin: NDArray[np.int64],
    host: NDArray[np.uint32],
    serve: Floats,
    charge: Floats,
    per_second: float,
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    seconds: Floats,
    cost: Floats,
) -> tuple[np.int64, float]:
    """Fill in the routes of a slot; return their number and the largest absolute cost.

    Sites that can serve type n are ``host[begin[n]:begin[n + 1]]``; ``serve`` and ``charge`` go
    with them.
    """
    sites, types = requests.shape
    travel = np.empty((TOGETHER, sites), dtype=np.float64)
    per_bit = np.empty(sites, dtype=np.float64)
    count, row, dearest = np.int64(0), 0, 0.0
    for origin in range(sites):
        here = origin % TOGETHER
        if here == 0:
            for near in range(min(TOGETHER, sites - origin)):
                for k in range(sites):
                    travel[near, k] = propagation[k, origin + near]
        way, onward, speed = travel[here], propagation[origin], rate[origin]
        for k in range(sites):
            way[k] += onward[k]
            per_bit[k] = 1.0 / speed[k] if speed[k] > 0.0 else np.inf
        per_bit[origin] = 0.0
        for n in range(types):
            if requests[origin, n] > 0.0:
                size, longest = request_size[n], slo[n]
                able = slice(begin[n], begin[n + 1])
                there, serving, charged = host[able], serve[able], charge[able]
                sites_on, seconds_on, cost_on = site[count:], seconds[count:], cost[count:]
                found = np.uint64(0)
                for i in range(there.size):
                    k = there[i]
                    delay = way[k] + serving[i] + size * per_bit[k]
                    if delay <= longest:  # never without a link, where it is infinite or nan
                        each = charged[i] + per_second * delay
                        sites_on[found], seconds_on[found], cost_on[found] = k, delay, each
                        dearest = max(dearest, abs(each))
                        found += np.uint64(1)
                count += np.int64(found)
            row += 1
            first[row] = count
    return count, dearest


Split = Literal["even", "free"]

DUST = 1e-12  # share of a capacity that rounding may leave when training takes all of it


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
        Sites, types, weights and the number of slots of a frame. Its series are not used, so
        that a policy can call this with its own observations.
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

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr.routing import conditions, routing_problem
    >>> instance = small(1)
    >>> routing_problem(instance, conditions(instance, 0, 0), price=float(instance.price[0]))
    RoutingProblem(demand=float64[1, 3, 1], capacity=float64[1, 3], room=float64[3],
    budget=inf, work=float64[1], energy=float64[3, 1], first=int64[4], site=int32[3],
    seconds=float64[3], cost=float64[3])
    """
    shown = [slots] if isinstance(slots, Conditions) else list(slots)
    load = np.zeros(instance.sites) if training is None else real_array("training", training)
    if load.shape != (instance.sites,) or not (load >= 0).all():
        raise InputError("training", f"must be {instance.sites} amounts that are not negative")
    each, room = _training_room(instance, load, len(shown), split)
    energy = instance.request_energy
    weight = instance.energy_weight if energy_weight is None else energy_weight
    per_second = instance.delay_weight if delay_weight is None else delay_weight
    charge = (weight * price + energy_price) * energy
    routes = _routes(instance, shown, charge, per_second)
    problem = RoutingProblem(
        demand=np.stack([one.requests for one in shown]),
        capacity=np.broadcast_to(each, (len(shown), instance.sites)),
        room=room,
        budget=float(budget),
        work=instance.request_work,
        energy=energy,
        first=routes.first,
        site=routes.site,
        seconds=routes.seconds,
        cost=routes.cost,
    )
    vars(problem)["dearest"] = routes.dearest  # known already, at no further look at all costs
    return problem


def _training_room(
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
