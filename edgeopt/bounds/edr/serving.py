"""What serving costs in a frame, given what is trained in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.models.edr.routing import conditions, routing_problem, solve_routing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import RoutingPlan, RoutingProblem

    Floats = NDArray[np.float64]

MOST_ROUTES = 20_000
"""Routes of a frame beyond which nothing is compared."""


@dataclass(frozen=True, eq=False)
class Served:
    """How the requests of a frame are served.

    Parameters
    ----------
    plans
        One plan per slot, or one for all slots together.
    price
        Cost of a Wh at the price of the frame.
    """

    plans: tuple[RoutingPlan, ...]
    price: float

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
        """What was minimised, with the prices of what must not happen."""
        return float(sum(plan.objective for plan in self.plans))

    def cost(self, delay_weight: float) -> float:
        """Return the cost at the price of the frame, whatever price the routes were chosen at."""
        costs = (self.price * plan.energy + delay_weight * plan.delay for plan in self.plans)
        return float(sum(costs))


class Serving:
    """Serves the frames of an instance, each question once.

    Parameters
    ----------
    instance
        The instance.
    """

    def __init__(self, instance: EdrInstance) -> None:
        self.instance = instance
        self._known: dict[object, Served] = {}

    def slot_by_slot(self, frame: int, rounds: ArrayLike, *, price: float | None = None) -> Served:
        """Serve each slot with its part of energy and computation, as Algorithm 3 does."""
        energy, load = self._trained(frame, rounds)
        chosen = float(self.instance.price[frame]) if price is None else price
        key = ("slots", frame, energy, load.tobytes(), chosen)
        if key not in self._known:
            count = self.instance.slots
            budget = (float(self.instance.cap[frame]) - energy) / count
            problems = [
                self._problem(frame, [slot], load, budget, chosen, "even") for slot in range(count)
            ]
            self._keep(key, frame, problems)
        return self._known[key]

    def together(self, frame: int, rounds: ArrayLike) -> Served:
        """Serve all slots of a frame together at its price, the best that can be done."""
        energy, load = self._trained(frame, rounds)
        key = ("frame", frame, energy, load.tobytes())
        if key not in self._known:
            budget = float(self.instance.cap[frame]) - energy
            price = float(self.instance.price[frame])
            slots = list(range(self.instance.slots))
            self._keep(key, frame, [self._problem(frame, slots, load, budget, price, "free")])
        return self._known[key]

    def _trained(self, frame: int, rounds: ArrayLike) -> tuple[float, Floats]:
        done = np.asarray(rounds, dtype=float)
        energy = float(self.instance.round_energy[frame] @ done)
        return energy, done @ self.instance.round_work

    def _problem(
        self, frame: int, slots: list[int], load: Floats, budget: float, price: float, split: str
    ) -> RoutingProblem:
        shown = [conditions(self.instance, frame, slot) for slot in slots]
        problem = routing_problem(
            self.instance,
            shown,
            price=price,
            training=load,
            budget=budget,
            split=split,  # type: ignore[arg-type]
        )
        if problem.routes > MOST_ROUTES:
            raise NotApplicableError(f"has {problem.routes} routes, too many to compare")
        return problem

    def _keep(self, key: object, frame: int, problems: list[RoutingProblem]) -> None:
        plans = tuple(solve_routing(problem) for problem in problems)
        price = self.instance.energy_weight * float(self.instance.price[frame])
        self._known[key] = Served(plans, price)


def require_whole(served: Served, frame: int) -> Served:
    """Return what is served if that is everything."""
    if not served.whole:
        raise NotApplicableError(f"frame {frame}: not all can be served under the cap")
    return served
