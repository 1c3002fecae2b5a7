"""Spanning trees and pivots of the network simplex method, on arrays that compiled code walks.

Nodes are sources, then sinks, then groups of sinks, then the root. Every node but the root hangs on
its parent by one *basic* arc. Arcs are numbered: routes as they come, then for every source the arc
that leaves its supply unserved, then for every sink the arc that drains it, then the same for every
group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOBODY = -1


class Network(NamedTuple):
    """A transportation problem, see `edgeopt.solvers.network_simplex.TransportSimplex`."""

    # routes of source s are ``first[s]`` to ``first[s + 1] - 1``, shape [sources + 1]
    first: NDArray[np.int64]
    sink: NDArray[np.int32]  # sink of each route, shape [routes]
    supply: NDArray[np.float64]  # amount at each source, shape [sources]
    # capacity of the arcs that drain sinks, then groups, shape [sinks + groups]
    capacity: NDArray[np.float64]
    group: NDArray[np.int64]  # group of each sink, shape [sinks]; empty if there are no groups


class Tree(NamedTuple):
    """A spanning tree with its flows and prices; nodes x."""

    # parent, arc, upward, flow: node above, basic arc to it, whether that arc points at it, and its
    # flow, shape [x]
    parent: NDArray[np.int64]
    arc: NDArray[np.int64]
    upward: NDArray[np.bool_]
    flow: NDArray[np.float64]
    depth: NDArray[np.int64]  # number of arcs to the root, shape [x]
    # child, following, preceding: first child, next and previous sibling, -1 for none, shape [x]
    child: NDArray[np.int64]
    following: NDArray[np.int64]
    preceding: NDArray[np.int64]
    # price of a unit at each node, 0 at the root, shape [x]. The reduced cost of an arc from u to v
    # is its cost + potential[u] - potential[v]
    potential: NDArray[np.float64]
    # whether a draining arc outside the tree is full rather than empty, shape [sinks + groups]
    full: NDArray[np.bool_]
    stack: NDArray[np.int64]  # room for walks, shape [x]


def new_tree(nodes: int, drains: int) -> Tree:
    """Return the arrays of a tree of which every node is still on its own."""
    link = [np.full(nodes, NOBODY, dtype=np.int64) for _ in range(5)]
    return Tree(
        parent=link[0],
        arc=link[1],
        upward=np.ones(nodes, dtype=np.bool_),
        flow=np.zeros(nodes),
        depth=np.zeros(nodes, dtype=np.int64),
        child=link[2],
        following=link[3],
        preceding=link[4],
        potential=np.zeros(nodes),
        full=np.zeros(drains, dtype=np.bool_),
        stack=np.empty(nodes, dtype=np.int64),
    )


@compiled
def attach(tree: Tree, node: int, parent: int, arc: int, upward: bool, flow: float) -> None:
    """Hang a node, with all below it, on a parent; depths and prices are left as they were."""
    tree.parent[node] = parent
    tree.arc[node] = arc
    tree.upward[node] = upward
    tree.flow[node] = flow
    eldest = tree.child[parent]
    tree.following[node] = eldest
    tree.preceding[node] = NOBODY
    if eldest != NOBODY:
        tree.preceding[eldest] = node
    tree.child[parent] = node


@compiled
def detach(tree: Tree, node: int) -> None:
    """Take a node, with all below it, off its parent."""
    before, after = tree.preceding[node], tree.following[node]
    if before == NOBODY:
        tree.child[tree.parent[node]] = after
    else:
        tree.following[before] = after
    if after != NOBODY:
        tree.preceding[after] = before


@compiled
def _reroot(tree: Tree, node: int, top: int) -> None:
    """Turn the path from `node` up to `top`, which is off its parent already, upside down."""
    # The stem of a pivot (Ahuja, Magnanti, Orlin: Network Flows, 1993, chapter 11).
    if node == top:
        return
    parent = tree.parent[node]
    arc, upward, flow = tree.arc[node], tree.upward[node], tree.flow[node]
    detach(tree, node)
    while node != top:
        turned, parent_of_turned = parent, tree.parent[parent]
        kept = tree.arc[turned], tree.upward[turned], tree.flow[turned]
        if turned != top:
            detach(tree, turned)
        attach(tree, turned, node, arc, not upward, flow)
        arc, upward, flow = kept
        node, parent = turned, parent_of_turned


@compiled
def _refresh(
    network: Network, cost: NDArray[np.float64], unserved: NDArray[np.float64], tree: Tree
) -> None:
    """Compute all depths and prices from the top, at the costs of routes and unserved supply."""
    routes, sources = cost.size, unserved.size
    root = tree.parent.size - 1
    tree.depth[root], tree.potential[root] = 0, 0.0
    tree.stack[0] = root
    waiting = 1
    while waiting > 0:
        waiting -= 1
        parent = tree.stack[waiting]
        node = tree.child[parent]
        while node != NOBODY:
            arc, price = tree.arc[node], 0.0
            if arc < routes:
                price = cost[arc]
            elif arc < routes + sources:
                price = unserved[arc - routes]
            tree.depth[node] = tree.depth[parent] + 1
            tree.potential[node] = tree.potential[parent] + (-price if tree.upward[node] else price)
            tree.stack[waiting] = node
            waiting += 1
            node = tree.following[node]


BLOCK = 400  # arcs that are priced before the best of them enters the basis
DRAIN = 8  # arcs that one draining arc counts as: the best of many of these is no better
DRIFT = 50  # pivots whose rounding, each below 1 part in 10^15, cannot pass for a cheaper arc


@compiled
def optimise(
    network: Network,
    cost: NDArray[np.float64],
    unserved: NDArray[np.float64],
    tree: Tree,
    tolerance: float,
    limit: int,
) -> int:
    """Pivot until no arc prices out by more than `tolerance`."""
    # Block search: the best of a block of arcs enters, and the next search goes on behind it
    # (Kiraly and Kovacs, Acta Universitatis Sapientiae, Informatica 4, 2012).
    items = unserved.size + network.capacity.size
    _refresh(network, cost, unserved, tree)
    pivots, item, idle, since = 0, 0, 0, 0
    while True:
        worst, entering, tail, priced = -tolerance, NOBODY, NOBODY, 0
        while priced < BLOCK and idle < items:
            if item < unserved.size:
                price, arc = _price_source(network, cost, unserved, tree, item)
                priced += network.first[item + 1] - network.first[item] + 1
            else:
                price, arc = _price_drain(network, cost, unserved, tree, item)
                priced += DRAIN
            if price < worst and tree.arc[item] != arc:
                worst, entering, tail = price, arc, item
            idle += 1
            item = item + 1 if item + 1 < items else 0
        if entering != NOBODY and not _is_basic_below(network, cost, unserved, tree, entering):
            if pivots == limit:
                return -1
            _pivot(network, cost, unserved, tree, tail, entering)
            pivots += 1
            idle, since = 0, since + 1
        elif idle >= items:
            # Prices drift a little with every pivot: only fresh ones prove optimality.
            if since <= DRIFT:
                return pivots
            _refresh(network, cost, unserved, tree)
            idle, since = 0, 0


@compiled
def _price_source(
    network: Network,
    cost: NDArray[np.float64],
    unserved: NDArray[np.float64],
    tree: Tree,
    source: int,
) -> tuple[float, int]:
    """Return the least reduced cost of an arc that leaves a source, and that arc."""
    sources, own = unserved.size, tree.potential[source]
    best, arc = unserved[source], cost.size + source
    for route in range(network.first[source], network.first[source + 1]):
        price = cost[route] - tree.potential[sources + network.sink[route]]
        if price < best:
            best, arc = price, route
    return best + own, arc


@compiled
def _price_drain(
    network: Network,
    cost: NDArray[np.float64],
    unserved: NDArray[np.float64],
    tree: Tree,
    node: int,
) -> tuple[float, int]:
    """Return the reduced cost of the arc that drains a node, negated if it is full."""
    drain = node - unserved.size
    price = tree.potential[node] - tree.potential[_drained_into(network, tree, node, unserved.size)]
    return (-price if tree.full[drain] else price), cost.size + node


@compiled
def _drained_into(network: Network, tree: Tree, node: int, sources: int) -> int:
    """Return where the arc leads that drains a sink or a group."""
    drain = node - sources
    if drain < network.group.size:
        return int(sources + network.group.size + network.group[drain])
    return tree.parent.size - 1


@compiled
def _is_basic_below(
    network: Network,
    cost: NDArray[np.float64],
    unserved: NDArray[np.float64],
    tree: Tree,
    arc: int,
) -> bool:
    """Return whether an arc is basic and its head hangs on its tail."""
    if arc < cost.size:
        return bool(tree.arc[unserved.size + network.sink[arc]] == arc)
    if arc < cost.size + unserved.size:
        return False
    head = _drained_into(network, tree, arc - cost.size, unserved.size)
    return bool(tree.arc[head] == arc)


@compiled
def _capacity(network: Network, arc: int, unlimited: int) -> float:
    """Return the capacity of an arc; arcs below `unlimited` have none."""
    return np.inf if arc < unlimited else float(network.capacity[arc - unlimited])


@compiled
def _room(network: Network, tree: Tree, node: int, unlimited: int, grows: bool) -> float:
    """Return by how much the flow of the basic arc of a node can grow, or shrink."""
    if grows:
        return float(_capacity(network, tree.arc[node], unlimited) - tree.flow[node])
    return float(tree.flow[node])


@compiled
def _pivot(
    network: Network,
    cost: NDArray[np.float64],
    unserved: NDArray[np.float64],
    tree: Tree,
    tail: int,
    entering: int,
) -> None:
    """Push flow along the cycle that an arc closes, until an arc of it leaves the basis."""
    routes, sources = cost.size, unserved.size
    unlimited = routes + sources
    root = tree.parent.size - 1
    drain = entering - unlimited
    if entering < routes:
        head = sources + int(network.sink[entering])
        reduced = cost[entering] + tree.potential[tail] - tree.potential[head]
    elif drain < 0:
        head = root
        reduced = unserved[tail] + tree.potential[tail]
    else:
        head = _drained_into(network, tree, tail, sources)
        reduced = tree.potential[tail] - tree.potential[head]
    backward = drain >= 0 and tree.full[drain]
    origin, target = (head, tail) if backward else (tail, head)

    # Flow goes from the join down to the origin, along the arc, and from the target up again. The
    # last arc that blocks on this way leaves: bases stay strongly feasible, and none recurs
    # (Cunningham, Mathematical Programming 11, 1976).
    push = _capacity(network, entering, unlimited)
    leaving, on_way_down, filled = NOBODY, True, False
    a, b = origin, target
    while a != b:
        if tree.depth[a] >= tree.depth[b]:
            grows = not tree.upward[a]
            room = _room(network, tree, a, unlimited, grows)
            if room < push:
                push, leaving, on_way_down, filled = room, a, True, grows
            a = int(tree.parent[a])
        else:
            b = int(tree.parent[b])
    join = a
    b = target
    while b != join:
        grows = tree.upward[b]
        room = _room(network, tree, b, unlimited, grows)
        if room <= push:
            push, leaving, on_way_down, filled = room, b, False, grows
        b = int(tree.parent[b])

    if push > 0.0:
        a = origin
        while a != join:
            tree.flow[a] += -push if tree.upward[a] else push
            a = int(tree.parent[a])
        b = target
        while b != join:
            tree.flow[b] += push if tree.upward[b] else -push
            b = int(tree.parent[b])
    else:
        push = 0.0
    if leaving == NOBODY:  # bound flip: the arc goes from empty to full, or back, outside the tree
        tree.full[drain] = not tree.full[drain]
        return

    gone = tree.arc[leaving]
    if gone >= unlimited:
        tree.full[gone - unlimited] = filled
    flow = push
    if backward:
        flow = network.capacity[drain] - push
        tree.full[drain] = False
    moved, anchor = (origin, target) if on_way_down else (target, origin)
    detach(tree, leaving)
    _reroot(tree, moved, leaving)
    attach(tree, moved, anchor, entering, moved == tail, flow)
    _shift(tree, moved, -reduced if moved == tail else reduced)


@compiled
def _shift(tree: Tree, top: int, change: float) -> None:
    """Change the prices of a node and all below it, and count their depths anew."""
    tree.potential[top] += change
    tree.depth[top] = tree.depth[tree.parent[top]] + 1
    tree.stack[0] = top
    waiting = 1
    while waiting > 0:
        waiting -= 1
        parent = tree.stack[waiting]
        depth = tree.depth[parent] + 1
        node = tree.child[parent]
        while node != NOBODY:
            tree.potential[node] += change
            tree.depth[node] = depth
            if tree.child[node] != NOBODY:
                tree.stack[waiting] = node
                waiting += 1
            node = tree.following[node]
