"""Flows of requests in a slot: whether they can be carried out, and their energy and delay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.models.edr.routing import RoutingPlan
from edgeopt.online.edr.events import Flows
from edgeopt.options import plain_array
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import Conditions

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_FINE: Final = 0
_INDEX: Final = 1
_AMOUNT: Final = 2
_INCAPABLE: Final = 3
_LATE: Final = 4
_OVERSERVED: Final = 5
_OVERLOADED: Final = 6


class Carried(NamedTuple):
    """Energy, delay and load of flows."""

    energy: float  # energy, Wh
    delay: float  # delays of all requests, summed, s
    load: Floats  # computation on each site, GFLOP, [J]
    unserved: Floats  # requests that no flow serves, [J, N]; what is within rounding of 0 is 0


def flows_of(decision: object, sites: int, types: int) -> Flows:
    """Return the flows of a decision."""
    if isinstance(decision, RoutingPlan):
        problem = decision.problem
        if problem.demand.shape != (1, sites, types):
            raise OptionError(f"a plan must be of one slot, {sites} sites and {types} types")
        origin, kind = np.divmod(decision.row, types)
        site = problem.site[decision.used].astype(np.int64)
        return Flows(origin, site, kind, decision.amount)
    if not isinstance(decision, Flows):
        raise OptionError("the decision of a slot must be a RoutingPlan or Flows")
    columns = [plain_array(f"{name} of Flows", getattr(decision, name)) for name in Flows._fields]
    if any(column.shape != (columns[0].size,) for column in columns):
        raise OptionError("the columns of Flows must be of equal length")
    if any(column.dtype.kind not in "iu" for column in columns[:3]):
        raise OptionError("origin, site and type of Flows must be whole numbers")
    if columns[3].dtype.kind not in "iuf":
        raise OptionError("amount of Flows must be numbers")
    where = [column.astype(np.int64) for column in columns[:3]]
    return Flows(where[0], where[1], where[2], columns[3].astype(np.float64))


def carry_out(
    instance: EdrInstance, seen: Conditions, flows: Flows, quality: Floats, traffic: Floats
) -> Carried:
    """Carry flows out, if that is possible."""
    load, served = np.zeros(instance.sites), np.zeros_like(seen.requests)
    fault, at, energy, delay = _carry_out(
        *flows, *seen, instance.capable, instance.request_work, instance.request_size,
        instance.speed, instance.request_energy, instance.capacity,
        load, served, quality, traffic,
    )  # fmt: skip
    if fault != _FINE:
        raise OptionError(_describe(instance, seen, flows, load, served, fault, at))
    unserved = seen.requests - served
    unserved[unserved <= TIGHT * seen.requests] = 0.0
    return Carried(energy, delay, load, unserved)


def _describe(
    instance: EdrInstance,
    seen: Conditions,
    flows: Flows,
    load: Floats,
    served: Floats,
    fault: int,
    at: int,
) -> str:
    if fault == _OVERSERVED:
        j, n = divmod(at, instance.types)
        arrived = seen.requests[j, n]
        return f"{served[j, n]} requests of type {n} from site {j} are served, {arrived} arrived"
    if fault == _OVERLOADED:
        return f"site {at} cannot serve {load[at]} GFLOP: it does {instance.capacity[at]} in a slot"
    j, k, n, amount = (column[at] for column in flows)
    what = f"flow {at}, {amount} requests of type {n} from site {j} to site {k}"
    return {
        _INDEX: f"{what}: there is no such site or type",
        _AMOUNT: f"{what}: must be a number >= 0",
        _INCAPABLE: f"{what}: the site cannot serve the type",
        _LATE: f"{what}: takes longer than the objective allows",
    }[fault]


@compiled(writes="load served quality traffic")
def _carry_out(
    origin: Ints,
    site: Ints,
    type_: Ints,
    amount: Floats,
    requests: Floats,
    propagation: Floats,
    slo: Floats,
    rate: Floats,
    capable: NDArray[np.bool_],
    work: Floats,
    size: Floats,
    speed: Floats,
    request_energy: Floats,
    capacity: Floats,
    load: Floats,
    served: Floats,
    quality: Floats,
    traffic: Floats,
) -> tuple[int, int, float, float]:
    """Return the first fault, where it is, energy and delay; fill in the four last arrays."""
    energy, total = 0.0, 0.0
    sites, types = requests.shape
    for a in range(amount.size):
        j, k, n, y = origin[a], site[a], type_[a], amount[a]
        if min(j, k, n) < 0 or max(j, k) >= sites or n >= types:
            return _INDEX, a, energy, total
        if not (0.0 <= y < np.inf):
            return _AMOUNT, a, energy, total
        if y == 0.0:
            continue
        if not capable[k, n]:
            return _INCAPABLE, a, energy, total
        travel = propagation[j, k] + propagation[k, j]
        delay = travel + work[n] / speed[k] + size[n] / rate[j, k]
        if delay > slo[n] * (1.0 + TIGHT):
            return _LATE, a, energy, total
        energy += y * request_energy[k, n]
        total += y * delay
        load[k] += y * work[n]
        served[j, n] += y
        quality[min(int(delay / slo[n] * quality.size), quality.size - 1)] += y
        traffic[j, k] += y
    for j in range(sites):
        for n in range(types):
            if served[j, n] > requests[j, n] * (1.0 + TIGHT):
                return _OVERSERVED, j * types + n, energy, total
    for k in range(sites):
        if load[k] > capacity[k] * (1.0 + TIGHT):
            return _OVERLOADED, k, energy, total
    return _FINE, 0, energy, total
