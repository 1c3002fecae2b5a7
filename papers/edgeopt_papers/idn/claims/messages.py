"""The supergradient as the nodes of a network compute it, by messages along the paths.

Si Salem et al., Toward inference delivery networks, section IV-A.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance


class Messages(NamedTuple):
    """A supergradient computed by the nodes, and how many messages that took."""

    gradient: NDArray[np.float64]  # gain per unit of every entry, ms, shape [V, M]
    messages: NDArray[np.int64]  # hops that they travelled for each type, both ways, shape [R]


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
    instance: IdnInstance,
    requests: NDArray[np.float64],
    potential: NDArray[np.float64],
    hosted: NDArray[np.float64],
) -> Messages:
    """Compute the supergradient as the nodes would, each from its own data and its messages.

    A message travels up the path with the requests, what is served so far and the offers not yet
    ranked; a node ranks all offers that no node further up can undercut. Where the demand closes,
    the cost of the last offer needed turns back, and each node that it passes credits its models:
    one message up and one down every edge between the entry and the node where demand closes.
    """
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
