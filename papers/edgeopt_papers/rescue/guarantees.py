r"""What the policies by state earn at least, from the plan that they follow.

Let y be a plan that is 0 on unsafe pairs. For a server, let u(t) be the probability that a run from
before slot t is still in it, by y, or that any run is in it if arrivals are independent, and g(t)
the capacity that runs are expected to have blocked before t in an interval of reserved work that
has begun, with slack :math:`\sigma`; a run with profile l may block w more of it. By Markov's
inequality a candidate finds the server idle, with room for it, with probability at least
:math:`1 - \alpha h` if every pair is accepted with probability :math:`\alpha y`, where h is the
largest

.. math:: u(t) + \sum_{\text{intervals}} \frac{g(t)}{\sigma - w}

over pairs with :math:`y > 0`. With :math:`\alpha = 1 / (1 + h)` that can be kept up from slot to
slot, and no way to accept candidates safely earns more than `SafeRescue`. If devices arrive
independently, a candidate finds the server taken by those before it in the slot, too: u(t) then
counts what they plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.models.rescue.server_states import Budgets
from edgeopt.online.rescue.lookup_tables import Routes
from edgeopt.online.rescue.policies import plan_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue import P1Solution


@dataclass(frozen=True, eq=False)
class SafeGuarantee:
    """What `SafeRescue`, and so `SafeRescuePlus`, earns at least in expectation.

    Parameters
    ----------
    value
        The least expected profit.
    planned
        Expected profit of the plan on every server, shape [K].
    load
        Largest load h on a profile of every server that the plan uses, shape [K]; the server earns
        at least 1 / (1 + h) of what is planned.
    """

    value: float
    planned: NDArray[np.float64] = field(repr=False)
    load: NDArray[np.float64] = field(repr=False)

    @property
    def share(self) -> float:
        """The guarantee in terms of the plan's profit, 1 if that is 0."""
        planned = float(self.planned.sum())
        return self.value / planned if planned > 0.0 else 1.0


def safe_guarantee(instance: RescueInstance, plan: P1Solution | None = None) -> SafeGuarantee:
    """Prove how much `SafeRescue` earns at least from the plan that it follows.

    Parameters
    ----------
    instance
        What is given.
    plan
        Solution of P1-LP with ``forbid_unsafe=True``; solved if None.

    Returns
    -------
    SafeGuarantee
        The proven value; with one interval of reserved work at a time, and no pair that may block
        more than a share s of its slack, at least 1 / (2 + 1 / (1 - s)) of the plan's profit.

    Raises
    ------
    OptionError
        If the plan is none of this instance.
    """
    plan = plan_of(instance, plan, guarded=True)
    routes = Routes.of(instance, plan.y)
    servers, profiles, horizon = instance.servers, instance.profiles, instance.horizon
    row = np.repeat(np.arange(routes.first.size - 1), np.diff(routes.first))
    slot, device = np.divmod(row, instance.devices)
    server, profile = np.divmod(routes.pair, profiles)
    begun = np.zeros((servers, horizon, profiles))
    np.add.at(begun, (server, slot, profile), routes.mass)
    ahead = np.zeros_like(begun)  # by devices that take their turn before, of the last to use it
    if instance.arrivals == "independent":
        turn = np.zeros((servers, horizon, instance.devices + 1))
        np.add.at(turn, (server, slot, device + 1), routes.mass)
        sooner = np.where(routes.mass > 0.0, turn.cumsum(axis=2)[server, slot, device], 0.0)
        np.maximum.at(ahead, (server, slot, profile), sooner)
    profit = routes.mass * routes.expected_profit(instance)
    planned = np.bincount(server, profit, minlength=servers).astype(np.float64)
    load = np.array([_load(instance, k, begun[k], ahead[k]) for k in range(servers)])
    return SafeGuarantee(float((planned / (1.0 + load)).sum()), planned, load)


def _load(
    instance: RescueInstance,
    server: int,
    begun: NDArray[np.float64],
    ahead: NDArray[np.float64],
) -> float:
    """Return the largest load on a profile of a server; `begun` and `ahead` have shape [T, L]."""
    horizon, survival = instance.horizon, instance.survival
    # Probability that a run from before the slot is in it, and that any run is.
    before, busy = np.zeros(horizon), np.zeros(horizon)
    for age in range(min(survival.shape[1], horizon)):
        there = begun[: horizon - age] @ survival[:, age]
        busy[age:] += there
        if age:
            before[age:] += there
    budgets = Budgets.of(instance, server)
    capacity = np.diff(budgets.before)
    load = np.where(begun > 0.0, before[:, np.newaxis] + ahead, 0.0)
    stop = np.minimum(np.arange(horizon)[:, np.newaxis] + instance.longest, horizon)
    for first, last, slack in budgets.intervals:
        blocked = np.cumsum((capacity * busy)[first : last + 1])[:-1]  # before first + 1, ...
        slots = np.arange(first + 1, last + 1)
        more = budgets.before[np.minimum(stop[slots], last + 1)] - budgets.before[slots, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            risk = np.where(slack > more, blocked[:, np.newaxis] / (slack - more), np.inf)
        risk = np.where(blocked[:, np.newaxis] > 0.0, risk, 0.0)
        load[slots] += np.where(begun[slots] > 0.0, risk, 0.0)
    return float(load.max(initial=0.0))
