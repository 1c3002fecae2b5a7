r"""Routing requests of one slot, or of the slots of a frame together.

.. math::

    \min \; & \sum c_a y_a + P \sum u + p\, o \\
    \text{s.t.} \; & \textstyle\sum_{a \in (\tau,j,n)} y_a + u_{\tau j n} = w_{\tau j n}, \quad
        \sum_{a \to (\tau,k)} S_n y_a \le C_{\tau k}, \quad
        \sum_\tau \sum_{a \to (\tau,k)} S_n y_a \le C_k, \quad \sum d_a y_a \le b + o.

Every request is served or counted as unserved (u), and energy above the budget is counted as
excess (o): the problem always has a solution, and what is wrong with it is in plain sight.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from edgeopt.models.edr.routing.kernels import lower_to_cheapest
from edgeopt.options import check_choice
from edgeopt.representation import compact_repr
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats


Elastic = Literal["soft", "shed"]

STEEP = 1e2  # a penalty in units of the largest cost of what it competes with
STEEPER = 1e1  # by how much the penalty of the higher priority outweighs the other one


class Penalties(NamedTuple):
    """Penalties of unserved requests and of excess energy.

    Attributes
    ----------
    unserved
        Cost of an unserved request.
    excess
        Cost of energy above the budget, per Wh.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr.routing import conditions, routing_problem
    >>> problem = routing_problem(small(1), conditions(small(1), 0, 0), price=0.1)
    >>> penalties = problem.penalties("shed")
    >>> round(penalties.unserved, 1), round(penalties.excess, 1)
    (87.0, 450.9)
    """

    unserved: float
    excess: float


@compact_repr
@dataclass(frozen=True, eq=False)
class RoutingProblem:
    """Requests, routes, capacities and an energy budget; S slots together.

    Parameters
    ----------
    demand
        Requests, shape [S, J, N].
    capacity
        Computation for requests in each slot, GFLOP, shape [S, J].
    room
        Computation for requests in all slots together, GFLOP, infinity allowed, shape [J].
    budget
        Energy for all slots together, Wh, infinity allowed. Below 0, whatever is served is excess.
    work
        Computation of a request, GFLOP, shape [N].
    energy
        Energy of a request on each site, Wh, shape [J, N].
    first
        Routes of row r = (slot, origin, type) are ``first[r]`` to ``first[r + 1] - 1``, ordered by
        site, shape [S J N + 1]. They lead to capable sites, within the objective.
    site, seconds
        Serving site of each route, and its delay, s, shape [A].
    cost
        Cost of a request on each route, shape [A].

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr.routing import RoutingProblem, conditions, routing_problem
    >>> instance = small(1)
    >>> problem = routing_problem(
    ...     instance, conditions(instance, 0, 0), price=float(instance.price[0])
    ... )
    >>> problem.demand.shape, problem.capacity.shape
    ((1, 3, 1), (1, 3))
    """

    demand: Floats
    capacity: Floats
    room: Floats
    budget: float
    work: Floats
    energy: Floats
    first: NDArray[np.int64]
    site: NDArray[np.int32]
    seconds: Floats
    cost: Floats

    @property
    def slots(self) -> int:
        """Number of slots S."""
        return int(self.demand.shape[0])

    @property
    def sites(self) -> int:
        """Number of sites J."""
        return int(self.demand.shape[1])

    @property
    def types(self) -> int:
        """Number of request types N."""
        return int(self.demand.shape[2])

    @property
    def routes(self) -> int:
        """Number of routes A."""
        return int(self.site.size)

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """Row (slot, origin, type) of each route, flat, shape [A]."""
        return np.repeat(np.arange(self.demand.size), np.diff(self.first))

    @property
    def slot(self) -> NDArray[np.int64]:
        """Slot of each route, shape [A]."""
        return self.row // (self.sites * self.types)

    @property
    def origin(self) -> NDArray[np.int64]:
        """Site at which the requests of a route arrive, shape [A]."""
        return self.row // self.types % self.sites

    @property
    def type(self) -> NDArray[np.int64]:
        """Request type of each route, shape [A]."""
        return self.row % self.types

    @cached_property
    def route_energy(self) -> Floats:
        """Energy of a request on each route, Wh, shape [A]."""
        return self.energy[self.site, self.type]

    @cached_property
    def dearest(self) -> float:
        """Largest absolute cost of a route."""
        return float(max(self.cost.max(initial=0.0), -self.cost.min(initial=0.0)))

    @cached_property
    def coupled(self) -> bool:
        """Whether `room` can bind where the capacities of the slots do not."""
        return bool((self.room < self.capacity.sum(axis=0)).any())

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other demand, capacity, room, budget or cost.

        Demand may only vanish, not appear, where there are no routes for it.
        """
        return dataclasses.replace(self, **changes)

    def surcharge(self, energy_price: float, compute_price: Floats) -> Floats:
        """Return what a request pays for scarce energy and computation, shape [S, N, J].

        ``energy_price`` is the price of a Wh; ``compute_price`` that of a GFLOP in each slot, shape
        [S, J].
        """
        return energy_price * self.energy.T + self.work[:, None] * compute_price[:, None, :]

    def proving(self, prices: Prices, penalties: Penalties) -> Prices:
        """Return prices that prove a bound: within penalties, and 0 for what is unlimited."""
        energy = 0.0
        if not np.isposinf(self.budget):
            energy = min(max(prices.energy, 0.0), penalties.excess)
        room = np.where(np.isinf(self.room), 0.0, np.maximum(prices.room, 0.0))
        return Prices(energy, np.maximum(prices.site, 0.0), room)

    def rent(self, prices: Prices) -> float:
        """Return what all capacities, rooms and the budget are worth at prices that prove."""
        rent = float((self.capacity * prices.site).sum())
        rent += float(np.where(prices.room > 0, self.room, 0.0) @ prices.room)
        return rent + prices.energy * self.budget if prices.energy > 0.0 else rent

    def penalties(self, elastic: Elastic = "soft") -> Penalties:
        """Return penalties that rank unserved requests and energy above the budget.

        ``"soft"``: serve all requests, even above the budget. ``"shed"``: keep the budget, and
        leave as few requests unserved as that allows.
        """
        check_choice("elastic", elastic, ("soft", "shed"))
        spent = self.energy[self.energy > 0]
        least, most = (float(spent.min()), float(spent.max())) if spent.size else (1.0, 1.0)
        dearest = self.dearest or 1.0
        if elastic == "soft":
            excess = STEEP * dearest / least
            return Penalties(unserved=STEEPER * excess * most, excess=excess)
        unserved = STEEP * dearest
        return Penalties(unserved=unserved, excess=STEEPER * unserved / least)


@compact_repr
@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of what is scarce: any such prices, not negative, prove a bound.

    Attributes
    ----------
    energy
        Cost that a Wh more of budget would save.
    site
        Cost that a GFLOP more on a site would save in each slot, shape [S, J].
    room
        Cost that a GFLOP more on a site would save in all slots together, shape [J].

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr.routing import conditions, routing_problem, solve_routing
    >>> slot = conditions(small(1), 0, 0)
    >>> plan = solve_routing(routing_problem(small(1), slot, price=0.1))
    >>> plan.prices.energy, plan.prices.site.shape
    (0.0, (1, 3))
    """

    energy: float
    site: Floats
    room: Floats


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class RoutingPlan:
    """Where requests go.

    Attributes
    ----------
    problem
        The problem that it solves.
    used, amount
        Routes in use, ascending, and the requests on each of them.
    unserved
        Requests that are not served, shape [S, J, N].
    penalties
        Prices of unserved requests and of excess.
    prices
        Prices of scarce resources, which prove `bound`.
    bound
        Proven lower bound on `objective`.
    seconds
        Time to solve, s.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr.routing import (
    ...     RoutingPlan,
    ...     conditions,
    ...     routing_problem,
    ...     solve_routing,
    ... )
    >>> instance = small(1)
    >>> slot = conditions(instance, 0, 0)
    >>> plan = solve_routing(routing_problem(instance, slot, price=float(instance.price[0])))
    >>> plan.objective >= plan.bound * (1 - 1e-9)
    True
    """

    problem: RoutingProblem
    used: NDArray[np.int64]
    amount: Floats
    unserved: Floats
    penalties: Penalties
    prices: Prices
    bound: float
    seconds: float

    @cached_property
    def flow(self) -> Floats:
        """Requests on each route, shape [A]."""
        flow = np.zeros(self.problem.routes)
        flow[self.used] = self.amount
        return flow

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """Row (slot, origin, type) of each route in use, flat."""
        return np.searchsorted(self.problem.first, self.used, side="right") - 1

    @property
    def _kind(self) -> NDArray[np.int64]:
        return self.row % self.problem.types

    @cached_property
    def energy(self) -> float:
        """Energy of all requests, Wh."""
        problem = self.problem
        return float(self.amount @ problem.energy[problem.site[self.used], self._kind])

    @property
    def excess(self) -> float:
        """Energy above the budget, Wh; what is within rounding of it counts as 0."""
        above = self.energy - self.problem.budget
        size = max(self.energy, abs(self.problem.budget))
        return above if above > 1e-9 * size else 0.0

    @cached_property
    def delay(self) -> float:
        """Delays of all requests together, s."""
        return float(self.amount @ self.problem.seconds[self.used])

    @cached_property
    def cost(self) -> float:
        """Cost of the routes, without penalties."""
        return float(self.amount @ self.problem.cost[self.used])

    @property
    def objective(self) -> float:
        """Cost of the routes, the unserved requests and the excess."""
        return self.cost + self._charged

    @cached_property
    def size(self) -> float:
        """Sum of the absolute values of the terms of `objective`."""
        return float(self.amount @ np.abs(self.problem.cost[self.used])) + self._charged

    @property
    def _charged(self) -> float:
        """Penalties of the unserved requests and the excess."""
        lost = self.penalties.unserved * float(self.unserved.sum())
        return lost + self.penalties.excess * self.excess

    @property
    def gap(self) -> float:
        """Relative gap between `objective` and `bound`, see `edgeopt.solvers.tolerance`."""
        return relative_gap(
            self.objective, self.bound, objective_size=self.size, bound_size=self.size
        )

    @cached_property
    def load(self) -> Floats:
        """Computation of requests on each site, GFLOP, shape [S, J]."""
        problem = self.problem
        slot = self.row // (problem.sites * problem.types)
        where = slot * problem.sites + problem.site[self.used]
        work = self.amount * problem.work[self._kind]
        total = np.bincount(where, weights=work, minlength=problem.capacity.size)
        return total.astype(np.float64).reshape(problem.capacity.shape)

    @property
    def energy_price(self) -> float:
        """Cost that a Wh more would save."""
        return self.prices.energy


def dual_bound(
    problem: RoutingProblem, prices: Prices, elastic: Elastic | Penalties = "soft"
) -> float:
    """Return the bound that prices prove for all plans of a problem, from its data alone.

    Parameters
    ----------
    problem
        The problem.
    prices
        Prices, not negative; an energy price above the penalty of excess counts as that penalty.
    elastic
        Order of what must not happen, or its prices.

    Returns
    -------
    Lower bound on the cost of every plan, in the unit of the objective.

    Notes
    -----
    The Lagrangian bound of problem P2 of Zhu et al., at prices of its rows (8) to (11).

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr.routing import (
    ...     conditions,
    ...     dual_bound,
    ...     routing_problem,
    ...     solve_routing,
    ... )
    >>> instance = small(1)
    >>> slot = conditions(instance, 0, 0)
    >>> problem = routing_problem(instance, slot, price=float(instance.price[0]))
    >>> plan = solve_routing(problem)
    >>> abs(dual_bound(problem, plan.prices) - plan.bound) <= 1e-6 * abs(plan.bound)
    True
    """
    penalties = elastic if isinstance(elastic, Penalties) else problem.penalties(elastic)
    proof = problem.proving(prices, penalties)
    least = np.full(problem.demand.size, penalties.unserved)
    surcharge = problem.surcharge(proof.energy, proof.site + proof.room)
    lower_to_cheapest(problem.first, problem.site, problem.cost, surcharge, least)
    return float(problem.demand.ravel() @ least) - problem.rent(proof)
