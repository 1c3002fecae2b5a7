"""Penalties of late training and unserved requests, and caps that allow serving all.

The penalised cost of a plan is its cost plus these prices times the rounds missing at a deadline
and the requests not served. Energy beyond a cap has no price: it is always reported by itself.
A cap that does not allow serving all requests is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.instances.validate import require
from edgeopt.models.edr.routing import Penalties, conditions, routing_problem
from edgeopt.models.edr.routing.network_simplex import solve_by_network

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import Conditions


FACTOR = 2.0  # price of not doing something, in terms of its cost


def late_price(instance: EdrInstance) -> Floats:
    r"""Return the price of a round that is missing at the deadline of each task, shape [I].

    Twice the mean cost of a round in the frames of its window in which it may train, at the true
    prices; 0 where that is negative.

    Parameters
    ----------
    instance
        What is given.

    Returns
    -------
    Price of a round, in the unit of the objective, shape [I].

    Notes
    -----
    The paper does not say what becomes of rounds that are not done in time.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr import late_price
    >>> late_price(small(1)).shape
    (3,)
    """
    total = np.where(instance.active, instance.round_cost, 0.0).sum(axis=0)
    price: Floats = FACTOR * np.maximum(total / instance.active.sum(axis=0), 0.0)
    return price


def unserved_price(instance: EdrInstance) -> Floats:
    r"""Return the price of a request of each type that is not served, shape [N].

    Twice what a request could cost at most: at the dearest capable site, the highest price, and
    with the longest delay allowed. No feasible route is as dear, unless it costs nothing.

    Parameters
    ----------
    instance
        What is given.

    Returns
    -------
    Price of a request, in the unit of the objective, shape [N].

    Notes
    -----
    The paper does not say what becomes of requests that no site can serve in time.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr import unserved_price
    >>> unserved_price(small(1)).shape
    (1,)
    """
    return _unserved(instance, float(instance.price.max()), instance.slo.max(axis=(0, 1)))


def unserved_estimate(instance: EdrInstance, seen: Conditions, price: float) -> Floats:
    """Return `unserved_price` as far as a slot and an expected price tell it, shape [N]."""
    return _unserved(instance, price, seen.slo)


def _unserved(instance: EdrInstance, price: float, seconds: Floats) -> Floats:
    energy = np.where(instance.capable, instance.request_energy, 0.0).max(axis=0)
    dearest = instance.energy_weight * max(price, 0.0) * energy
    return np.asarray(FACTOR * (dearest + instance.delay_weight * seconds))


STEEP = 1e4  # price of an unserved request, in units of the energy of the hungriest one


def served_cap(instance: EdrInstance) -> Floats:
    """Return the cap of each frame, raised to what serving alone needs at least, Wh, shape [T].

    Parameters
    ----------
    instance
        The instance.

    Returns
    -------
    The caps; infinite where there is none. Training fits where a cap has not been raised.

    Notes
    -----
    The paper does not say what becomes of frames whose requests alone need more energy than the
    cap. Here requests come first.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr import served_cap
    >>> instance = small(1)
    >>> bool((served_cap(instance) >= instance.cap - 1e-9).all())
    True
    """
    cap = instance.cap.copy()
    for t in np.flatnonzero(np.isfinite(cap)).tolist():
        asked = instance.requests[t].sum(axis=(0, 1))
        energy = np.where(instance.capable, instance.request_energy, 0.0).max(axis=0)
        # Most caps hold however requests are routed.
        if asked @ energy > cap[t]:
            cap[t] = max(cap[t], least_energy(instance, t))
    return cap


def least_energy(instance: EdrInstance, frame: int) -> float:
    """Return the least energy with which a frame's requests are served, as many as can be, Wh."""
    total = 0.0
    most = float(instance.request_energy.max(initial=0.0)) or 1.0
    for slot in range(instance.slots):
        problem = routing_problem(
            instance, conditions(instance, frame, slot), price=1.0, energy_weight=1.0,
            delay_weight=0.0,
        )  # fmt: skip
        total += solve_by_network(problem, Penalties(STEEP * most, np.inf)).energy
    return total


def check_cap(instance: EdrInstance, cap: ArrayLike | None) -> Floats:
    """Return a cap for each frame, the instance's by default."""
    if cap is None:
        return instance.cap
    limit = np.asarray(cap, dtype=np.float64)
    if limit.shape != (instance.frames,):
        rule = f"must have {instance.frames} entries, one per frame"
        raise InputError("cap", rule, value=f"shape {limit.shape}")
    require("cap", limit >= 0, limit, "must not be negative")
    return limit
