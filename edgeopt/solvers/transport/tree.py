"""The spanning tree of a network simplex method, as arrays that compiled code walks.

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

__all__ = ["Network", "Tree", "attach", "detach", "new_tree", "refresh", "reroot"]

NOBODY = -1


class Network(NamedTuple):
    """A transportation problem, see `edgeopt.solvers.transport.solve_transport`.

    Attributes
    ----------
    first
        Routes of source s are ``first[s]`` to ``first[s + 1] - 1``, shape [sources + 1].
    sink
        Sink of each route, shape [routes].
    supply
        Amount at each source, shape [sources].
    capacity
        Capacity of the arcs that drain sinks, then groups, shape [sinks + groups].
    group
        Group of each sink, shape [sinks]; empty if there are no groups.
    """

    first: NDArray[np.int64]
    sink: NDArray[np.int32]
    supply: NDArray[np.float64]
    capacity: NDArray[np.float64]
    group: NDArray[np.int64]


class Tree(NamedTuple):
    """A spanning tree with its flows and prices; nodes x.

    Attributes
    ----------
    parent, arc, upward, flow
        Node above, basic arc to it, whether that arc points at it, and its flow, shape [x].
    depth
        Number of arcs to the root, shape [x].
    child, following, preceding
        First child, next and previous sibling, -1 for none, shape [x].
    potential
        Price of a unit at each node, 0 at the root, shape [x]. The reduced cost of an arc from u
        to v is its cost + potential[u] - potential[v].
    full
        Whether a draining arc outside the tree is full rather than empty, shape [sinks + groups].
    stack
        Room for walks, shape [x].
    """

    parent: NDArray[np.int64]
    arc: NDArray[np.int64]
    upward: NDArray[np.bool_]
    flow: NDArray[np.float64]
    depth: NDArray[np.int64]
    child: NDArray[np.int64]
    following: NDArray[np.int64]
    preceding: NDArray[np.int64]
    potential: NDArray[np.float64]
    full: NDArray[np.bool_]
    stack: NDArray[np.int64]


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
def reroot(tree: Tree, node: int, top: int) -> None:
    """Turn the path from `node` up to `top`, which is off its parent already, upside down."""
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
def refresh(
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
