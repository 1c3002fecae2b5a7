"""Network simplex for transportation problems with two levels of capacities."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InputError, SolverError
from edgeopt.kernels import compiled
from edgeopt.options import real_array
from edgeopt.representation import compact_repr
from edgeopt.solvers.solution import Status
from edgeopt.solvers.spanning_tree import NOBODY, Network, Tree, attach, detach, new_tree, optimise
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats


def greedy(network: Network, cost: NDArray[np.float64], price: NDArray[np.float64]) -> Tree:
    """Return the tree that prices of sinks lead to."""
    # Vogel's approximation method (Reinfeld and Vogel, Mathematical Programming, Prentice-Hall,
    # 1958), its regrets taken once and not after every assignment.
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
            # The source fills the sink, or its group, and holds what it has filled from then on:
            # the full arc leaves the tree, and the route that filled it comes in.
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


__all__ = ["TransportFlow", "TransportPlan", "TransportSimplex", "transport"]


ASTRAY = 0.25  # with up to this share of sources astray the last tree is not compared with another
ROUNDING = 1e-13
"""Reduced costs within this share of the largest cost count as 0."""
DUST = 1e-14  # flows below this share of the largest supply are what rounding left of 0
PIVOTS_PER_ARC = 50  # pivots are given up after this many times the number of arcs; never seen


@in_html
@compact_repr
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

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.solvers.network_simplex import TransportFlow, TransportSimplex
    >>> ends, sink = np.array([0, 2, 4]), np.array([0, 1, 0, 1])
    >>> simplex = TransportSimplex(ends, sink, np.array([4.0, 3.0]), np.array([5.0, 5.0]))
    >>> flow = simplex.solve(np.array([1.0, 3.0, 2.0, 6.0]), np.array([100.0, 100.0]))
    >>> flow.route, flow.unserved
    (array([1, 2, 0]), array([0., 0.]))
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

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.solvers.network_simplex import TransportSimplex
    >>> ends, sink = np.array([0, 2, 4]), np.array([0, 1, 0, 1])
    >>> simplex = TransportSimplex(ends, sink, np.array([4.0, 3.0]), np.array([5.0, 5.0]))
    >>> flow = simplex.solve(np.array([1.0, 3.0, 2.0, 6.0]), np.array([100.0, 100.0]))
    >>> flow.amount
    array([2., 3., 2.])
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
        self._price = np.zeros(self.sinks)  # of each sink with its group, when last solved

    def solve(
        self, cost: Floats, unserved: Floats, *, sink_price: Floats | None = None
    ) -> TransportFlow:
        """Solve at these costs, from the last tree or from a greedy one.

        Where costs changed so much that a quarter of the sources would leave their sinks, the
        cheapest of the last tree and two greedy ones is taken, at the last prices and at none.

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
            price = np.zeros(self.sinks) if sink_price is None else sink_price
            self._tree = greedy(self.network, cost, price)
        elif astray(self.network, cost, unserved, self._price, self._tree) > ASTRAY:
            prices = (self._price, np.zeros(self.sinks))
            grown = (greedy(self.network, cost, price) for price in prices)
            trees = (self._tree, *grown)
            self._tree = min(trees, key=lambda tree: float(value(cost, unserved, tree)))
        scale = max(_largest(cost), _largest(unserved))
        limit = PIVOTS_PER_ARC * (cost.size + self._tree.parent.size)
        pivots = optimise(self.network, cost, unserved, self._tree, ROUNDING * scale, limit)
        if pivots < 0:
            raise SolverError(f"network simplex: no end after {limit} pivots")
        self.pivots += pivots
        flow = self._read(self._tree, cost.size)
        self._price = flow.sink_price
        if self.network.group.size:
            self._price = flow.sink_price + flow.group_price[self.network.group]
        return flow

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


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class TransportPlan:
    """What is sent from each source to each sink, with the prices that prove it optimal.

    Attributes
    ----------
    status
        ``CONVERGENCE_CRITERIA_SATISFIED``, or ``PROVEN_INFEASIBLE`` where everything must be sent
        and cannot; the plan then sends as much as possible.
    flow
        Amount from each source to each sink, shape [sources, sinks].
    unserved
        Supply that is not sent, shape [sources].
    source_price
        What a unit more of supply would cost, shape [sources].
    sink_price
        What a unit more of capacity would save, >= 0, shape [sinks].
    objective
        Cost of the flow and of what is unserved, the latter at its price if it has one.
    bound
        Lower bound on the cost of every plan, from the prices and the data alone; infinity where
        there is no plan.
    size
        Sum of the absolute values of the terms of both, which their rounding is measured by.

    Examples
    --------
    >>> from edgeopt.solvers.network_simplex import TransportPlan, transport
    >>> plan = transport([4, 3], [5, 5], [[1, 3], [2, 6]])
    >>> plan.objective, plan.bound
    (14.0, 14.0)
    """

    status: Status
    flow: Floats
    unserved: Floats
    source_price: Floats
    sink_price: Floats
    objective: float
    bound: float
    size: float

    @property
    def gap(self) -> float:
        """Relative gap between objective and bound, see `edgeopt.solvers.tolerance`."""
        return relative_gap(
            self.objective, self.bound, objective_size=self.size, bound_size=self.size
        )


def transport(
    supply: ArrayLike, capacity: ArrayLike, cost: ArrayLike, *, unserved: ArrayLike | None = None
) -> TransportPlan:
    r"""Send supplies to sinks at the least cost.

    .. math::

        \min \sum_{sk} c_{sk} x_{sk} + \sum_s u_s v_s \quad \text{s.t.} \quad
        \sum_k x_{sk} + v_s = b_s, \quad \sum_s x_{sk} \le C_k, \quad x, v \ge 0.

    Parameters
    ----------
    supply
        Amount at each source, >= 0, shape [sources].
    capacity
        What each sink takes at most, >= 0, infinity allowed, shape [sinks]. Demands that supplies
        just cover are met exactly; where supplies exceed demands, let demands be the sources.
    cost
        Cost of a unit from each source to each sink, infinity where there is no route, shape
        [sources, sinks].
    unserved
        Cost of a unit that is not sent, for each source or one for all. By default everything must
        be sent.

    Returns
    -------
    TransportPlan
        An optimal plan with its prices. It uses fewer routes than there are sources and sinks, and
        whole supplies and capacities give whole flows.

    Raises
    ------
    InputError
        If an amount is negative or not a number, a cost is not a number, or shapes do not fit.
    SolverError
        If pivoting does not end.

    Examples
    --------
    >>> plan = transport([4, 3], [5, 5], [[1, 3], [2, 6]])
    >>> plan.flow
    array([[2., 2.],
           [3., 0.]])
    >>> plan.objective, plan.bound, plan.sink_price
    (14.0, 14.0, array([2., 0.]))
    """
    table, amount = real_array("cost", cost), real_array("supply", supply)
    room = real_array("capacity", capacity)
    if table.shape != (amount.size, room.size):
        raise InputError("cost", f"must be a table of {amount.size} sources and {room.size} sinks")
    if np.isnan(table).any() or np.isneginf(table).any():
        raise InputError("cost", "must be numbers, or infinity where there is no route")
    route = np.isfinite(table)
    first = np.concatenate(([0], np.cumsum(route.sum(axis=1))))
    simplex = TransportSimplex(first, np.nonzero(route)[1], amount, room)
    costs = table[route]
    if unserved is None:
        # Dearer than any way to make room: it changes the cost of fewer routes than this.
        price = np.full(amount.size, 2.0 * (min(table.shape) + 1) * (_largest(costs) or 1.0))
    else:
        price = real_array("unserved", unserved)
        if not np.isfinite(price).all() or price.shape not in ((), amount.shape):
            raise InputError("unserved", "must be one finite cost, or one for each source")
        price = np.broadcast_to(price, amount.shape).copy()
    found = simplex.solve(costs, price)
    flow = np.zeros(table.shape)
    flow.ravel()[np.flatnonzero(route)[found.route]] = found.amount
    total = float(amount.sum())
    feasible = unserved is not None or float(found.unserved.sum()) <= ROUNDING * total
    lost = 0.0 if unserved is None else float(price @ found.unserved)
    cheapest = np.min(table + found.sink_price, axis=1, initial=np.inf)
    if unserved is not None or not feasible:
        cheapest = np.minimum(cheapest, price)
    sent = table.ravel()[np.flatnonzero(route)[found.route]]
    scarce = found.sink_price > 0.0
    rent = float(found.sink_price[scarce] @ room[scarce])
    some = amount > 0.0
    earned = cheapest[some] * amount[some]
    return TransportPlan(
        status=Status.CONVERGENCE_CRITERIA_SATISFIED if feasible else Status.PROVEN_INFEASIBLE,
        flow=flow,
        unserved=found.unserved,
        source_price=cheapest,
        sink_price=found.sink_price,
        objective=float(sent @ found.amount) + lost,
        bound=float(earned.sum()) - rent if feasible else np.inf,
        size=float(np.abs(sent) @ found.amount + np.abs(earned).sum()) + abs(lost) + rent,
    )
