r"""Routing by network flows: one compiled simplex method, one price of energy, few routes.

In GFLOP a routing problem is a transportation problem; only the energy budget couples its routes
otherwise. At a price :math:`\nu` of energy the optimum is a line in the price, its cost plus
:math:`\nu` times its energy, and the least of all lines is concave. Two lines on either side of
the budget cross at the next price to try; when nothing lies below the crossing, both plans are
optimal there, and the mixture of them that uses up the budget is the optimum.

Large problems begin with a few of the cheapest routes of every row. The others are priced at the
end, and those that are cheaper than all that their row has come in, until none is.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import SolverError
from edgeopt.models.edr.routing.kernels import cheapest_routes, lower_to_cheapest
from edgeopt.models.edr.routing.problem import Prices, RoutingPlan
from edgeopt.solvers.network_simplex import TransportSimplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.models.edr.routing.problem import Elastic, Penalties, RoutingProblem
    from edgeopt.solvers.network_simplex import TransportFlow


FEW = 4  # routes of a row to begin with, and to add at a time
SMALL = 15_000  # problems with up to this many routes take all of them from the start
FLAT = 1e-12  # two values within this share of their size are equal
STRIDE = 1.05  # factor of the first step away from a price that is thought to be near
BEYOND = 1.2  # further steps lead this much beyond where a straight line meets the budget
MOST = 200  # prices to try; a handful is usual


class _Line(NamedTuple):
    """An optimal flow at some price of energy: what it costs and uses."""

    price: float
    cost: float
    energy: float
    flow: TransportFlow

    def at(self, price: float) -> float:
        return self.cost + price * self.energy


@checked()
def solve_routing(
    problem: RoutingProblem,
    *,
    elastic: Elastic = "soft",
    start: RoutingPlan | None = None,
    gap: float = 1e-6,
) -> RoutingPlan:
    """Route requests at the least cost, by a network simplex and one price of energy.

    Parameters
    ----------
    problem
        What is to be routed.
    elastic
        What gives way when not everything fits, see `RoutingProblem.penalties`.
    start
        Plan of a similar problem, such as the last slot; the two may differ in anything.
    gap
        Proven relative gap at which no more routes are taken in.

    Returns
    -------
    RoutingPlan
        The plan, with a bound that its prices prove.

    Raises
    ------
    OptionError
        If `elastic` is unknown.
    SolverError
        If there is no end, by rounding.

    Notes
    -----
    Zhu et al., Algorithm 3. `routing_matrix` states the problem for other solvers.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr.routing import conditions, routing_problem, solve_routing
    >>> instance = small(1)
    >>> problem = routing_problem(
    ...     instance, conditions(instance, 0, 0), price=float(instance.price[0])
    ... )
    >>> plan = solve_routing(problem)
    >>> plan.bound <= plan.objective * (1 + 1e-9)
    True
    """
    return solve_by_network(problem, problem.penalties(elastic), start, gap=gap)


def solve_by_network(
    problem: RoutingProblem,
    penalties: Penalties,
    start: RoutingPlan | None = None,
    *,
    gap: float = 1e-6,
) -> RoutingPlan:
    """Solve a routing problem."""
    began = time.perf_counter()
    guess = Prices(0.0, np.zeros(problem.capacity.shape), np.zeros(problem.sites))
    if start is not None and start.prices.site.shape == problem.capacity.shape:
        guess = start.prices
    known = _Shortlist(problem, penalties, guess)
    search: _Search | None = None
    while True:
        search = _Search(problem, penalties, known, guess, search)
        used, amount, unserved, guess = search.run()
        bound, more = known.price(guess)
        plan = RoutingPlan(
            problem=problem,
            used=used,
            amount=amount,
            unserved=unserved,
            penalties=penalties,
            prices=guess,
            bound=bound,
            seconds=time.perf_counter() - began,
        )
        if plan.gap <= gap or not more:
            return plan


class _Shortlist:
    """Some of the routes of each row, and how cheap the others can be.

    Others cost at least so much at the first prices, and at later ones as much more as the site
    that became cheapest: where that is more than a route of the list costs, none is looked at.
    """

    routes: NDArray[np.int64]
    first: NDArray[np.int64]  # of each row, as in `RoutingProblem`
    site: NDArray[np.int32]
    cost: Floats

    def __init__(self, problem: RoutingProblem, penalties: Penalties, prices: Prices) -> None:
        self.problem, self.penalties = problem, penalties
        self.surcharge = problem.surcharge(prices.energy, prices.site + prices.room)
        if problem.routes <= SMALL:
            self._take(np.arange(problem.routes))
            return
        least = np.full(problem.demand.size, np.inf)
        found, margin = self._cheapest(self.surcharge, -least, 0.0, least)
        self.others = least.reshape(problem.demand.shape) + margin
        self._take(found)

    def _take(self, routes: NDArray[np.int64]) -> None:
        self.routes, self.first = routes, np.searchsorted(routes, self.problem.first)
        self.site, self.cost = self.problem.site[routes], self.problem.cost[routes]

    def price(self, prices: Prices) -> tuple[float, bool]:
        """Return the bound that prices prove, and whether cheaper routes have been added."""
        problem = self.problem
        proof = problem.proving(prices, self.penalties)
        surcharge = problem.surcharge(proof.energy, proof.site + proof.room)
        least = np.full(problem.demand.size, self.penalties.unserved)
        lower_to_cheapest(self.first, self.site, self.cost, surcharge, least)
        more = False
        if self.routes.size < problem.routes:
            # Partial pricing: at new prices no other route falls by more than its site has.
            largest = problem.dearest + float(surcharge.max() + self.surcharge.max())
            change = (surcharge - self.surcharge).min(axis=2) - FLAT * largest
            others = (self.others + change[:, np.newaxis]).ravel()
            found, _ = self._cheapest(surcharge, others, FLAT * problem.dearest, least)
            more = found.size > 0
            if more:
                self._take(np.union1d(self.routes, found))
        return float(problem.demand.ravel() @ least) - problem.rent(proof), more

    def _cheapest(
        self, surcharge: Floats, others: Floats, tolerance: float, least: Floats
    ) -> tuple[NDArray[np.int64], Floats]:
        problem = self.problem
        return cheapest_routes(
            problem.first, problem.site, problem.cost, surcharge, FEW, others, tolerance, least
        )


class _Search:
    """The search, on some of the routes, for the price of energy that uses up the budget."""

    def __init__(
        self,
        whole: RoutingProblem,
        penalties: Penalties,
        known: _Shortlist,
        guess: Prices,
        last: _Search | None,
    ) -> None:
        self.whole, self.penalties, self.routes = whole, penalties, known.routes
        slots, sites = whole.capacity.shape
        first, site = known.first, known.site
        row = np.repeat(np.arange(whole.demand.size), np.diff(first))
        kind = row % whole.types
        self.work = whole.work[kind]
        # of a GFLOP on each route
        self.cost = known.cost / self.work
        self.energy = whole.energy[site, kind] / self.work
        work = np.tile(whole.work, slots * sites)
        self.unserved = penalties.unserved / work
        self.guess = min(guess.energy, penalties.excess)
        self.sink_price = (guess.site + guess.room).ravel()
        sink = site if slots == 1 else site + (row // (sites * whole.types) * sites)
        self.simplex: TransportSimplex
        if last is not None:
            position = np.searchsorted(known.routes, last.routes)
            self.simplex = last.simplex.with_routes(first, sink, position)
            return
        coupled = whole.coupled
        self.simplex = TransportSimplex(
            first,
            sink,
            whole.demand.ravel() * work,
            whole.capacity.ravel(),
            np.tile(np.arange(sites), slots) if coupled else None,
            whole.room if coupled else None,
        )

    def run(self) -> tuple[NDArray[np.int64], Floats, Floats, Prices]:
        """Return routes in use, their flows, unserved requests, and prices that prove these."""
        low, high = self._bracket()
        share = 0.0
        if high is not low:
            share = (low.energy - self.whole.budget) / (low.energy - high.energy)
        whole = self.whole
        flow, unserved = np.zeros(self.routes.size), np.zeros(whole.demand.size)
        for line, part in ((low, 1.0 - share), (high, share)):
            if part > 0.0:
                flow[line.flow.route] += part * line.flow.amount / self.work[line.flow.route]
                unserved += part * line.flow.unserved
        unserved /= np.tile(whole.work, whole.slots * whole.sites)
        proof = high.flow
        room = proof.group_price if proof.group_price.size else np.zeros(whole.sites)
        prices = Prices(high.price, proof.sink_price.reshape(whole.capacity.shape), room)
        used = np.flatnonzero(flow)
        return self.routes[used], flow[used], unserved.reshape(whole.demand.shape), prices

    def _line(self, price: float) -> _Line:
        """Solve at a price of energy, from wherever the last solve ended."""
        weight = self.cost + price * self.energy
        flow = self.simplex.solve(weight, self.unserved, sink_price=self.sink_price)
        cost = flow.amount @ self.cost[flow.route] + self.unserved @ flow.unserved
        return _Line(price, float(cost), float(flow.amount @ self.energy[flow.route]), flow)

    def _bracket(self) -> tuple[_Line, _Line]:
        """Return the lines to mix: the first uses the budget or more, the second at most that.

        Both are the same where no mixture is needed.
        """
        budget = self.whole.budget
        if np.isposinf(budget):
            free = self._line(0.0)
            return free, free
        here = self._line(self.guess)
        if here.energy > budget:
            low, high = self._dearer(here)
            if high.energy > budget:
                return high, high
        else:
            low, high = self._cheaper(here)
            if low.energy <= budget:
                return low, low
        # Lagrangian relaxation of the budget (Everett 1963), by the crossings of lines.
        for _ in range(MOST):
            price = (high.cost - low.cost) / (low.energy - high.energy)
            price = min(max(price, low.price), high.price)
            here = self._line(price)
            size = abs(high.cost) + price * abs(high.energy)
            # Where rounding alone tells lines apart, one of them comes back.
            known = here.energy in (low.energy, high.energy)
            if known or here.at(price) >= high.at(price) - FLAT * size:
                # Nothing lies below the crossing: its prices prove the mixture.
                flow = high.flow.priced_as(here.flow)
                return low, high._replace(price=price, flow=flow)
            if here.energy > budget:
                low = here
            else:
                high = here
        raise SolverError(f"no price of energy found in {MOST} steps")

    def _dearer(self, low: _Line) -> tuple[_Line, _Line]:
        """Return lines on either side of the budget above a price, or twice the dearest one."""
        most, factor = self.penalties.excess, STRIDE
        price = low.price * factor
        if price == 0.0 and self.routes.size:
            spread = float(np.ptp(self.energy)) or 1.0
            price = 1e-1 * float(np.ptp(self.cost)) / spread
        while 0.0 < price < most:
            line = self._line(price)
            if line.energy <= self.whole.budget:
                return low, line
            factor = min(factor**3, 10.0)
            price = min(price * factor, self._beyond(low, line))
            low = line
        line = self._line(most)
        return low, line

    def _cheaper(self, high: _Line) -> tuple[_Line, _Line]:
        """Return lines on either side of the budget below a price, or the free one twice."""
        factor = STRIDE
        price = high.price / factor
        while price > 1e-2 * self.guess:
            line = self._line(price)
            if line.energy > self.whole.budget:
                return line, high
            factor = min(factor**3, 10.0)
            price = max(price / factor, self._beyond(high, line))
            high = line
        line = self._line(0.0) if high.price > 0.0 else high
        return line, high

    def _beyond(self, before: _Line, line: _Line) -> float:
        """Return a price beyond that at which lines like the last two would meet the budget."""
        gone, ahead = line.energy - before.energy, self.whole.budget - line.energy
        steps = ahead / gone if ahead * gone > 0.0 else np.inf
        return line.price + BEYOND * steps * (line.price - before.price)
