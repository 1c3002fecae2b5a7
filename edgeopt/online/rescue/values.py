r"""Value functions of the policy that routes every task at random by a relaxed assignment y.

For a server that is idle at the start of slot t, with one arrival at most per slot,

.. math::

    A_{jkl}(t) &= R_{jkl}(t) + \sum_{d \ge 1,\; t + d \le T} q_l(d)\, B_k(t + d), \\
    B_k(t) &= \sum_{j,l} y_{jkl}(t) \max\{A_{jkl}(t), B_k(t+1)\}
        + \Bigl(1 - \sum_{j,l} y_{jkl}(t)\Bigr) B_k(t+1), \qquad B_k(T+1) = 0 .

With independent arrivals the tasks of a slot are handled in the order of their device index; every
device is a step of its own, and :math:`B_k(t+1)` becomes the value :math:`M_k(t, j+1)` of being
idle when the next device's turn comes.

Source: Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on
Underutilized Edges, equations (4)-(8), Algorithm 2. The order within a slot is ours: with several
arrivals per slot the printed policy has no guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.online.rescue.tables import Routes
from edgeopt.online.value_iteration import Offers, renewal_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance


class ValueFunctions(NamedTuple):
    """Activation and baseline values.

    Attributes
    ----------
    activation
        A[t, j, k, l], expected profit on server k from slot t on if the task of device j begins
        there in t with profile l; an array [T, J, K, L], or a sparse array [T*J, K*L] with the
        pattern of a sparse y.
    baseline
        B[k, t], expected profit on server k from slot t on if it is idle at the start of t; array
        [K, T+1]. With independent arrivals this is before the first device of the slot.
    """

    activation: Any
    baseline: NDArray[np.float64]


class AuxiliaryValues(NamedTuple):
    """Value functions of the instance in which the devices are merged into one.

    Attributes
    ----------
    activation
        Shape [T, K, L].
    baseline
        Shape [K, T+1].
    """

    activation: NDArray[np.float64]
    baseline: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RouteValues:
    """Value functions where a routed policy needs them.

    Attributes
    ----------
    routes
        The assignment that they belong to.
    profit
        Expected profit R at every route, less the charge if there is one; shape [routes].
    continuation
        Expected profit after a run, shape [T, K, L].
    waiting
        Value of a server that is idle before a step; shape [T*S+1, K] with S steps per slot, 1 for
        exclusive arrivals and J for independent ones.
    steps
        S.
    """

    routes: Routes
    profit: NDArray[np.float64]
    continuation: NDArray[np.float64]
    waiting: NDArray[np.float64]
    steps: int

    @property
    def baseline(self) -> NDArray[np.float64]:
        """B[k, t], shape [K, T+1]."""
        return np.ascontiguousarray(self.waiting[:: self.steps].T)

    @property
    def after(self) -> NDArray[np.float64]:
        """Value of turning the task down, shape [T, S, K]: that of being idle at the next step."""
        return self.waiting[1:].reshape(-1, self.steps, self.waiting.shape[1])

    def margin(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return activation and value of turning down at every route, both of shape [routes]."""
        horizon, _, profiles = self.continuation.shape
        rows = self.routes.first.size - 1
        row = np.repeat(np.arange(rows), np.diff(self.routes.first))
        server, profile = np.divmod(self.routes.cell, profiles)
        slot = row // (rows // horizon)
        step = row if self.steps > 1 else slot
        activation = self.profit + self.continuation[slot, server, profile]
        return activation, self.waiting[step + 1, server]


def route_values(
    instance: RescueInstance, y: Any, *, charge: NDArray[np.float64] | None = None
) -> RouteValues:
    """Run the backward induction on the routes of y only."""
    routes = Routes.of(instance, y)
    server, profile = np.divmod(routes.cell, instance.profiles)
    profit = routes.expected_profit(instance)
    if charge is not None:
        row = np.repeat(np.arange(routes.first.size - 1), np.diff(routes.first))
        profit = profit - charge[row // instance.devices, server, profile]
    steps = steps_per_slot(instance)
    first = routes.first if steps > 1 else routes.first[:: instance.devices]
    offers = Offers(np.ascontiguousarray(first), server, profile, routes.mass, profit)
    values = renewal_values(offers, instance.duration, resources=instance.servers, steps=steps)
    return RouteValues(routes, profit, values.continuation, values.waiting, steps)


def steps_per_slot(instance: RescueInstance) -> int:
    """Return 1 for exclusive arrivals, the number of devices for independent ones."""
    return instance.devices if instance.arrivals == "independent" else 1


def value_functions(instance: RescueInstance, y: Any) -> ValueFunctions:
    """Compute activation and baseline values of an assignment.

    Parameters
    ----------
    instance
        The instance.
    y
        Feasible assignment of the relaxation: array [T, J, K, L], or a scipy.sparse array
        [T*J, K*L] when the whole would not fit into memory.

    Returns
    -------
    ValueFunctions
        `activation` and `baseline`; a sparse y gives a sparse activation with the same pattern.

    Raises
    ------
    OptionError
        If y has the wrong shape, is negative, or assigns more of a task than arrives.

    Examples
    --------
    >>> from edgeopt.instances.rescue import tight
    >>> from edgeopt.models.rescue import solve_p1_lp
    >>> instance = tight(0.5)
    >>> activation, baseline = value_functions(instance, solve_p1_lp(instance).y)
    >>> round(float(baseline[:, 0].sum()), 6)
    1.0
    """
    values = route_values(instance, y)
    if hasattr(y, "tocsr"):
        from scipy.sparse import csr_array

        activation, _ = values.margin()
        pattern = values.routes
        return ValueFunctions(
            csr_array((activation, pattern.cell, pattern.first), shape=y.shape), values.baseline
        )
    return ValueFunctions(
        instance.expected_profit + values.continuation[:, np.newaxis], values.baseline
    )


def auxiliary_values(instance: RescueInstance, y: Any) -> AuxiliaryValues:
    r"""Compute the values of the auxiliary instance, whose one device stands for all.

    It arrives for (k, l) with probability :math:`p' = \sum_j y_{jkl}(t)` and earns the mean profit
    :math:`R' = \sum_j y_{jkl}(t) R_{jkl}(t) / p'`, 0 where p' = 0 (equations (7), (8)).

    Parameters
    ----------
    instance
        An instance with exclusive arrivals.
    y
        As for `value_functions`.

    Returns
    -------
    AuxiliaryValues
        Values of the merged instance, nowhere above the true ones (Lemma 2).

    Raises
    ------
    OptionError
        If arrivals are independent: tasks that come one after the other cannot be merged.
    """
    if instance.arrivals != "exclusive":
        raise OptionError("auxiliary values merge the devices, which needs exclusive arrivals")
    routes = Routes.of(instance, y)
    shape = (instance.horizon, instance.servers, instance.profiles)
    cells = instance.servers * instance.profiles
    row = np.repeat(np.arange(routes.first.size - 1), np.diff(routes.first))
    index = row // instance.devices * cells + routes.cell
    size = instance.horizon * cells
    mass, earned = np.zeros(size), np.zeros(size)
    np.add.at(mass, index, routes.mass)
    np.add.at(earned, index, routes.mass * routes.expected_profit(instance))
    reward = np.divide(earned, mass, out=np.zeros(size), where=mass > 0)
    server, profile = np.divmod(np.tile(np.arange(cells), instance.horizon), instance.profiles)
    offers = Offers(np.arange(0, size + 1, cells), server, profile, mass, reward)
    values = renewal_values(offers, instance.duration, resources=instance.servers)
    return AuxiliaryValues(
        reward.reshape(shape) + values.continuation, np.ascontiguousarray(values.waiting.T)
    )
