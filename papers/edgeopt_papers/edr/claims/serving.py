"""What serving costs in a frame, given what is trained in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.models.edr.routing import RoutingPlan, conditions, routing_problem, solve_routing
from edgeopt_papers.claims.paper import memoised

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.instances.edr import EdrInstance

MOST_ROUTES = 20_000
"""Routes of a frame beyond which nothing is compared."""


@dataclass(frozen=True, eq=False)
class Served:
    """How the requests of a frame are served."""

    plans: tuple[RoutingPlan, ...]  # one plan per slot, or one for all slots together
    price: float  # cost of a Wh at the price of the frame

    @property
    def whole(self) -> bool:
        """Whether everything is served within the energy that there is."""
        return all(
            plan.excess == 0.0 and plan.unserved.sum() <= 1e-9 * plan.problem.demand.sum()
            for plan in self.plans
        )

    @property
    def energy(self) -> float:
        """Energy of all requests, Wh."""
        return float(sum(plan.energy for plan in self.plans))

    @property
    def unserved(self) -> float:
        """Requests that find no place."""
        return float(sum(plan.unserved.sum() for plan in self.plans))

    @property
    def objective(self) -> float:
        """What was minimised, penalties included."""
        return float(sum(plan.objective for plan in self.plans))

    def cost(self, delay_weight: float) -> float:
        """Return the cost at the price of the frame, whatever price the routes were chosen at."""
        costs = (self.price * plan.energy + delay_weight * plan.delay for plan in self.plans)
        return float(sum(costs))


class Serving:
    """Serves the requests of an instance, frame by frame."""

    def __init__(self, instance: EdrInstance) -> None:
        self.instance = instance

    def slot_by_slot(self, frame: int, rounds: ArrayLike, *, price: float | None = None) -> Served:
        """Serve each slot with its part of energy and computation, as Algorithm 3 does."""
        chosen = float(self.instance.price[frame]) if price is None else price
        return self._served(frame, *self._trained(frame, rounds), chosen, "even")

    def together(self, frame: int, rounds: ArrayLike) -> Served:
        """Serve all slots of a frame together at its price, the best that can be done."""
        price = float(self.instance.price[frame])
        return self._served(frame, *self._trained(frame, rounds), price, "free")

    def _trained(self, frame: int, rounds: ArrayLike) -> tuple[float, tuple[float, ...]]:
        """Return the energy and the load of every site that training takes."""
        done = np.asarray(rounds, dtype=float)
        energy = float(self.instance.round_energy[frame] @ done)
        return energy, tuple((done @ self.instance.round_work).tolist())

    @memoised
    def _served(
        self,
        frame: int,
        energy: float,
        load: tuple[float, ...],
        price: float,
        split: Literal["even", "free"],
    ) -> Served:
        """Serve the slots of a frame, each with an even part of what training leaves, or freely."""
        instance, count = self.instance, self.instance.slots
        left = float(instance.cap[frame]) - energy
        parts = [[slot] for slot in range(count)] if split == "even" else [list(range(count))]
        plans = []
        for slots in parts:
            problem = routing_problem(
                instance,
                [conditions(instance, frame, slot) for slot in slots],
                price=price,
                training=np.array(load),
                budget=left / len(parts),
                split=split,
            )
            if problem.routes > MOST_ROUTES:
                raise NotApplicableError(f"has {problem.routes} routes, too many to compare")
            plans.append(solve_routing(problem))
        return Served(tuple(plans), instance.energy_weight * float(instance.price[frame]))


def require_whole(served: Served, frame: int) -> Served:
    """Return what is served if that is everything."""
    if not served.whole:
        raise NotApplicableError(f"frame {frame}: not all can be served under the cap")
    return served
