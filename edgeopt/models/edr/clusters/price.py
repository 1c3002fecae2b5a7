"""One price of energy for parts that share a budget, and the mix of plans that meets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from edgeopt.solvers.gap import gap_closed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Mix", "Offer", "common_price"]

Plans = TypeVar("Plans")

BISECTED: Final = 3
"""Every how many steps the price is halved between its limits, whatever the lines say."""

CLOSE: Final = 1e-14
"""Relative distance of two prices at which there is nothing left between them."""

STEPS: Final = 200
"""Prices that are tried at most."""


@dataclass(frozen=True)
class Offer(Generic[Plans]):
    """What the parts do at a price.

    Parameters
    ----------
    price
        Cost that is charged for a Wh.
    energy
        Energy that the parts use together, Wh.
    cost
        Their cost, the charge for energy left out.
    bound
        Proven limit below the least cost that they could have, the charge included.
    plans
        What they do.
    """

    price: float
    energy: float
    cost: float
    bound: float
    plans: Plans


@dataclass(frozen=True)
class Mix(Generic[Plans]):
    """What two offers make together.

    Parameters
    ----------
    low, high
        What the parts do just below the price and just above it.
    weight
        Share of `low` in the mix.
    best
        The offer whose price proves the best bound: the common price.
    bound
        Proven limit below the cost of everything that keeps the budget or pays for the excess.
    """

    low: Offer[Plans]
    high: Offer[Plans]
    weight: float
    best: Offer[Plans]
    bound: float

    @property
    def energy(self) -> float:
        """Energy of the mix, Wh."""
        return self.weight * self.low.energy + (1.0 - self.weight) * self.high.energy


def common_price(
    offer: Callable[[float, Offer[Plans] | None], Offer[Plans]],
    budget: float,
    highest: float,
    *,
    gap: float = 1e-6,
    start: float = 0.0,
) -> Mix[Plans]:
    r"""Find the price at which parts that know only the price keep a common budget.

    With V(nu) the least cost of all parts at the price nu, the dual function
    :math:`V(\nu) - \nu B` is concave and piecewise linear, and its slope at nu is the energy that
    the parts use beyond the budget. Two offers on either side of the maximum give two lines; the
    price is moved to where they cross, and now and then to the middle.

    The price alone is not enough: below the best one the parts use too much, above it too little,
    and at the price itself they may do either. Both plans are optimal there, and so is the mix that
    uses exactly the budget.

    Parameters
    ----------
    offer
        Called with a price and an earlier offer to start from: what the parts do then.
    budget
        Energy for all parts together, Wh.
    highest
        Price from which on the budget is rather exceeded: the cost of a Wh beyond it.
    gap
        Relative gap of cost and bound at which to stop, see `edgeopt.solvers.gap`.
    start
        A price to begin with, such as that of a similar problem.

    Returns
    -------
    Two offers, their shares, and the bound. Where the highest price is not enough both offers are
    the one at that price, and their energy exceeds the budget.

    Notes
    -----
    Zhu et al., section III-G, where a budget is split among clusters.
    """
    found = offer(min(max(start, 0.0), highest), None)
    low = high = None
    if found.energy > budget:
        low = found
        high = found if found.price >= highest else offer(highest, found)
        if high.energy > budget:
            return _alone(high, budget)
    else:
        high = found
        low = found if found.price <= 0.0 else offer(0.0, found)
        if low.energy <= budget:
            return _alone(low, budget)
    best = max(low, high, key=lambda each: each.bound - each.price * budget)
    for step in range(1, STEPS + 1):
        bound = best.bound - best.price * budget
        crossing = (high.cost - low.cost) / (low.energy - high.energy)
        cost = low.cost + crossing * (low.energy - budget)
        inside = low.price < crossing < high.price
        narrow = high.price - low.price <= CLOSE * high.price
        size = abs(low.cost) + crossing * (low.energy + abs(budget))
        if narrow or gap_closed(cost, bound, gap, objective_size=size):
            break
        price = crossing
        if not inside or (step % BISECTED == 0 and low.price > 0.0):
            # The highest price dwarfs all others: between the two lie orders of magnitude.
            price = np.sqrt(max(low.price, high.price * CLOSE) * high.price)
        near = low if abs(low.price - price) < abs(high.price - price) else high
        found = offer(price, near)
        best = max(best, found, key=lambda each: each.bound - each.price * budget)
        if found.energy > budget:
            low = found
        else:
            high = found
    weight = (budget - high.energy) / (low.energy - high.energy)
    return Mix(low, high, weight, best, best.bound - best.price * budget)


def _alone(offer: Offer[Plans], budget: float) -> Mix[Plans]:
    return Mix(offer, offer, 1.0, offer, offer.bound - offer.price * budget)
