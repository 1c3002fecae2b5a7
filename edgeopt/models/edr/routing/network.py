r"""Routing by network flows: one compiled simplex method, one price of energy.

In GFLOP a routing problem is a transportation problem; only the energy budget couples its routes
otherwise. At a price :math:`\nu` of energy the optimum is a line in the price, its cost plus
:math:`\nu` times its energy, and the least of all lines is concave. Two lines on either side of
the budget cross at the next price to try; when nothing lies below the crossing, both plans are
optimal there, and the mixture of them that uses up the budget is the optimum.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.errors import SolverError
from edgeopt.models.edr.routing.kernels import weigh
from edgeopt.models.edr.routing.plan import Prices, RoutingPlan, dual_bound
from edgeopt.solvers.transport import TransportSimplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.edr.routing.problem import Penalties, RoutingProblem
    from edgeopt.solvers.transport import TransportFlow

    Floats = NDArray[np.float64]

__all__ = ["solve_by_network"]

FLAT = 1e-12
"""Two values within this share of their size are equal."""
MOST = 200
"""Prices to try; a handful is usual."""


class _Line(NamedTuple):
    """An optimal flow at some price of energy: what it costs and uses."""

    price: float
    cost: float
    energy: float
    flow: TransportFlow

    def at(self, price: float) -> float:
        return self.cost + price * self.energy


def solve_by_network(
    problem: RoutingProblem, penalties: Penalties, start: RoutingPlan | None = None
) -> RoutingPlan:
    """Solve a routing problem to optimality.

    Parameters
    ----------
    problem
        The problem.
    penalties
        Prices of unserved requests and of excess.
    start
        Plan of a similar problem with the same sites and slots; its prices lead the way.

    Returns
    -------
    RoutingPlan
        An optimal plan with the bound that its prices prove.
    """
    began = time.perf_counter()
    search = _Search(problem, penalties, start)
    low, high = search.run()
    share = 0.0
    if high is not low:
        share = (low.energy - problem.budget) / (low.energy - high.energy)
    flow, unserved = np.zeros(problem.routes), np.zeros(problem.demand.size)
    for line, part in ((low, 1.0 - share), (high, share)):
        if part > 0.0:
            kind = problem.row[line.flow.route] % problem.types
            flow[line.flow.route] += part * line.flow.amount / problem.work[kind]
            unserved += part * line.flow.unserved
    proof = high.flow
    room = np.zeros(problem.sites) if proof.group_price.size == 0 else proof.group_price
    prices = Prices(high.price, proof.sink_price.reshape(problem.capacity.shape), room)
    work = np.tile(problem.work, problem.slots * problem.sites)
    return RoutingPlan(
        problem=problem,
        flow=flow,
        unserved=(unserved / work).reshape(problem.demand.shape),
        penalties=penalties,
        prices=prices,
        bound=dual_bound(problem, prices, penalties),
        seconds=time.perf_counter() - began,
        method="network",
    )


class _Search:
    """The search for the price of energy at which the budget is used up."""

    def __init__(
        self, problem: RoutingProblem, penalties: Penalties, start: RoutingPlan | None
    ) -> None:
        self.problem, self.penalties = problem, penalties
        slots, sites = problem.capacity.shape
        self.work = np.tile(problem.work, slots * sites)
        sink = problem.site
        if slots > 1:
            sink = sink + problem.slot * sites
        coupled = problem.coupled
        self.simplex = TransportSimplex(
            problem.first,
            sink,
            problem.demand.ravel() * self.work,
            problem.capacity.ravel(),
            np.tile(np.arange(sites), slots) if coupled else None,
            problem.room if coupled else None,
        )
        self.weight = np.empty(problem.routes)
        self.unserved = penalties.unserved / self.work
        self.guess, self.sink_price = 0.0, None
        if start is not None and start.prices.site.shape == problem.capacity.shape:
            self.guess = min(start.prices.energy, penalties.excess)
            self.sink_price = (start.prices.site + start.prices.room).ravel()

    def line(self, price: float) -> _Line:
        """Solve at a price of energy, from wherever the last solve ended."""
        problem = self.problem
        weigh(
            problem.first, problem.site, problem.cost, problem.energy, problem.work, price,
            self.weight,
        )  # fmt: skip
        flow = self.simplex.solve(self.weight, self.unserved, sink_price=self.sink_price)
        kind = problem.row[flow.route] % problem.types
        requests = flow.amount / problem.work[kind]
        cost = float(requests @ problem.cost[flow.route]) + float(self.unserved @ flow.unserved)
        energy = float(requests @ problem.energy[problem.site[flow.route], kind])
        return _Line(price, cost, energy, flow)

    def run(self) -> tuple[_Line, _Line]:
        """Return the lines to mix: the first uses the budget or more, the second at most that.

        Both are the same where no mixture is needed.
        """
        budget, most = self.problem.budget, self.penalties.excess
        if np.isposinf(budget):
            free = self.line(0.0)
            return free, free
        here = self.line(self.guess)
        if here.energy > budget:
            low, high = here, self._dearer(here, most)
            if high.energy > budget:
                return high, high
        else:
            low, high = self.line(0.0) if here.price > 0.0 else here, here
            if low.energy <= budget:
                return low, low
        for _ in range(MOST):
            price = (high.cost - low.cost) / (low.energy - high.energy)
            price = min(max(price, low.price), high.price)
            here = self.line(price)
            if here.at(price) >= high.at(price) - FLAT * max(abs(high.at(price)), 1e-300):
                # Nothing lies below the crossing: its prices prove the mixture.
                return low, high._replace(price=price, flow=_priced_as(high.flow, here.flow))
            if here.energy > budget:
                low = here
            else:
                high = here
        raise SolverError(f"no price of energy found in {MOST} steps")

    def _dearer(self, low: _Line, most: float) -> _Line:
        """Return a line at a higher price that keeps the budget, or the one at the highest."""
        if self.problem.routes == 0:
            return self.line(most)
        spread = float(np.ptp(self.problem.energy / self.problem.work)) or 1.0
        price = max(2.0 * low.price, 1e-3 * float(np.ptp(self.weight)) / spread)
        while 0.0 < price < most:
            line = self.line(price)
            if line.energy <= self.problem.budget:
                return line
            price *= 4.0
        return self.line(most)


def _priced_as(flow: TransportFlow, other: TransportFlow) -> TransportFlow:
    """Return a flow with the prices of another one."""
    from dataclasses import replace

    return replace(flow, sink_price=other.sink_price, group_price=other.group_price)
