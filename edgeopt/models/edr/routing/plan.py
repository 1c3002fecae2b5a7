"""A routing plan, with what it costs and what proves it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.models.edr.routing.kernels import cheapest_total
from edgeopt.models.edr.routing.problem import Elastic, Penalties, RoutingProblem
from edgeopt.solvers.gap import relative_gap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Prices", "RoutingPlan", "dual_bound"]


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
    """

    energy: float
    site: Floats
    room: Floats


@dataclass(frozen=True, eq=False)
class RoutingPlan:
    """Where requests go.

    Attributes
    ----------
    problem
        What was asked.
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
    method
        How it was solved.
    """

    problem: RoutingProblem
    used: NDArray[np.int64]
    amount: Floats
    unserved: Floats
    penalties: Penalties
    prices: Prices
    bound: float
    seconds: float
    method: str

    @cached_property
    def flow(self) -> Floats:
        """Requests on each route, shape [A]."""
        flow = np.zeros(self.problem.routes)
        flow[self.used] = self.amount
        return flow

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """Row (slot, origin, type) of each route in use, flat."""
        return self.problem.row_of(self.used)

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
        """Relative gap between `objective` and `bound`, see `edgeopt.solvers.gap`."""
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

    @property
    def compute_price(self) -> Floats:
        """Cost of a GFLOP more of training in the frame, shape [J]."""
        return np.asarray(
            self.problem.training_share * self.prices.site.sum(axis=0) + self.prices.room
        )


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
    """
    penalties = elastic if isinstance(elastic, Penalties) else problem.penalties(elastic)
    energy_price = min(max(prices.energy, 0.0), penalties.excess)
    site, room = np.maximum(prices.site, 0.0), np.maximum(prices.room, 0.0)
    if np.isposinf(problem.budget):
        energy_price = 0.0
    room = np.where(np.isinf(problem.room), 0.0, room)
    total = cheapest_total(
        problem.demand.ravel(), problem.first, problem.site, problem.cost,
        problem.surcharge(energy_price, site + room), penalties.unserved,
    )  # fmt: skip
    spare = float((problem.capacity * site).sum())
    spare += float(np.where(room > 0, problem.room, 0.0) @ room)
    if energy_price > 0.0:
        spare += energy_price * problem.budget
    return float(total) - spare
