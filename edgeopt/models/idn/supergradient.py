r"""A supergradient of the gain: centrally, and by messages along the paths of the requests."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.models.idn.checks import checked_allocation, checked_amounts
from edgeopt.models.idn.kernels import supergradient_kernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["Messages", "supergradient", "supergradient_by_messages"]


def supergradient(
    instance: IdnInstance, requests: ArrayLike, potential: ArrayLike, allocation: ArrayLike
) -> NDArray[np.float64]:
    r"""Return a supergradient of the gain of one slot at an allocation.

    .. math::

       g_{vm} = \sum_{\rho:\, r_\rho > 0} l_{\rho vm}\, \big(\gamma^{K^*}_\rho - C_{\rho vm}\big)^+,
       \qquad K^*_\rho = \min\Big\{k : \sum_{k' \le k} y\, l_{\rho k'} \ge r_\rho\Big\}

    Parameters
    ----------
    instance
        The network.
    requests
        Requests of each type, shape [R].
    potential
        Potential capacity of each option of the ranking, requests, shape [P].
    allocation
        Where to take it, fractional as a rule, shape [V, M].

    Returns
    -------
    Gain per unit of every entry, ms, shape [V, M].

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equation (18), with the positive part that
    the printed sum lacks, and with the last rank allowed as :math:`K^*`: it often is the repository
    that closes the demand.
    """
    ranking = instance.ranking
    gradient = np.empty(instance.size.shape)
    supergradient_kernel(
        ranking.first,
        ranking.cell,
        ranking.cost,
        checked_amounts("requests", requests, (instance.types,)),
        checked_amounts("potential", potential, ranking.cell.shape),
        checked_allocation(instance, allocation).ravel(),
        gradient.ravel(),
    )
    return gradient


class Messages(NamedTuple):
    """A supergradient computed by the nodes, and how many messages that took.

    Attributes
    ----------
    gradient
        Gain per unit of every entry, ms, shape [V, M].
    messages
        Hops that messages travelled for each type, both ways, shape [R].
    """

    gradient: NDArray[np.float64]
    messages: NDArray[np.int64]


@dataclass
class _Upward:
    """What travels from the entry node towards the repository."""

    requests: float
    served: float = 0.0
    # (cost, how many nodes were visited before, model, capacity offered), cheapest first.
    pending: list[tuple[float, int, int, float]] = field(default_factory=list)
    visited: int = 0
    last_cost: float = 0.0


class _Local(NamedTuple):
    """What a node on the path of a type knows: its own models and one static number."""

    cost: NDArray[np.float64]
    model: NDArray[np.int64]
    potential: NDArray[np.float64]
    hosted: NDArray[np.float64]
    cheapest_beyond: float

    def forward(self, message: _Upward) -> bool:
        """Add the own offers, rank what can be ranked here; return whether the demand closes."""
        for cost, model, potential, hosted in zip(
            self.cost, self.model, self.potential, self.hosted, strict=True
        ):
            offer = float(hosted * potential)
            insort(message.pending, (float(cost), message.visited, int(model), offer))
        message.visited += 1
        while message.pending and message.pending[0][0] <= self.cheapest_beyond:
            message.last_cost, _, _, offer = message.pending.pop(0)
            message.served += offer
            if message.served >= message.requests:
                return True
        return False

    def credit(self, closing_cost: float) -> NDArray[np.float64]:
        """Return the gain per unit of each own model."""
        return self.potential * np.maximum(0.0, closing_cost - self.cost)


def supergradient_by_messages(
    instance: IdnInstance, requests: ArrayLike, potential: ArrayLike, allocation: ArrayLike
) -> Messages:
    r"""Compute the supergradient as the nodes would, each from what it knows and is told.

    A message travels up the path with the requests, what is served so far and the offers not yet
    ranked; a node ranks all offers that no node further up can undercut. Where the demand closes,
    the cost of the last offer needed turns back, and each node that it passes credits its models.

    Parameters
    ----------
    instance
        The network.
    requests
        Requests of each type, shape [R].
    potential
        Potential capacity of each option of the ranking, requests, shape [P].
    allocation
        Where to take it, shape [V, M].

    Returns
    -------
    Messages
        The same gradient as `supergradient`, and the messages of each type: one up and one down
        every edge between its entry and the node where its demand closes.

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section IV-A.
    """
    requests = checked_amounts("requests", requests, (instance.types,))
    potential = checked_amounts("potential", potential, instance.ranking.cell.shape)
    hosted = checked_allocation(instance, allocation).astype(np.float64)
    gradient = np.zeros(instance.size.shape)
    messages = np.zeros(instance.types, dtype=np.int64)
    for n in range(instance.types):
        if requests[n] <= 0.0:
            continue
        nodes, stations = _stations(instance, n, potential, hosted)
        message = _Upward(float(requests[n]))
        stop = next(
            (j for j, station in enumerate(stations) if station.forward(message)),
            len(stations) - 1,
        )
        messages[n] = 2 * stop
        for node, station in zip(nodes[: stop + 1], stations, strict=False):
            gradient[node, station.model] += station.credit(message.last_cost)
    return Messages(gradient, messages)


def _stations(
    instance: IdnInstance,
    type_: int,
    potential: NDArray[np.float64],
    hosted: NDArray[np.float64],
) -> tuple[list[int], list[_Local]]:
    """Hand every node on the path of a type its own part of the data."""
    ranking = instance.ranking
    here = ranking.options(type_)
    position, cost = ranking.position[here], ranking.cost[here]
    nodes, stations = [], []
    for j in range(int(position.max()) + 1 if position.size else 0):
        mine = position == j
        beyond = cost[position > j]
        model = ranking.model[here][mine]
        node = int(instance.path[type_, j])
        nodes.append(node)
        stations.append(
            _Local(
                cost[mine],
                model,
                potential[here][mine],
                hosted[node, model],
                float(beyond.min()) if beyond.size else np.inf,
            )
        )
    return nodes, stations
