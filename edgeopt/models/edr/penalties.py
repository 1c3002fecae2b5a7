r"""What late training and unserved requests count, so that plans can be compared at all.

The penalised cost of a plan is its cost plus these prices times the rounds missing at a deadline
and the requests not served. Energy beyond a cap has no price: it is always reported by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance

    Floats = NDArray[np.float64]

__all__ = ["late_price", "unserved_price"]

FACTOR = 2.0
"""How much dearer than done it is not to do something."""


def late_price(instance: EdrInstance) -> Floats:
    r"""Return the price of a round that is missing at the deadline of each task, shape [I].

    Twice the mean cost of a round in the frames of its window, at the true prices; 0 where that is
    negative.

    Parameters
    ----------
    instance
        What is given.

    Notes
    -----
    The paper does not say what becomes of rounds that are not done in time.
    """
    total = np.where(instance.active, instance.round_cost, 0.0).sum(axis=0)
    price: Floats = FACTOR * np.maximum(total / instance.window, 0.0)
    return price


def unserved_price(instance: EdrInstance) -> Floats:
    r"""Return the price of a request of each type that is not served, shape [N].

    Twice what a request could cost at most: at the dearest capable site, the highest price, and
    with the longest delay allowed. No feasible route is as dear, unless it costs nothing.

    Parameters
    ----------
    instance
        What is given.

    Notes
    -----
    The paper does not say what becomes of requests that no site can serve in time.
    """
    energy = np.where(instance.capable, instance.request_energy, 0.0).max(axis=0)
    dearest = max(float(instance.price.max()), 0.0)
    seconds = instance.slo.max(axis=(0, 1))
    price: Floats = FACTOR * (
        instance.energy_weight * dearest * energy + instance.delay_weight * seconds
    )
    return price
