r"""What the requests of a frame cost, given its training: a convex function, and cuts below it.

Training takes energy from the budget of a frame and computation from its sites. What requests then
cost, unserved ones included, is convex in the rounds, and the prices of energy and computation at
one point bound it from below at every other:

.. math:: V^t(x) \ge v + \nu\, (e^t)^\top (x - x') + \sum_k \mu_k\, \zeta_k^\top (x - x').
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.models.edr.penalties import unserved_price
from edgeopt.models.edr.routing import Penalties, RoutingPlan, conditions, routing_problem
from edgeopt.models.edr.routing.network import solve_by_network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import RoutingProblem

    Floats = NDArray[np.float64]

__all__ = ["Cut", "FrameRecourse", "Served"]

DEAR = 10.0
"""Price of energy beyond a cap, in units of what not serving would cost: it is never worth it."""


class Cut(NamedTuple):
    """A linear function of the rounds of a frame that bounds the cost of its requests from below.

    Parameters
    ----------
    constant
        Its value without training.
    slope
        What a round adds, shape [I].
    """

    constant: float
    slope: NDArray[np.float64]

    def at(self, rounds: NDArray[np.float64]) -> float:
        """Return the bound for given rounds, shape [I]."""
        return self.constant + float(self.slope @ rounds)


class Served(NamedTuple):
    """How the requests of a frame fare beside its training.

    Parameters
    ----------
    value
        Cost of serving, unserved requests at their price.
    energy
        Energy of the requests, Wh.
    delay
        Delays of all requests together, s.
    unserved
        Requests of each type that are not served, shape [N].
    load
        Computation of requests on each site, GFLOP, shape [J].
    cut
        A bound on the cost for all other rounds, which meets the cost here.
    """

    value: float
    energy: float
    delay: float
    unserved: NDArray[np.float64]
    load: NDArray[np.float64]
    cut: Cut


class FrameRecourse:
    """The cost of the requests of one frame as a function of its rounds.

    Parameters
    ----------
    instance
        What is given.
    frame
        The frame.
    cap
        Energy of the frame, Wh, infinity allowed; it is never exceeded.
    """

    def __init__(self, instance: EdrInstance, frame: int, cap: float) -> None:
        self.instance, self.frame, self.cap = instance, frame, cap
        self.energy = instance.round_energy[frame]
        self.room = instance.slots * instance.capacity
        self.price = unserved_price(instance)
        self._problem: RoutingProblem | None = None
        self._last: RoutingPlan | None = None
        self.alone = self._solve(np.zeros(instance.tasks))
        if not np.isfinite(cap):
            self._problem = self._last = None

    @property
    def worst(self) -> float:
        """Cost of serving nothing, which no plan need exceed."""
        asked = self.instance.requests[self.frame].sum(axis=(0, 1))
        return float(asked @ self.price)

    def at(self, rounds: Floats) -> Served:
        """Route the requests beside given rounds."""
        alone = self.alone
        fits = float(self.energy @ rounds) + alone.energy <= self.cap
        if fits and (alone.load + rounds @ self.instance.round_work <= self.room).all():
            # What is cheapest without training is possible beside it.
            return alone
        return self._solve(rounds)

    def _solve(self, rounds: Floats) -> Served:
        instance = self.instance
        problem = self._shifted() if self._problem is None else self._problem
        self._problem = problem
        left = max(self.cap - float(self.energy @ rounds), 0.0)
        room = np.maximum(self.room - rounds @ instance.round_work, 0.0)
        problem = problem.replace(budget=left, room=room)
        unserved = float(self.price.max(initial=0.0))
        spent = problem.energy[problem.energy > 0]
        dearest = unserved + float(np.abs(problem.cost).max(initial=0.0))
        excess = DEAR * (dearest or 1.0) / float(spent.min(initial=np.inf)) if spent.size else 1.0
        plan = solve_by_network(problem, Penalties(unserved, excess), self._last)
        self._last = plan
        shift = float(((unserved - self.price) * problem.demand).sum())
        nu, mu = plan.energy_price, np.where(np.isfinite(problem.room), plan.prices.room, 0.0)
        constant = plan.bound - shift + mu @ (room - self.room)
        if np.isfinite(self.cap):
            constant += nu * (left - self.cap)
        slope = nu * self.energy + instance.round_work @ mu
        lost = plan.unserved.sum(axis=(0, 1))
        return Served(
            plan.objective - shift, plan.energy, plan.delay, lost, plan.load.sum(axis=0),
            Cut(float(constant), slope),
        )  # fmt: skip

    def _shifted(self) -> RoutingProblem:
        """Return the routing problem of the frame with one price for all unserved requests.

        What a type is cheaper to leave unserved than the dearest one is added to its routes: all
        its requests pay that, whether they are served or not.
        """
        instance, t = self.instance, self.frame
        shown = [conditions(instance, t, s) for s in range(instance.slots)]
        problem = routing_problem(instance, shown, price=float(instance.price[t]), split="free")
        more = self.price.max(initial=0.0) - self.price
        return problem.replace(cost=problem.cost + more[problem.type])
