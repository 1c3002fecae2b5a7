"""A feasible spanning tree to start from: every source fills the cheapest sinks that have room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.solvers.transport.tree import NOBODY, Network, Tree, attach, detach

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fill", "urgency"]


@compiled
def fill(
    network: Network,
    cost: NDArray[np.float64],
    price: NDArray[np.float64],
    order: NDArray[np.int64],
    tree: Tree,
) -> None:
    """Build a tree greedily, source by source in an order, such as that of their `urgency`."""
    sources, sinks = network.supply.size, price.size
    root, drain_arcs = tree.parent.size - 1, cost.size
    grouped = network.group.size > 0
    for node in range(sources, root):
        sink = node - sources
        into = sources + sinks + network.group[sink] if grouped and sink < sinks else root
        attach(tree, node, into, drain_arcs + node, True, 0.0)
    room = network.capacity.copy()
    for source in order:
        left = network.supply[source]
        while True:
            best, route = np.inf, NOBODY
            if left > 0.0:
                for r in range(network.first[source], network.first[source + 1]):
                    sink = network.sink[r]
                    if cost[r] + price[sink] < best and _room(network, room, sink, sinks) > 0.0:
                        best, route = cost[r] + price[sink], r
            if route == NOBODY:
                attach(tree, source, root, cost.size + source, True, left)
                break
            sink = network.sink[route]
            node, space = sources + sink, _room(network, room, sink, sinks)
            group = sinks + network.group[sink] if grouped else NOBODY
            taken = min(left, space)
            within = not grouped or room[sink] <= room[group]
            room[sink] -= taken
            if grouped:
                room[group] -= taken
            if left <= space:
                attach(tree, source, node, route, True, left)
                break
            # The source fills the sink, or its group, and holds what it has filled from then on.
            left -= taken
            if within:
                room[sink] = 0.0
                tree.full[sink] = True
                detach(tree, node)
            else:
                room[group] = 0.0
                tree.full[group] = True
                detach(tree, node)
                detach(tree, sources + group)
                attach(tree, sources + group, node, drain_arcs + node, False, 0.0)
            attach(tree, node, source, route, False, taken)
    for node in range(sources, root):
        # The arc of a sink or a group that was not filled, or of a sink that filled its group.
        arc = tree.arc[node]
        if arc >= drain_arcs + sources:
            drain = arc - drain_arcs - sources
            tree.flow[node] = network.capacity[drain] - room[drain]


@compiled
def urgency(
    network: Network, cost: NDArray[np.float64], price: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how much dearer the second sink of each source is than the first, negated."""
    gap = np.empty(network.supply.size)
    for source in range(gap.size):
        best, second = np.inf, np.inf
        for route in range(network.first[source], network.first[source + 1]):
            value = cost[route] + price[network.sink[route]]
            if value < best:
                best, second = value, best
            elif value < second:
                second = value
        gap[source] = -np.inf if second == np.inf else best - second
    return gap


@compiled
def _room(network: Network, room: NDArray[np.float64], sink: int, sinks: int) -> float:
    """Return how much more a sink can take."""
    if network.group.size == 0:
        return float(room[sink])
    return float(min(room[sink], room[sinks + network.group[sink]]))
