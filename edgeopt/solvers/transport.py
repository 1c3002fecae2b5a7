r"""Network simplex for transportation problems with two levels of capacities.

Supply :math:`b_s` goes from sources along routes into sinks, which drain into groups or straight
into the root, or stays unserved at a price:

.. math::

    \min \; & \sum_a c_a x_a + \sum_s u_s v_s \\
    \text{s.t.} \; & \sum_{a \in s} x_a + v_s = b_s, \quad
        \sum_{a \in k} x_a \le C_k, \quad \sum_{k \in g} \sum_{a \in k} x_a \le C_g, \\
    & x, v \ge 0.

A basis is a spanning tree, a pivot turns a path of it, and a change of costs leaves the tree
feasible: solving again with other costs goes on from where the last solve ended. Good prices of
sinks, such as those of a similar problem, give a start close to the optimum whatever else differs.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InputError, SolverError
from edgeopt.kernels import compiled
from edgeopt.solvers.transport_tree import NOBODY, Network, Tree, attach, detach, new_tree, optimise

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["TransportFlow", "TransportSimplex"]


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


ROUNDING = 1e-13
"""Reduced costs within this share of the largest cost count as 0."""
DUST = 1e-14  # flows below this share of the largest supply are what rounding left of 0
PIVOTS_PER_ARC = 50  # pivots are given up after this many times the number of arcs; never seen


@dataclass(frozen=True, eq=False)
class TransportFlow:
    """A basic solution.

    Attributes
    ----------
    route, amount
        Routes in use and their flows, shape [u] each.
    unserved
        Supply that is not served, shape [sources].
    sink_price, group_price
        What more capacity of a sink or a group would save per unit, >= 0, shapes [sinks] and
        [groups].
    """

    route: NDArray[np.int64]
    amount: Floats
    unserved: Floats
    sink_price: Floats
    group_price: Floats

    def priced_as(self, other: TransportFlow) -> TransportFlow:
        """Return the flow with the prices of another one."""
        return replace(self, sink_price=other.sink_price, group_price=other.group_price)


class TransportSimplex:
    """A transportation problem that is solved again and again at other costs.

    Parameters
    ----------
    first
        Routes of source s are ``first[s]`` to ``first[s + 1] - 1``, shape [sources + 1].
    sink
        Sink of each route, shape [routes].
    supply
        Amount at each source, >= 0, shape [sources].
    capacity
        Capacity of each sink, >= 0, shape [sinks].
    group
        Group of each sink, shape [sinks], or None.
    room
        Capacity of each group, >= 0, infinity allowed, shape [groups], or None.

    Raises
    ------
    InputError
        If an amount is negative or not a number, or shapes do not fit.
    """

    def __init__(
        self,
        first: ArrayLike,
        sink: ArrayLike,
        supply: ArrayLike,
        capacity: ArrayLike,
        group: ArrayLike | None = None,
        room: ArrayLike | None = None,
    ) -> None:
        amounts = {"supply": supply, "capacity": capacity, "room": () if room is None else room}
        own = {name: np.asarray(value, dtype=np.float64) for name, value in amounts.items()}
        for name, array in own.items():
            wrong = ~(array >= 0) if name != "supply" else ~((array >= 0) & np.isfinite(array))
            if array.ndim != 1 or wrong.any():
                raise InputError(name, "must be a vector of amounts that are not negative")
        pointers = np.asarray(first, dtype=np.int64)
        if pointers.shape != (own["supply"].size + 1,):
            raise InputError("first", "must have one entry more than there are sources")
        self.sinks = own["capacity"].size
        member = np.empty(0, np.int64) if group is None else np.asarray(group, dtype=np.int64)
        self.network = Network(
            first=pointers,
            sink=np.asarray(sink, dtype=np.int32),
            supply=own["supply"],
            capacity=np.concatenate((own["capacity"], own["room"])),
            group=member,
        )
        self.pivots = 0
        self._tree: Tree | None = None

    def solve(
        self, cost: Floats, unserved: Floats, *, sink_price: Floats | None = None
    ) -> TransportFlow:
        """Solve at these costs, from the last tree, or from a greedy one the first time.

        Parameters
        ----------
        cost
            Cost of each route per unit, shape [routes].
        unserved
            Cost of unserved supply per unit, shape [sources].
        sink_price
            Prices for the first greedy tree, see `TransportFlow`; of sink and group together.

        Returns
        -------
        TransportFlow
            An optimal basic solution, with its prices.

        Raises
        ------
        SolverError
            If pivoting does not end.
        """
        if self._tree is None:
            drains = self.network.capacity.size
            self._tree = new_tree(unserved.size + drains + 1, drains)
            price = np.zeros(self.sinks) if sink_price is None else sink_price
            order = np.argsort(_urgency(self.network, cost, price), kind="stable")
            _fill(self.network, cost, price, order, self._tree)
        scale = max(_largest(cost), _largest(unserved))
        limit = PIVOTS_PER_ARC * (cost.size + self._tree.parent.size)
        pivots = optimise(self.network, cost, unserved, self._tree, ROUNDING * scale, limit)
        if pivots < 0:
            raise SolverError(f"network simplex: no end after {limit} pivots")
        self.pivots += pivots
        return self._read(self._tree, cost.size)

    def with_routes(
        self, first: NDArray[np.int64], sink: NDArray[np.int32], position: NDArray[np.int64]
    ) -> TransportSimplex:
        """Return the problem with more routes; solving it goes on from the last tree.

        ``first`` and ``sink`` describe all routes, old and new; ``position`` gives the place of
        each old route among them.
        """
        wider = copy.copy(self)
        wider.network = self.network._replace(first=first, sink=sink)
        if self._tree is not None:
            old = self._tree.arc
            moved = old + (sink.size - position.size)
            basic = np.flatnonzero((old >= 0) & (old < position.size))
            moved[basic] = position[old[basic]]
            moved[-1] = old[-1]
            wider._tree = self._tree._replace(arc=moved)
        return wider

    def _read(self, tree: Tree, routes: int) -> TransportFlow:
        sources = self.network.supply.size
        arc, flow = tree.arc[:-1], tree.flow[:-1]
        dust = DUST * _largest(self.network.supply)
        used = (arc < routes) & (flow > dust)
        unserved = np.zeros(sources)
        left = (arc >= routes) & (arc < routes + sources)
        unserved[arc[left] - routes] = flow[left]
        price = tree.potential
        above = np.full(self.network.capacity.size, price.size - 1)
        if self.network.group.size:
            above[: self.sinks] = sources + self.sinks + self.network.group
        drain_price = np.maximum(price[above] - price[sources:-1], 0.0)
        return TransportFlow(
            route=arc[used].copy(),
            amount=flow[used].copy(),
            unserved=np.maximum(unserved, 0.0),
            sink_price=drain_price[: self.sinks],
            group_price=drain_price[self.sinks :],
        )


def _largest(values: NDArray[Any]) -> float:
    return float(np.abs(values).max(initial=0.0))
