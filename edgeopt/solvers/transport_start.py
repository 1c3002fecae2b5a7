"""Where the network simplex starts: greedy trees, and whether the last tree is still a good one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.solvers.transport_tree import NOBODY, Network, Tree, attach, detach, new_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray


def greedy(network: Network, cost: NDArray[np.float64], price: NDArray[np.float64]) -> Tree:
    """Return the tree that prices of sinks lead to."""
    drains = network.capacity.size
    tree = new_tree(network.supply.size + drains + 1, drains)
    order = np.argsort(_urgency(network, cost, price), kind="stable")
    _fill(network, cost, price, order, tree)
    return tree


@compiled
def _fill(
    network: Network,
    cost: NDArray[np.float64],
    price: NDArray[np.float64],
    order: NDArray[np.int64],
    tree: Tree,
) -> None:
    """Build a tree greedily, source by source in an order, such as that of their `_urgency`."""
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
def _urgency(
    network: Network, cost: NDArray[np.float64], price: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how much dearer the second sink of each source is than the first, negated."""
    gap = np.empty(network.supply.size, dtype=np.float64)
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


SAMPLE = 256  # sources that say how many have a cheaper route than those of the tree


@compiled
def astray(
    network: Network,
    cost: NDArray[np.float64],
    unserved: NDArray[np.float64],
    price: NDArray[np.float64],
    tree: Tree,
) -> float:
    """Return the share of sources whose cheapest route, at prices of sinks, is not in the tree."""
    sources = unserved.size
    seen, astray = 0, 0
    for source in range(0, sources, max(sources // SAMPLE, 1)):
        best, route = unserved[source], NOBODY
        for r in range(network.first[source], network.first[source + 1]):
            value = cost[r] + price[network.sink[r]]
            if value < best:
                best, route = value, r
        seen += 1
        if route != NOBODY and tree.arc[source] != route:
            astray += tree.arc[sources + network.sink[route]] != route
    return astray / max(seen, 1)


@compiled
def value(cost: NDArray[np.float64], unserved: NDArray[np.float64], tree: Tree) -> float:
    """Return the cost of the flow of a tree."""
    total = 0.0
    for node in range(tree.arc.size - 1):
        arc = tree.arc[node]
        if arc < cost.size:
            total += cost[arc] * tree.flow[node]
        elif arc < cost.size + unserved.size:
            total += unserved[arc - cost.size] * tree.flow[node]
    return total
